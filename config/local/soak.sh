#!/usr/bin/env bash
# Kills the server CRASH_ROUNDS=200 times while clients write to it, then keeps it under mixed load for SOAK_MINUTES=10: nothing that was acknowledged may
# be lost, and what it takes of memory, files and disk may not grow. CRASH_SEED, which each of the two prints, does the same again.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/paths.sh"
source "$here/step.sh"
cd "$root"

export CRASH_ROUNDS="${CRASH_ROUNDS:-200}" SOAK_MINUTES="${SOAK_MINUTES:-10}"
for name in CRASH_ROUNDS SOAK_MINUTES; do
    [[ ${!name} =~ ^[1-9][0-9]*$ ]] || fail "$name must be a number, at least 1: ${!name}"
done

# With what `make test` builds, so that there is nothing more to compile.
tests() { cargo test --workspace --test server "$@"; }

step "Building the server and its tests" tests --no-run
stage "Killing the server $CRASH_ROUNDS times" tests -- --nocapture crash::
stage "Load for $SOAK_MINUTES minutes" tests -- --nocapture soak::
