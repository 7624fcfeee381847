#!/usr/bin/env bash
# Writes flame graphs of the server's requests to docs/flame-graphs, from profiles of a benchmark run. Needs perf
# (Debian's package linux-perf) and the right to use it.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/paths.sh"
source "$here/step.sh"

inferno_version=0.12.8
inferno_dir="$RAGENGINE_CACHE/tools/inferno-$inferno_version"

install() {
    rm -rf "$inferno_dir"
    # Without CARGO_TARGET_DIR, cargo builds in a temporary folder and removes it.
    env -u CARGO_TARGET_DIR cargo install --locked inferno --version "$inferno_version" --root "$inferno_dir"
}

command -v perf >/dev/null || fail "perf is missing: apt-get install linux-perf"
[[ -x $inferno_dir/bin/inferno-flamegraph ]] || step "Installing inferno $inferno_version" install

profiles=$(mktemp -d)
trap 'rm -rf "$profiles"' EXIT
"$here/bench.sh" --only profiles --profiles "$profiles"
mkdir -p "$root/docs/flame-graphs"
for profile in "$profiles"/*.perf; do
    name=$(basename "$profile" .perf)
    # Stacks that were cut off begin with [unknown], and narrow frames would only make the file large.
    perf script --input "$profile" --no-inline 2>/dev/null |
        "$inferno_dir/bin/inferno-collapse-perf" |
        "$inferno_dir/bin/inferno-flamegraph" --title "$name, one client" --countname ns --minwidth 0.4 --hash \
            --no-javascript |
        python3 -B "$here/flame-graph-labels.py" >"$root/docs/flame-graphs/$name.svg"
    echo "docs/flame-graphs/$name.svg"
done
