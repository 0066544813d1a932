#!/usr/bin/env bash
# Installs the Debian packages that a task needs and that are missing; silent when none is.
# usage: install_deps.sh build|model|test|soak
set -euo pipefail

build_packages=(
  g++ cmake ninja-build pkg-config
  libabsl-dev libboost1.81-dev libboost-json1.81-dev libssl-dev libpcre2-dev libutf8proc-dev
  libxxhash-dev libfmt-dev libcli11-dev libgtest-dev libgmock-dev
)
model_packages=(python3 ca-certificates)
test_packages=(ccache clang-format-14 clang-tidy-19 qemu-user python3)
soak_packages=(clang-19 libclang-rt-19-dev)

case "${1-}" in
  build) wanted=("${build_packages[@]}") ;;
  model)
    wanted=("${model_packages[@]}")
    # A Python of one's own has venv already; Debian's keeps it in a package.
    python3 -c 'import ensurepip, venv' 2>/dev/null || wanted+=(python3-venv)
    ;;
  test) wanted=("${build_packages[@]}" "${test_packages[@]}") ;;
  soak) wanted=("${build_packages[@]}" "${test_packages[@]}" "${soak_packages[@]}") ;;
  *) echo "usage: $0 build|model|test|soak" >&2; exit 2 ;;
esac

if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
  echo "install_deps: no apt here; these Debian packages, or their like, are needed: ${wanted[*]}" >&2
  exit 0
fi

installed=$(dpkg-query -W -f '${db:Status-Status} ${Package}\n' "${wanted[@]}" 2>/dev/null |
            sed -n 's/^installed //p') || true
missing=()
for package in "${wanted[@]}"; do
  grep -qx "$package" <<<"$installed" || missing+=("$package")
done
((${#missing[@]})) || exit 0

as_root=()
if ((EUID != 0)); then
  if ! command -v sudo >/dev/null || { [[ ! -t 0 ]] && ! sudo -n true 2>/dev/null; }; then
    echo "install_deps: packages are missing and this is not root. Run as root:" >&2
    echo "  apt-get update && apt-get install -y --no-install-recommends ${missing[*]}" >&2
    exit 1
  fi
  as_root=(sudo)
fi
apt() { "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qq "$@"; }

echo "installing ${missing[*]}"
apt update || echo "install_deps: apt-get update failed; trying with the package lists at hand" >&2
apt install -y --no-install-recommends -o Dpkg::Use-Pty=0 "${missing[@]}" >/dev/null
