#!/usr/bin/env bash
# Every tracked C++ file is as clang-format writes it. usage: check_format.sh [--fix]
set -euo pipefail
cd "$(dirname "$0")/.."
mapfile -t files < <(git ls-files -- 'src/*.h' 'src/*.cc' 'src/*.cu' 'src/*.cuh' 'tests/*.h' 'tests/*.cc')
# The version is pinned: two of them never agree on every line.
if [[ ${1-} == --fix ]]; then
  exec clang-format-14 -i "${files[@]}"
fi
clang-format-14 --dry-run -Werror --ferror-limit=1 "${files[@]}" || {
  echo "check_format: 'make format' writes these as they should be" >&2
  exit 1
}
