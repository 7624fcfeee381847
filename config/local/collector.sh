#!/usr/bin/env bash
# Builds the OpenTelemetry collector that the tests send traces to, from Go modules, into the cache.
#
# With --missing: installs nothing. If Go is missing and cannot be installed either, prints what to install.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../../e2e/cluster/paths.sh"
# shellcheck source=../../e2e/offline/go.sh
source "$offline_scripts/go.sh"

# Relative to e2e/offline/go. In that folder, each change of it would build the programs of a cluster again.
module=../../../config/local/collector

build_collector() {
    local version
    version=$(module_version "$module" go.opentelemetry.io/collector/otelcol)
    download_modules "$module"
    build "$module" "$collector/collector" . "main.version=$version"
    delete_unpacked_modules
    "$collector/collector" --version
}

if [[ ${1:-} == --missing ]]; then
    [[ -x $collector/collector ]] || "$offline_scripts/go-toolchain.sh" --missing "$module"
elif [[ -x $collector/collector ]]; then
    echo "The OpenTelemetry collector: there"
else
    # All builds share the folder of unpacked modules.
    one_at_a_time
    "$offline_scripts/go-toolchain.sh" "$module"
    [[ -x $collector/collector ]] || step "Building the OpenTelemetry collector (2 minutes on 2 cores)" build_collector
fi
