#!/usr/bin/env bash
# Prints the node image to use: the one that is there, else the registry's where that answers, else the one to be built.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/paths.sh"

# An anonymous request is answered with 401.
registry_answers() {
    [[ $(curl --silent --connect-timeout 5 --max-time 10 --output /dev/null --write-out '%{http_code}' https://registry-1.docker.io/v2/) =~ ^(200|401)$ ]]
}

for image in "$pulled_node_image" "$built_node_image"; do
    if docker_has_image "$image"; then
        echo "$image"
        exit 0
    fi
done
if registry_answers; then
    echo "$pulled_node_image"
else
    echo "No registry answers: the node image is built here" >&2
    echo "$built_node_image"
fi
