#!/usr/bin/env bash
# Checks that take long: 10,000 turns on the scripted model (memory, files, threads), every state of the screen
# at every size, and on the default pair the time from key to echo and from Esc to a stopped answer.
# Prints the figures; fails where one is out of bounds. Linux only. Needs an idle machine for the times.
#   SPECK_SOAK_TURNS, SPECK_SOAK_STOPS: other numbers of turns and of stopped answers
#   SPECK_TEST_TARGET: the default target's file, else it is fetched as in scripts/test.sh
#   SPECK_SOAK_PROFILE: empty for a debug build; --release if not set
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

profile=${SPECK_SOAK_PROFILE---release}
# shellcheck disable=SC2086 # nothing or one word
cargo=(cargo test --locked ${profile})
if [[ -z ${SPECK_TEST_TARGET:-} ]]; then
  SPECK_TEST_TARGET=$(cargo run --quiet --locked ${profile} -- models pull smollm2-135m)
fi
export SPECK_TEST_TARGET

"${cargo[@]}" --test terminal -- --ignored --nocapture --test-threads=1 soak_
"${cargo[@]}" --test screens -- --ignored --nocapture soak_
