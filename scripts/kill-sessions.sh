#!/usr/bin/env bash
# Kills 1,000 chats (or as many as the argument says) at random moments with SIGKILL, and checks that no turn
# is lost whose answer had ended, and that every file can be read and gone on with. Five at a time; about 10 minutes.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
SPECK_TEST_KILLS=${1:-1000} cargo test --locked --test sessions -- --ignored --nocapture full_kills
