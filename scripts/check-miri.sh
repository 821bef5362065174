#!/usr/bin/env bash
# Runs the CPU engine's tests of the scalar path under Miri, which interprets them and finds undefined behaviour:
# data races of the threads of a pass, aliased references, reads of what was never written.
#   scripts/check-miri.sh [NAMES OF TESTS AND ARGUMENTS]
# Needs a nightly toolchain: rustup toolchain install nightly --component miri,rust-src. Miri has no processor
# features, so the tests choose the scalar path by themselves. Without arguments it runs all tests of src/cpu and of
# the decoder on it: the pool, packing, products in each packed form, attention and the other operations, a measure
# of memory, and passes of a decoder of one layer on two threads (a prompt, rows in two tiles, a truncated cache, a
# stopped pass). Under Miri their sizes are small, and those that need large models or look at numbers alone are
# ignored.
# Exit status: 0 the tests pass; 3 something is missing (stderr says what); else they fail.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

cannot() { echo "check-miri: $*" >&2; exit 3; }

command -v rustup >/dev/null || cannot "no rustup on the PATH"
rustup component list --toolchain nightly 2>/dev/null | grep -q '^miri.*(installed)' ||
  cannot "no Miri: rustup toolchain install nightly --component miri,rust-src"

# Isolation forbids asking for the number of cores. Rayon's threads, which packing starts, outlive the tests, and
# what they use turns integers into pointers; their queues break the rules of stacked borrows, so tree borrows judge.
export MIRIFLAGS="-Zmiri-tree-borrows -Zmiri-disable-isolation -Zmiri-ignore-leaks -Zmiri-permissive-provenance ${MIRIFLAGS:-}"
# Without RUST_BACKTRACE: to interpret the reading of debug information takes longer than the tests.
export SPECK_ISA=scalar RAYON_NUM_THREADS=1 RUST_BACKTRACE=0
(($#)) || set -- cpu:: cpu_decoder::
exec cargo +nightly miri test --locked --lib -- "$@"
