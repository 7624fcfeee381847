#!/usr/bin/env bash
# Runs the server's benchmarks and compares the server with its parts alone. Arguments are passed to ragengine-bench.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/paths.sh"

# The images have a server that is compiled as one unit, which is faster by a tenth. For tests that would take too long.
"$here/build.sh" --config 'profile.dev.package.ragengine.codegen-units=1'
# Debian installs nginx in /usr/sbin, which is not in the PATH of other users than root.
export PATH="$PATH:/usr/sbin"
exec "$target_dir/debug/ragengine-bench" "$@"
