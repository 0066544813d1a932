#!/bin/sh
# check_isa_symbols.sh ARCHIVE: the units built for newer instruction sets define no weak symbols.
#
# A weak symbol is an inline function or template that other units have too. The linker keeps one
# copy; were it one of these, the program would use AVX-512 wherever it calls that function and end
# on CPUs without it.
set -eu
units=$(ar t "$1" | grep '^isa_avx.*\.o$')
if [ "$(echo "$units" | wc -l)" -lt 4 ]; then
  echo "$1: found only these units for newer instruction sets: $units" >&2
  exit 1
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
archive=$(realpath "$1")
(cd "$work" && ar x "$archive" $units)
# W, V: weak; u: one copy in the process; i: chosen at load time. DW.ref symbols, which sanitizers
# bring, are pointers in data.
if (cd "$work" && nm -C --print-file-name --defined-only $units) |
   grep -E ' [WwVvui] ' | grep -v ' V DW\.ref\.'; then
  echo "these are shared with units built for every CPU; give them internal linkage" >&2
  exit 1
fi
