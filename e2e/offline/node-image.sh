#!/usr/bin/env bash
# Provides the node image in Docker: node-image.sh NODE_IMAGE.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../cluster/paths.sh"

node_image=$1
if docker_has_image "$node_image"; then
    echo "Node image $node_image: there"
elif [[ $node_image == "$pulled_node_image" ]]; then
    step "Pulling the node image $node_image" timeout --foreground 1800 docker pull --quiet "$node_image"
else
    echo "No registry answers: building the node image"
    "$offline_scripts/go-toolchain.sh"
    "$offline_scripts/node-programs.sh"
    "$offline_scripts/node/build.sh"
fi
