#!/usr/bin/env bash
# Prints the table of the benchmarks: the built server against the floor of its parts. Arguments go to ragengine-bench.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/paths.sh"

"$here/build.sh"
# Debian puts nginx where only root looks.
export PATH="$PATH:/usr/sbin"
exec "$target_dir/debug/ragengine-bench" "$@"
