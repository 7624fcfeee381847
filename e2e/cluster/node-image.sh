#!/usr/bin/env bash
# Makes Docker have the node image: node-image.sh NODE_IMAGE.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/paths.sh"

node_image=$1
if docker_has_image "$node_image"; then
    echo "Node image $node_image: there"
elif [[ $node_image == "$pulled_node_image" ]]; then
    step "Pulling the node image $node_image" timeout --foreground 1800 docker pull --quiet "$node_image"
else
    echo "No registry answers: the node image is built here"
    "$cluster_scripts/go-toolchain.sh"
    "$cluster_scripts/node-programs.sh"
    "$cluster_scripts/node/build.sh"
fi
