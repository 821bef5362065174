#!/usr/bin/env bash
# Runs the CPU engine's tests as aarch64 code, on an emulated processor that has `sdot` and `smmla`.
#   scripts/check-neon.sh [ARGS FOR CARGO TEST]
# An aarch64 machine runs them itself, with the instructions it has. Another needs, by Debian's names:
#   the packages qemu-user, gcc-aarch64-linux-gnu and libc6-dev-arm64-cross, and Rust's standard library
#   (rustup target add aarch64-unknown-linux-gnu; for Debian's own rustc, libstd-rust-dev:arm64).
# Exit status: 0 the tests pass; 3 something is missing (stderr says what); else they fail.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

target=aarch64-unknown-linux-gnu
sysroot=/usr/aarch64-linux-gnu

cannot() { echo "check-neon: $*" >&2; exit 3; }
program() { command -v "$1" >/dev/null || cannot "no $1 on the PATH: apt-get install $2"; }

program cargo cargo
case $(uname -m) in
  aarch64 | arm64) exec cargo test --locked --lib cpu "$@" ;;
esac
program qemu-aarch64 qemu-user
program aarch64-linux-gnu-gcc gcc-aarch64-linux-gnu
[[ -e $sysroot/lib/libc.so.6 ]] || cannot "no C library in $sysroot: apt-get install libc6-dev-arm64-cross"
[[ -d $(rustc --print target-libdir --target "$target") ]] ||
  cannot "rustc has no standard library for $target: rustup target add $target"

export CC_aarch64_unknown_linux_gnu=aarch64-linux-gnu-gcc
export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER=aarch64-linux-gnu-gcc
export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER="qemu-aarch64 -cpu max -L $sysroot"
exec cargo test --locked --target "$target" --lib cpu "$@"
