#!/usr/bin/env bash
# Type-checks what Mac users build: aarch64-apple-darwin with the feature `metal`. Nothing is linked.
#   scripts/check-mac.sh [ARGS FOR CARGO CHECK]
# It takes the first of these ways that is open:
#   1. a Mac checks itself;
#   2. a toolchain that has the Mac's standard library checks with it;
#   3. root on Debian makes a Debian testing root in $SPECK_MAC_CACHE (default ~/.cache/speck-mac-check,
#      2 GB, a few minutes, once), whose rustc builds the Mac's standard library from source.
# Exit status: 0 it type-checks; 3 no way is open (stderr says what to install); else it failed.
# A root that went stale may be deleted: the next run makes a new one.
set -euo pipefail

target=aarch64-apple-darwin
suite=forky # the first Debian whose rustc is new enough for `rust-version` in Cargo.toml
packages=cargo,gcc,libc6-dev,rust-src,rustc
cache=${SPECK_MAC_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/speck-mac-check}
root=$cache/$suite
log=$cache/setup.log
cd "$(dirname "${BASH_SOURCE[0]}")/.."
checkout=$(pwd -P)

say() { echo "check-mac: $*" >&2; }
cannot() { say "$*"; exit 3; }

# Build scripts compile C and pack archives, and ask which compiler that is. A check reads none of the
# results, so the Mac's C compiler and archiver can be a script that answers and leaves an empty file.
make_empty_cc() {
  mkdir -p "$1"
  cat >"$1/empty-cc.$$" <<'CC'
#!/bin/sh
for arg; do
  case $arg in
    -E | --version) echo 'clang version 17.0.0' ;;
    *.a) : >"$arg" ;;
    *) [ "$previous" != -o ] || : >"$arg" ;;
  esac
  previous=$arg
done
CC
  chmod +x "$1/empty-cc.$$"
  mv "$1/empty-cc.$$" "$1/empty-cc"
}

# Runs a command quietly; shows the end of the log when it fails.
logged() {
  "$@" >>"$log" 2>&1 </dev/null || { tail "$log" >&2; say "'$1' failed; the whole log is $log"; exit 1; }
}

# The mirror that apt uses for Debian itself, whatever else is among its sources.
debian_mirror() {
  apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Origin: Debian' 'Label: Debian' |
    awk 'NR == 1'
}

# Makes the root beside its final place and moves it there when it is whole. A subshell: the lock ends
# with it and with the programs it started.
make_root() (
  exec 9>"$cache/lock"
  flock --nonblock 9 || { say "waiting for another run to set up $root"; flock 9; }
  [[ ! -d $root ]] || exit 0
  say "setting up a Debian $suite root in $root, once; this takes a few minutes (log: $log)"
  : >"$log"
  if ! command -v debootstrap >/dev/null || [[ -z $(debian_mirror) ]]; then
    apt-get update >>"$log" 2>&1 || say "apt-get update failed in part; going on with what apt knows"
    logged env DEBIAN_FRONTEND=noninteractive apt-get install -y debootstrap
  fi
  mirror=$(debian_mirror)
  [[ -n $mirror ]] || cannot "apt's sources name no Debian mirror; run 'rustup target add $target' and try again"
  rm -rf --one-file-system "$root.part"
  # `sid` is the recipe for all newer suites, some of which an older debootstrap does not know by name.
  logged debootstrap --variant=minbase --include="$packages" "$suite" "$root.part" "$mirror" \
    /usr/share/debootstrap/scripts/sid
  rm -f "$root.part"/var/cache/apt/archives/*.deb
  mv "$root.part" "$root"
)

# Dependencies come from this machine's cargo, which knows its mirrors and proxies; the root is offline.
check_in_root() {
  local cargo_home=${CARGO_HOME:-$HOME/.cargo} std=$root/usr/lib/rustlib/src/rust/library/Cargo.toml
  local fetch=(cargo fetch --locked --target "$target")
  "${fetch[@]}" --target "$(rustc --print host-tuple)"
  RUSTC_BOOTSTRAP=1 "${fetch[@]}" --manifest-path "$std"
  make_empty_cc "$root/usr/local/bin"
  mkdir -p "$root/root/.cargo/registry" "$root/checkout$checkout"
  [[ ! -e $cargo_home/config.toml ]] || cp "$cargo_home/config.toml" "$root/root/.cargo/"
  mount --bind /proc "$root/proc"
  mount --bind /dev "$root/dev"
  mount --bind -o ro "$cargo_home/registry" "$root/root/.cargo/registry"
  # Each checkout below its own path: they share a target folder, and cargo tells them apart by path.
  mount --bind -o ro "$checkout" "$root/checkout$checkout"
  exec chroot "$root" env -i --chdir="/checkout$checkout" HOME=/root PATH=/usr/local/bin:/usr/bin:/bin \
    TERM="${TERM:-dumb}" CARGO_TERM_COLOR="${CARGO_TERM_COLOR:-auto}" CARGO_TARGET_DIR=/target \
    RUSTC_BOOTSTRAP=1 RUSTC_WRAPPER= RUSTFLAGS= "${mac_cc[@]}" \
    cargo check -Zbuild-std --offline --target "$target" "${build[@]}" "$@"
}

build=(--locked --release --features metal) # as users build it
mac_cc=(CC_aarch64_apple_darwin=empty-cc AR_aarch64_apple_darwin=empty-cc SDKROOT=/)

command -v cargo >/dev/null || cannot "cargo is not on the PATH; install Rust first"
if [[ $(uname -s) == Darwin ]]; then
  exec cargo check "${build[@]}" "$@"
fi
if [[ -d $(rustc --print target-libdir --target "$target") ]]; then
  make_empty_cc "$cache/bin"
  exec env PATH="$PATH:$cache/bin" "${mac_cc[@]}" cargo check --target "$target" "${build[@]}" "$@"
fi
command -v apt-get >/dev/null && ((EUID == 0)) ||
  cannot "run 'rustup target add $target' and try again (or be root on Debian)"
# A mount namespace of its own: mounts end with the process, however it ends, and nobody else sees them.
if [[ ${SPECK_MAC_NAMESPACE:-} != "$$" ]]; then
  unshare --mount true 2>/dev/null ||
    cannot "this container may not mount; run 'rustup target add $target' and try again"
  SPECK_MAC_NAMESPACE=$$ exec unshare --mount "$checkout/scripts/check-mac.sh" "$@"
fi
mkdir -p "$cache"
[[ -d $root ]] || make_root
check_in_root "$@"
