#!/usr/bin/env bash
# Runs the CPU engine's tests under AddressSanitizer, which finds reads and writes outside of an allocation: on
# x86-64 the AVX2 path and the scalar one (the tests run every path that the processor has), on aarch64 NEON's.
#   scripts/check-asan.sh [ARGS FOR CARGO TEST]
# Stable toolchains ship the sanitizer's runtime; RUSTC_BOOTSTRAP lets their compiler take the flag for it. All
# crates are compiled for it once, into target/asan: that takes minutes. Inline assembler, which NEON's products
# are written in, is not instrumented.
# Exit status: 0 the tests pass; 3 something is missing (stderr says what); else they fail.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

cannot() { echo "check-asan: $*" >&2; exit 3; }

command -v cargo >/dev/null || cannot "no cargo on the PATH"
# Named, so that build scripts and macros, which run on this machine too, are left as they are.
target=$(rustc --version --verbose | sed -n 's/^host: //p')
compgen -G "$(rustc --print target-libdir)/librustc*_rt.asan.*" >/dev/null ||
  cannot "rustc has no AddressSanitizer for $target: install the toolchain with rustup"

export RUSTC_BOOTSTRAP=1 RUSTFLAGS="${RUSTFLAGS:-} -Zsanitizer=address"
exec cargo test --locked --target "$target" --target-dir target/asan --lib cpu "$@"
