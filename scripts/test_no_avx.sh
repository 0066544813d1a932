#!/usr/bin/env bash
# The program runs on a CPU without AVX, and gives the same bytes there as here: under qemu-user, on
# a Nehalem, the logits of a golden checkpoint equal the native ones.
# usage: test_no_avx.sh BUILD_FOLDER
set -euo pipefail
build=$(cd "$1" && pwd)
cd "$(dirname "$0")/.."

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
echo '[[1, 5, 9, 2, 77, 33, 4, 8, 15, 16, 23, 42], [300]]' >"$work/ids.json"
for profile in cpu-bf16-1 cpu-f32-1; do
  logits=("$build/lockstep" logits -m tests/goldens/llama --ids "$work/ids.json"
          --profile "$profile" -t 1 --out)
  "${logits[@]}" "$work/native"
  qemu-x86_64 -cpu Nehalem "${logits[@]}" "$work/nehalem"
  cmp "$work/native" "$work/nehalem"
  echo "no AVX: $profile gives the same $(stat -c %s "$work/native") bytes on a Nehalem"
done
