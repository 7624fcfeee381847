#!/usr/bin/env bash
# Puts kind, helm and kubectl into a folder in the cache: client-programs.sh NODE_IMAGE. kind is copied from PATH when it has the right version there,
# else built; kubectl is the node's; helm.sh has helm's.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/paths.sh"
# shellcheck source=go.sh
source "$cluster_scripts/go.sh"

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
        "$cluster_scripts/go-toolchain.sh"
        step "Building kind $kind_version" build_kind
    fi
}

# Only the newest are kept: with the node's programs they have 800 MB.
delete_older() { find "$RAGENGINE_CACHE" -mindepth 1 -maxdepth 1 -type d -name 'kubernetes-v*' ! -path "$cluster_cache" -exec rm -rf {} +; }

provide_kind
"$cluster_scripts/helm.sh"
if [[ ! -x $cluster_bin/kubectl ]]; then step "Copying kubectl from the node image" copy_kubectl; fi
# This script is the last that builds.
if [[ -d $GOMODCACHE ]]; then step "Deleting the unpacked Go modules" delete_unpacked_modules; fi
touch "$cluster_bin/complete"
delete_older
