#!/usr/bin/env bash
# Builds the workspace, or what the arguments to `cargo build` say: `make run` wants the server alone. The dev profile is optimised, and tests and
# benchmarks use it too, so that everything is compiled once.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/paths.sh"
cd "$root"

[[ -d $target_dir/debug/deps ]] || echo "The first build takes about 13 minutes on 2 cores."
# A server that is built alone has the dependencies' features that the workspace has (ragengine/features): the tests compile nothing of it again.
[[ " $* " == *" --package "* ]] || set -- --workspace "$@"
cargo build --locked "$@"
