#!/usr/bin/env bash
# Puts kind, helm and kubectl into a folder in the cache: client-programs.sh NODE_IMAGE. kind is copied from PATH if the
# version matches, and built otherwise. kubectl is copied from the node image. helm.sh provides helm.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/paths.sh"
# shellcheck source=../offline/go.sh
source "$offline_scripts/go.sh"

node_image=$1
if [[ -e $cluster_bin/complete ]]; then
    echo "kind, kubectl: there"
    exit
fi
mkdir -p "$cluster_bin"

copy() {
    install -m 755 "$1" "$2.new"
    mv "$2.new" "$2"
}

build_kind() {
    download_modules kind
    build kind "$cluster_bin/kind" sigs.k8s.io/kind
}

copy_kubectl() {
    local container
    container=$(docker create "$node_image")
    docker cp "$container:/usr/bin/kubectl" "$cluster_bin/kubectl.new"
    docker rm "$container"
    mv "$cluster_bin/kubectl.new" "$cluster_bin/kubectl"
}

provide_kind() {
    local path
    if [[ -x $cluster_bin/kind ]]; then return; fi
    if path=$(program_in_path kind "$kind_version"); then
        step "Copying kind from $path" copy "$path" "$cluster_bin/kind"
    else
        "$offline_scripts/go-toolchain.sh"
        step "Building kind $kind_version" build_kind
    fi
}

# Each version takes 800 MB, with the node's programs.
delete_older() {
    find "$RAGENGINE_CACHE" -mindepth 1 -maxdepth 1 -type d -name 'kubernetes-v*' ! -path "$cluster_cache" \
        -exec rm -rf {} +
}

provide_kind
"$cluster_scripts/helm.sh"
if [[ ! -x $cluster_bin/kubectl ]]; then step "Copying kubectl from the node image" copy_kubectl; fi
# No later script builds anything from Go modules.
if [[ -d $GOMODCACHE ]]; then step "Deleting the unpacked Go modules" delete_unpacked_modules; fi
touch "$cluster_bin/complete"
delete_older
