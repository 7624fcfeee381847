#!/usr/bin/env bash
# Prints the table of the benchmarks: the built server against the floor of its parts. Arguments go to ragengine-bench.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/paths.sh"

"$here/build.sh" --package ragengine-bench
export EMBEDDING_MODEL="${EMBEDDING_MODEL:-$embedding_model}"
# Debian puts nginx where only root looks.
export PATH="$PATH:/usr/sbin"
exec "$target_dir/debug/ragengine-bench" "$@"
