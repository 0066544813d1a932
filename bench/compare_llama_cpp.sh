#!/usr/bin/env bash
# Prompt and generation speed beside llama-cpp-python, one table.
# usage: compare_llama_cpp.sh [MODEL.gguf] [options of compare_llama_cpp.py]
# LOCKSTEP_PEER_PYTHON names a Python that has llama_cpp; else scripts/peer_venv.sh makes .venv.
set -euo pipefail
cd "$(dirname "$0")/.."
make -s build model
python=${LOCKSTEP_PEER_PYTHON:-.venv/bin/python}
"$python" -c 'import llama_cpp' 2>/dev/null || scripts/peer_venv.sh
model=${LOCKSTEP_MODELS:-${XDG_CACHE_HOME:-$HOME/.cache}/lockstep/models}/smollm2-135m-instruct-q4_1.gguf
if [[ ${1-} == *.gguf ]]; then
  model=$1
  shift
fi
exec "$python" bench/compare_llama_cpp.py "$model" "$@"
