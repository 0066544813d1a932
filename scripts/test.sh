#!/usr/bin/env bash
# Everything that must hold before a change lands, cheapest first. LOCKSTEP_REQUIRE_MODELS=1 makes a
# missing model a failure. LOCKSTEP_TIDY_SECONDS bounds clang-tidy (make tidy has no bound).
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/install_deps.sh test

passed=0
stage() {  # stage NAME COMMAND...
  local name=$1 start=$SECONDS
  shift
  echo "== $name"
  if ! "$@"; then
    echo "== $name FAILED after $((SECONDS - start)) s"
    echo "stages: $passed passed, 1 failed"
    exit 1
  fi
  echo "== $name: $((SECONDS - start)) s"
  passed=$((passed + 1))
}
fetch_model() {
  scripts/fetch_model.sh || [[ ${LOCKSTEP_REQUIRE_MODELS-} != 1 ]]
}
nvcc_is_here() { [[ -x /usr/local/cuda/bin/nvcc ]] || command -v nvcc >/dev/null; }
run_tests() { ctest --test-dir "build/$1" --output-on-failure -j2; }

stage 'include arrows' scripts/check_includes.py
stage 'include arrows, self-test' scripts/check_includes.py --self-test
stage 'clang-format' scripts/check_format.sh
stage 'default model' fetch_model
stage 'release build' scripts/build.sh release all
stage 'release tests' run_tests release
stage 'no AVX' scripts/test_no_avx.sh build/release
stage 'sanitizer build' scripts/build.sh asan all
stage 'sanitizer tests and fuzz replay' run_tests asan
if nvcc_is_here; then stage 'CUDA build' scripts/build.sh cuda lockstep; fi
stage 'clang-tidy' scripts/tidy.py build/release --seconds "${LOCKSTEP_TIDY_SECONDS:-150}"
echo "stages: $passed passed, 0 failed"
