#!/usr/bin/env bash
# What has to be there for a cluster before anything long begins: names all that is missing, and installs the Debian packages that up.sh wants. Nothing
# else is made yet. With --list IMAGE...: installs nothing and prints what is missing, as requirements.sh does; each IMAGE is a variable that has to name
# an image where the cluster is the user's own.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/paths.sh"

# check_foreign_cluster IMAGE...: each is the name of a variable.
check_foreign_cluster() {
    local variable missing=()
    for variable in "$@"; do [[ -n ${!variable:-} ]] || missing+=("$variable=..."); done
    ((${#missing[@]} == 0)) ||
        fail "KUBECONFIG names a cluster of your own: say which images it is to pull, or unset KUBECONFIG to have a cluster made." \
            "Build them:  images/build.sh --profile dev, also with --image ragengine-operator and --image ragengine-e2e" \
            "Push them to a registry that the cluster pulls from, and name them there: ${missing[*]}"
    # The tests do without kubectl, and are the first to ask then.
    if command -v kubectl >/dev/null; then
        "$cluster_scripts/foreign-cluster.sh"
    else
        echo "The cluster is the one that KUBECONFIG names: $KUBECONFIG"
    fi
}

# What the node image is, curl tells: it is among the packages that are installed next. The least is asked for until then.
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
    echo "The cluster is the one that KUBECONFIG names: $KUBECONFIG"
elif cluster_answers && node_is_current; then
    echo "The cluster $cluster_name: there"
else
    install
fi
