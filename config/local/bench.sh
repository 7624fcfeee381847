#!/usr/bin/env bash
# Runs the server's benchmarks and compares the server with its parts alone. Arguments are passed to ragengine-bench.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/paths.sh"

"$here/build.sh" --config "$here/bench.toml"
# Debian installs nginx in /usr/sbin, which is not in the PATH of other users than root.
export PATH="$PATH:/usr/sbin"
exec "$target_dir/debug/ragengine-bench" "$@"
