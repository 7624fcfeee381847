#!/usr/bin/env bash
# Checks the requirements of a cluster before any long step: reports everything that is missing, and installs the Debian
# packages that up.sh needs.
#
# With --list IMAGE...: installs nothing and prints what is missing, in the format of requirements.sh. Each IMAGE is the
# name of an environment variable. If KUBECONFIG names the user's cluster, the variable must name an image.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/paths.sh"

# check_foreign_cluster IMAGE...: fails if one of these environment variables is not set.
check_foreign_cluster() {
    local variable missing=()
    for variable in "$@"; do [[ -n ${!variable:-} ]] || missing+=("$variable=..."); done
    ((${#missing[@]} == 0)) ||
        fail "KUBECONFIG names your cluster: name the images that it pulls, or unset KUBECONFIG to create a cluster." \
            "Build: images/build.sh --profile dev; again with --image ragengine-operator and --image ragengine-e2e" \
            "Push them to a registry that the cluster pulls from, and set: ${missing[*]}"
    # The tests do not need kubectl. Without it they are the first to connect to the cluster.
    if command -v kubectl >/dev/null; then
        "$cluster_scripts/foreign-cluster.sh"
    else
        echo "Using the cluster that KUBECONFIG names (KUBECONFIG=$KUBECONFIG)"
    fi
}

# choose-node-image.sh needs curl, which may be installed later. Without curl, the requirements of the pulled image are
# listed, which are the smaller ones.
list() {
    local node_image=$pulled_node_image
    if command -v curl >/dev/null; then node_image=$("$cluster_scripts/choose-node-image.sh"); fi
    "$cluster_scripts/requirements.sh" --list "$node_image"
}

install() {
    local node_image
    node_image=$("$cluster_scripts/choose-node-image.sh")
    "$cluster_scripts/requirements.sh" "$node_image"
    "$cluster_scripts/packages.sh" "$node_image"
}

if [[ ${1:-} == --list ]]; then
    shift
    if kubeconfig_is_foreign; then
        check_foreign_cluster "$@" >&2
    elif ! cluster_answers || ! node_is_current; then
        list
    fi
elif kubeconfig_is_foreign; then
    echo "Using the cluster that KUBECONFIG names (KUBECONFIG=$KUBECONFIG)"
elif cluster_answers && node_is_current; then
    echo "The cluster $cluster_name: there"
else
    install
fi
