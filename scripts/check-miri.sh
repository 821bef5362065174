#!/usr/bin/env bash
# Runs the CPU engine's tests of the scalar path under Miri, which interprets them and finds undefined behaviour:
# data races of the threads of a pass, aliased references, reads of what was never written.
#   scripts/check-miri.sh [NAMES OF TESTS AND ARGUMENTS]
# Needs a nightly toolchain: rustup toolchain install nightly --component miri,rust-src. Miri has no processor
# features, so the tests choose the scalar path by themselves. All of src/cpu takes hours, most of them in tests that
# look at many numbers (attention, products in every format). These take minutes each and touch every kind of
# unsafe code but whole passes; they passed when this was written:
#   scripts/check-miri.sh --exact cpu::pool::tests::a_panic_on_any_thread_ends_the_pass_and_the_pool_goes_on \
#     cpu::pool::tests::every_unit_of_every_phase_is_done_once_and_phases_do_not_mix \
#     cpu::bandwidth::tests::every_word_is_read cpu::tests::an_outlier_is_multiplied_as_it_is \
#     cpu::tests::quantising_shows_what_is_not_finite cpu::tests::quants_are_the_nearest_to_even_and_their_sum_is_exact
# Not yet run to its end: a whole pass of a decoder (a_stopped_pass).
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
export SPECK_ISA=scalar RAYON_NUM_THREADS=1
(($#)) || set -- cpu:: a_stopped_pass
exec cargo +nightly miri test --locked --lib -- "$@"
