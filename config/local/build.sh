#!/usr/bin/env bash
# Builds the workspace, or what the arguments to `cargo build` select: `make run` builds only the server. Tests and
# benchmarks use the same optimised dev profile, so that everything is compiled once.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/paths.sh"
cd "$root"

[[ -d $target_dir/debug/deps ]] || echo "The first build takes about 13 minutes on 2 cores."
# ragengine/features gives dependencies the same features in a build of the server alone as in the workspace. So the
# tests can reuse that build.
[[ " $* " == *" --package "* ]] || set -- --workspace "$@"
cargo build --locked "$@"
