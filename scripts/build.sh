#!/usr/bin/env bash
# Configures a preset and builds targets of it. usage: build.sh PRESET TARGET...
set -euo pipefail
cd "$(dirname "$0")/.."
preset=$1
shift
cmake --preset "$preset" --log-level=WARNING >/dev/null
cmake --build --preset "$preset" --target "$@"
