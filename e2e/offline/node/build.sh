#!/usr/bin/env bash
# Builds the node image without a registry, in the way of kind's own images/base/Dockerfile and `kind build node-image`: a Debian root file
# system, kind's files, Kubernetes, and containerd's store with the images that kubeadm and kind start.
set -euo pipefail

# In a separate mount and process namespace: nothing that is mounted or started here outlives this script.
if [[ ${RAGENGINE_NODE_BUILD:-} != inside ]]; then
    RAGENGINE_NODE_BUILD=inside exec unshare --mount --pid --fork --kill-child --mount-proc "$0"
fi
# The first process of a namespace ignores the signals that it does not handle.
trap 'exit 130' INT TERM

source "$(dirname "${BASH_SOURCE[0]}")/../../cluster/paths.sh"
# shellcheck source=root.sh
source "$offline_scripts/node/root.sh"
# shellcheck source=store.sh
source "$offline_scripts/node/store.sh"

work="$cluster_cache/node-image.new"
node_root="$work/root"
images="$work/images"

delete_work() { rm -rf --one-file-system "$work"; }

build_image() {
    mkdir "$work/context"
    cp "$offline_scripts/node/Dockerfile" "$work/context/"
    tar --directory "$node_root" --numeric-owner --one-file-system --create --file "$work/context/root.tar" .
    docker build --tag "$built_node_image" "$work/context"
}

delete_work
mkdir -p "$work"
step "Installing the node's Debian packages" install_debian
step "Adding kind's files and Kubernetes" add_kubernetes
step "Making the images of Kubernetes" make_images
step "Filling containerd's store with them" fill_store
step "Building the node image $built_node_image" build_image
delete_work
