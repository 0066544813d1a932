#!/usr/bin/env bash
# A newcomer's machine: a bare Debian 12 root holding git and make, a clone of this repository, and
# the two commands of the README. Root only. Takes the root folder with it when it ends.
#
# usage: test_debootstrap.sh [MAKE_TARGET...]     default: demo test
# The host's Debian mirror, certificates, pip settings and name server are used inside, so it works
# wherever apt and pip work. KEEP_ROOT=FOLDER keeps the root there, and starts from it when present.
set -euo pipefail
cd "$(dirname "$0")/.."
(($#)) || set -- demo test
((EUID == 0)) || { echo "test_debootstrap: needs root, for debootstrap and chroot" >&2; exit 1; }
command -v debootstrap >/dev/null || apt-get -qq install -y --no-install-recommends debootstrap

root=${KEEP_ROOT:-$(mktemp -d)}
finish() {
  # Lazily: a straggler inside must not keep the host's /dev bound to a folder about to go.
  for mount in proc dev; do
    if mountpoint -q "$root/$mount"; then umount --recursive --lazy "$root/$mount"; fi
  done
  [[ -n ${KEEP_ROOT-} ]] || rm -rf --one-file-system "$root"
}
trap finish EXIT

# The host's own Debian sources, whatever form they are written in.
sources=$(apt-get indextargets 'Identifier: Packages' 'Origin: Debian' \
            --format 'deb $(REPO_URI) $(RELEASE) $(COMPONENT)' | grep ' bookworm' | sort -u)
mirror=$(awk '$3 == "bookworm" { print $2; exit }' <<<"$sources")
[[ -x $root/bin/sh ]] || debootstrap --variant=minbase bookworm "$root" "${mirror:-http://deb.debian.org/debian}"

echo "$sources" >"$root/etc/apt/sources.list"
apt-config dump | grep -E '^Acquire::(https?::|Check-)' >"$root/etc/apt/apt.conf.d/90host" || true
cp --dereference /etc/resolv.conf "$root/etc/resolv.conf"
mkdir -p "$root/usr/local/share" "$root/etc/ssl/certs"
cp -a /usr/local/share/ca-certificates "$root/usr/local/share/" 2>/dev/null || true
cp --dereference /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/" 2>/dev/null || true
for file in /etc/pip.conf "$HOME/.config/pip/pip.conf"; do
  if [[ -f $file ]]; then cp "$file" "$root/etc/pip.conf"; fi
done

mount -t proc proc "$root/proc"
mount --rbind /dev "$root/dev"
mount --make-rslave "$root/dev"

# Only what a shell has, and how this machine reaches its package indexes.
settings=(HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin TERM=dumb DEBIAN_FRONTEND=noninteractive)
while IFS= read -r pair; do
  settings+=("$pair")
done < <(env | grep -iE '^(https?_proxy|no_proxy|pip_[a-z_]*|ssl_cert_file|requests_ca_bundle)=')
inside() { chroot "$root" env -i "${settings[@]}" "$@"; }

inside apt-get -qq update
inside apt-get -qq install -y --no-install-recommends git make >/dev/null
rm -rf "$root/root/lockstep"
git clone --quiet "$PWD" "$root/root/lockstep"
for target in "$@"; do
  echo "== make $target"
  inside make -C /root/lockstep "$target"
done
