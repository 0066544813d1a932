#!/usr/bin/env bash
# Makes a virtual environment (VENV, default .venv) with the peer that perplexity and speed are
# compared with: llama-cpp-python, compiled for this CPU (ten minutes on two cores). Nothing else
# of the project needs it.
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/install_deps.sh build
scripts/install_deps.sh model
VENV=${VENV:-.venv}
if ! [[ -x $VENV/bin/python ]]; then python3 -m venv "$VENV"; fi
CMAKE_ARGS=-DGGML_NATIVE=ON "$VENV/bin/pip" install --disable-pip-version-check \
  --no-binary llama-cpp-python llama-cpp-python==0.3.36 numpy==2.4.6
