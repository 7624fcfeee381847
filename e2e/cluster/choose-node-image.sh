#!/usr/bin/env bash
# Prints the node image to use, the first of these that is available: the image of the existing cluster, an image that
# Docker has, the registry's image if the registry answers, the image that is built here.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/paths.sh"

# The registry answers an anonymous request with 401.
registry_answers() {
    local status
    status=$(curl --silent --connect-timeout 5 --max-time 10 --output /dev/null --write-out '%{http_code}' \
        https://registry-1.docker.io/v2/)
    [[ $status =~ ^(200|401)$ ]]
}

# Docker must run before its images can be listed.
if ! docker_answers && docker_can_be_started; then "$cluster_scripts/start-docker.sh" >&2; fi

if [[ -e $cluster_mark ]] && node_is_current; then
    node_image_in_use
    exit
fi
for image in "$pulled_node_image" "$built_node_image"; do
    if docker_has_image "$image"; then
        echo "$image"
        exit
    fi
done
command -v curl >/dev/null ||
    fail "The command curl is missing. It checks whether a registry answers. Install it: apt-get install curl"
if registry_answers; then echo "$pulled_node_image"; else echo "$built_node_image"; fi
