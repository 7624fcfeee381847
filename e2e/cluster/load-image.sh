#!/usr/bin/env bash
# Copies images from Docker into the node of the cluster of `make cluster-up`: load-image.sh NAME:TAG...
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/paths.sh"

(($# > 0)) || fail "usage: load-image.sh NAME:TAG..."
! kubeconfig_is_foreign ||
    fail "KUBECONFIG names your cluster: push the images to a registry that it pulls from." "KUBECONFIG=$KUBECONFIG"
if ! cluster_answers || ! node_is_current; then fail "no cluster of this version is running: make cluster-up"; fi
for image in "$@"; do
    docker_has_image "$image" || fail "Docker does not have the image $image: build it, or pull it."
done

for image in "$@"; do
    step "Loading $image into the cluster" \
        timeout --foreground 600 kind load docker-image "$image" --name "$cluster_name"
done
