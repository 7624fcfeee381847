#!/usr/bin/env bash
# Puts images that Docker has into the node of cluster-up's cluster: load-image.sh NAME:TAG...
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/paths.sh"

(($# > 0)) || fail "usage: load-image.sh NAME:TAG..."
! kubeconfig_is_foreign || fail "KUBECONFIG names a cluster of your own: push the images to a registry that it pulls from." "KUBECONFIG=$KUBECONFIG"
if ! cluster_answers || ! node_is_current; then fail "there is no cluster of this version: make cluster-up"; fi
for image in "$@"; do
    docker_has_image "$image" || fail "Docker has no image $image: build it, or pull it."
done

for image in "$@"; do
    step "Loading $image into the cluster" timeout --foreground 600 kind load docker-image "$image" --name "$cluster_name"
done
