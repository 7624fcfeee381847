#!/usr/bin/env bash
# Builds the server. The dev profile is optimised, and tests and benchmarks use it too, so that everything is compiled once.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/paths.sh"
cd "$root"

[[ -d $target_dir/debug/deps ]] || echo "The first build takes about 15 minutes on 2 cores."
# The whole workspace, as the tests do: a single package would unify the features of dependencies otherwise, and compile them again.
cargo build --workspace "$@"
