#!/usr/bin/env bash
# Prints the node image to use: the one of the cluster that is there, else the one that Docker has, else the registry's where that answers, else the
# one to be built.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/paths.sh"

# An anonymous request is answered with 401.
registry_answers() {
    [[ $(curl --silent --connect-timeout 5 --max-time 10 --output /dev/null --write-out '%{http_code}' https://registry-1.docker.io/v2/) =~ ^(200|401)$ ]]
}

# While Docker is down nobody knows what it has.
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
command -v curl >/dev/null || fail "The command curl is missing, with which a registry is asked: apt-get install curl"
if registry_answers; then echo "$pulled_node_image"; else echo "$built_node_image"; fi
