#!/usr/bin/env bash
# The long version of make test: a second real model, clang-tidy over every file, the kernels under
# sanitizers, ThreadSanitizer, and fuzzing with libFuzzer for FUZZ_SECONDS a target.
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/install_deps.sh soak

scripts/fetch_model.sh gemma3-270m  # its tests run where it is in the store
LOCKSTEP_TIDY_SECONDS=inf scripts/test.sh

echo '== hostile checkpoints, every command'
tests/hostile/run.py build/release/lockstep --every

echo '== sanitizer tests of the kernels'
scripts/build.sh asan_kernels exactness_test linear_test cpu_device_test
ctest --test-dir build/asan_kernels --output-on-failure -j2 -R '^(exactness|linear|cpu_device)_test$'

echo '== ThreadSanitizer'
scripts/build.sh tsan all
ctest --test-dir build/tsan --output-on-failure -j2

echo "== fuzzing, ${FUZZ_SECONDS:=120} s a target"
scripts/build.sh fuzz all
found=build/fuzz/found
mkdir -p "$found"
for target in $(find build/fuzz/src -type f -name '*_fuzz' -perm -u+x | sort); do
  name=$(basename "$target")
  seeds=src/${target#build/fuzz/src/}
  seeds=$(dirname "$seeds")/corpus/$name
  mkdir -p "build/fuzz/corpus/$name"  # what this machine found so far; the tree's corpus stays as it is
  echo "-- $name"
  words=()
  [ ! -f "$seeds.dict" ] || words=(-dict="$seeds.dict")
  "$target" -max_total_time="$FUZZ_SECONDS" -timeout=5 -rss_limit_mb=1024 -print_final_stats=1 \
    "${words[@]}" -artifact_prefix="$found/$name-" "build/fuzz/corpus/$name" "$seeds" 2>"build/fuzz/$name.log" || {
    tail -n 40 "build/fuzz/$name.log"
    exit 1
  }
  tail -n 6 "build/fuzz/$name.log"
done
