#!/usr/bin/env bash
# Fetches the definition of Karpenter's NodeClaims, which a test on a cluster installs, into the cache. It is a file of
# Karpenter's Go module, of the version in karpenter/go.mod. Karpenter itself needs a cloud.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/paths.sh"
# shellcheck source=../offline/go.sh
source "$offline_scripts/go.sh"

fetch() {
    local folder
    download_modules "$karpenter_module"
    folder=$(cd "$offline_scripts/go/$karpenter_module" && go list -m -f '{{.Dir}}' sigs.k8s.io/karpenter)
    mkdir -p "${karpenter_definition%/*}"
    cp --no-preserve=mode "$folder/pkg/apis/crds/karpenter.sh_nodeclaims.yaml" "$karpenter_definition.new"
    mv "$karpenter_definition.new" "$karpenter_definition"
    delete_unpacked_modules
}

if [[ -s $karpenter_definition ]]; then
    echo "The definition of NodeClaims: there"
else
    # All builds share the folder of unpacked modules.
    one_at_a_time
    "$offline_scripts/go-toolchain.sh" "$karpenter_module"
    step "Fetching the definition of NodeClaims (a Go module of 3 MB)" fetch
fi
