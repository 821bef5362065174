#!/usr/bin/env bash
# Runs the CPU engine's tests of the scalar path under Miri, which interprets them and finds undefined behaviour:
# data races of the threads of a pass, aliased references, reads of what was never written.
#   scripts/check-miri.sh [ARGS FOR THE TESTS]
# Needs a nightly toolchain: rustup toolchain install nightly --component miri,rust-src. Miri has no processor
# features, so the tests choose the scalar path by themselves. The selection is what Miri does in minutes: the
# tests in src/cpu, and one that runs whole passes of a decoder on two threads. Not yet run to its end: the
# selection and the flags are reasoned, not tried.
# Exit status: 0 the tests pass; 3 something is missing (stderr says what); else they fail.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

cannot() { echo "check-miri: $*" >&2; exit 3; }

command -v rustup >/dev/null || cannot "no rustup on the PATH"
rustup component list --toolchain nightly 2>/dev/null | grep -q '^miri.*(installed)' ||
  cannot "no Miri: rustup toolchain install nightly --component miri,rust-src"

# Isolation forbids asking for the number of cores. Rayon's threads, which packing starts, outlive the tests, and
# what they use turns integers into pointers.
export MIRIFLAGS="-Zmiri-tree-borrows -Zmiri-disable-isolation -Zmiri-ignore-leaks -Zmiri-permissive-provenance ${MIRIFLAGS:-}"
export SPECK_ISA=scalar RAYON_NUM_THREADS=1
exec cargo +nightly miri test --locked --lib -- cpu:: a_stopped_pass "$@"
