#!/usr/bin/env bash
# Runs all checks of the project, in the order in which they fail fastest:
#   format and lints; the fast tests, which need no model; the tests on the default pair; the Mac's build.
# Tests on the default pair are marked #[ignore = "needs the default pair: scripts/test.sh"] and their names
# begin with pair_ (tests/architecture checks that). They read the target's path from SPECK_TEST_TARGET; when
# it is not set, speck fetches the file (98 MB, checked by sha256) into the cache that `speck chat` uses too.
# The Mac's build is skipped where it cannot be checked, except in CI (when CI is set), where nothing is.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

step() { printf '\n== %s (after %d s)\n' "$1" "$SECONDS"; }

step 'format and lints'
cargo fmt --check
cargo clippy --locked --all-targets -- -D warnings

step 'fast tests'
cargo test --locked

step 'tests on the default pair'
if [[ -z ${SPECK_TEST_TARGET:-} ]]; then
  # The program that the tests were built with: `cargo run` would compile the crates anew with other features.
  SPECK_TEST_TARGET=$("${CARGO_TARGET_DIR:-target}/debug/speck" models pull smollm2-135m)
fi
export SPECK_TEST_TARGET
cargo test --locked -- --ignored pair_

step "the Mac's build"
status=0
scripts/check-mac.sh || status=$?
if ((status == 3)) && [[ -z ${CI:-} ]]; then
  echo "skipped: this machine cannot check the Mac's build"
elif ((status != 0)); then
  exit "$status"
fi

step 'all passed'
