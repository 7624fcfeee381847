#!/usr/bin/env bash
# Builds promtool, which checks the alert rules and the dashboard of the Helm chart, from Go modules, into the cache.
# Without Prometheus's discovery of services, which it does not need, it takes half the time.
#
# With --missing: installs nothing. If Go is missing and cannot be installed either, prints what to install.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../../e2e/cluster/paths.sh"
# shellcheck source=../../e2e/offline/go.sh
source "$offline_scripts/go.sh"

# Relative to e2e/offline/go. In that folder, each change of it would build the programs of a cluster again.
module=../../../config/local/promtool
export GOFLAGS="$GOFLAGS -tags=remove_all_sd"

build_promtool() {
    download_modules "$module"
    build "$module" "$promtool" github.com/prometheus/prometheus/cmd/promtool
    delete_unpacked_modules
}

if [[ ${1:-} == --missing ]]; then
    [[ -x $promtool ]] || "$offline_scripts/go-toolchain.sh" --missing "$module"
elif [[ -x $promtool ]]; then
    echo "promtool: there"
else
    # All builds share the folder of unpacked modules.
    one_at_a_time
    "$offline_scripts/go-toolchain.sh" "$module"
    [[ -x $promtool ]] || step "Building promtool (2 minutes on 2 cores)" build_promtool
fi
