#!/usr/bin/env bash
# Builds Weaviate, the vector engine that tests of ragengine/vector-database and of the cluster start, from Go modules,
# into the cache.
#
# With --missing: installs nothing. If Go is missing and cannot be installed either, prints what to install.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../../e2e/cluster/paths.sh"
# shellcheck source=../../e2e/offline/go.sh
source "$offline_scripts/go.sh"

# Relative to e2e/offline/go. In that folder, each change of it would build the programs of a cluster again.
module=../../../config/local/weaviate

build_weaviate() {
    download_modules "$module"
    build "$module" "$weaviate/weaviate" github.com/weaviate/weaviate/cmd/weaviate-server \
        "github.com/weaviate/weaviate/usecases/build.Version=$weaviate_version"
    delete_unpacked_modules
}

if [[ ${1:-} == --missing ]]; then
    [[ -x $weaviate/weaviate ]] || "$offline_scripts/go-toolchain.sh" --missing "$module"
elif [[ -x $weaviate/weaviate ]]; then
    echo "Weaviate: there"
else
    # All builds share the folder of unpacked modules.
    one_at_a_time
    "$offline_scripts/go-toolchain.sh" "$module"
    [[ -x $weaviate/weaviate ]] ||
        step "Building Weaviate $weaviate_version (5 minutes on 2 cores)" build_weaviate
fi
