#!/usr/bin/env bash
# Checks that the server alone is built with the features of its dependencies that the whole workspace wants of them: see ragengine/features.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/paths.sh"
source "$here/step.sh"
cd "$root"

# features EDGES ARGUMENT...: each dependency that is compiled, with its features.
features() {
    cargo tree --locked --quiet --prefix none --no-dedupe --edges "$1" --format '{p} {f}' "${@:2}" | grep --invert-match "($root" | sort --unique
}

missing=$(comm -23 <(features normal,build --package ragengine) <(features normal,build,dev --workspace))
[[ -z $missing ]] || fail "make run and the tests would compile these twice: put the features that the workspace has more into ragengine/features/Cargo.toml" "$missing"
