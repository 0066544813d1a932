#!/usr/bin/env bash
# Speed and memory beside llama-cpp-python; options are those of compare_llama_cpp.py (--help).
# VENV names a virtual environment that has the peer (default .venv, made here when missing).
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
VENV=${VENV:-$root/.venv}
"$VENV/bin/python" -c 'import llama_cpp' 2>/dev/null || VENV=$VENV "$root/scripts/peer_venv.sh"
exec "$VENV/bin/python" "$root/bench/compare_llama_cpp.py" "$@"
