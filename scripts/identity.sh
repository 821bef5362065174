#!/usr/bin/env bash
# Proves at length that drafting does not change the text: runs the full_ tests, which compare every strategy
# and draft length with plain decoding on the default pair, token by token: greedy, more than 20,000 tokens;
# greedy again with the target written in each other weight format; and sampled, eleven settings of about
# the first size each. That takes hours. FILTER=full_texts runs the greedy ones alone, and any other FILTER the
# tests whose names have it. CI runs a short version (scripts/test.sh). It also reports how soon a stop is
# obeyed. The target is found, or fetched, as scripts/test.sh does it.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

if [[ -z ${SPECK_TEST_TARGET:-} ]]; then
  SPECK_TEST_TARGET=$(cargo run --quiet --locked --release -- models pull smollm2-135m)
fi
export SPECK_TEST_TARGET
cargo test --locked --release --test pair_decoding --test pair_stop --test pair_fidelity -- --ignored "${FILTER:-full_}" --nocapture
# And that auto holds in its simulator over a thousand answers of each prompt.
cargo test --locked --release --lib -- --ignored "${FILTER:-full_}" --nocapture
