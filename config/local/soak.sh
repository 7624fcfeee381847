#!/usr/bin/env bash
# Kills the server CRASH_ROUNDS=200 times during writes, then runs it under mixed load for SOAK_MINUTES=10. Acknowledged
# writes must not be lost, and the use of memory, files and disk must not grow. Both tests print CRASH_SEED, which
# repeats a run.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/paths.sh"
source "$here/step.sh"
cd "$root"

export CRASH_ROUNDS="${CRASH_ROUNDS:-200}" SOAK_MINUTES="${SOAK_MINUTES:-10}"
for name in CRASH_ROUNDS SOAK_MINUTES; do
    [[ ${!name} =~ ^[1-9][0-9]*$ ]] || fail "$name must be a positive number: ${!name}"
done

# Uses the build of `make test`, so that nothing is compiled again.
tests() { cargo test --workspace --test server "$@"; }

step "Building the server and its tests" tests --no-run
stage "Killing the server $CRASH_ROUNDS times" tests -- --nocapture crash::
stage "Running under load for $SOAK_MINUTES minutes" tests -- --nocapture soak::
