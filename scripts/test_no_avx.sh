#!/usr/bin/env bash
# The program runs on a CPU without AVX, and gives the same bytes there as here: under qemu-user, on
# a Nehalem, logits equal the native ones. A golden checkpoint covers the plain profiles, the default
# model (when it is in the store) the quantised one.
# usage: test_no_avx.sh BUILD_FOLDER
set -euo pipefail
build=$(cd "$1" && pwd)
cd "$(dirname "$0")/.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

same_logits() {  # same_logits PROFILE IDS MODEL
  echo "$2" >"$work/ids.json"
  local logits=("$build/lockstep" logits -m "$3" --ids "$work/ids.json" --profile "$1" -t 1 --out)
  "${logits[@]}" "$work/native"
  qemu-x86_64 -cpu Nehalem "${logits[@]}" "$work/nehalem"
  cmp "$work/native" "$work/nehalem"
  echo "no AVX: $1 gives the same $(stat -c %s "$work/native") bytes on a Nehalem"
}

for profile in cpu-f32-1 cpu-bf16-1; do
  same_logits $profile '[[1, 5, 9, 2, 77, 33, 4, 8, 15, 16, 23, 42], [300]]' tests/goldens/llama
done
. scripts/default_model.pins
model=${LOCKSTEP_MODELS:-${XDG_CACHE_HOME:-$HOME/.cache}/lockstep/models}/$file
if [[ -f $model || ${LOCKSTEP_REQUIRE_MODELS-} == 1 ]]; then
  same_logits cpu-int8-1 '[[504, 3575]]' "$model"
else
  echo "no AVX: cpu-int8-1 not tried, the default model is missing (make model)"
fi
