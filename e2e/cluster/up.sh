#!/usr/bin/env bash
# A Kubernetes cluster on this machine, made by kind. Where a registry answers, its node image is pulled; elsewhere it is built from Debian
# packages and Go modules. What is there already is left as it is. kind takes a free port for the API server, on 127.0.0.1 only.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/paths.sh"
cd "$root"

# The cluster that KUBECONFIG names is used as it is; nothing is made beside it.
if kubeconfig_is_foreign; then
    "$cluster_scripts/foreign-cluster.sh"
    exit 0
fi

# The children keep the lock as well: what is left of an interrupted run ends before the next one begins.
exec 9>"$RAGENGINE_CACHE/cluster.lock"
if ! flock --nonblock 9; then
    echo "Another cluster-up or cluster-down is running: waiting for it"
    flock --timeout 1800 9 || fail "it did not end within 30 minutes: stop it and try again"
fi

if ! "$cluster_scripts/create.sh" --is-there; then
    node_image=$("$cluster_scripts/choose-node-image.sh")
    "$cluster_scripts/requirements.sh" "$node_image"
    "$cluster_scripts/packages.sh" "$node_image"
    "$cluster_scripts/start-docker.sh"
    "$cluster_scripts/client-programs.sh"
    if [[ $node_image == "$pulled_node_image" ]]; then
        "$cluster_scripts/pull-node-image.sh"
    else
        "$cluster_scripts/build-programs.sh"
        "$cluster_scripts/node/build.sh"
    fi
    "$cluster_scripts/create.sh" "$node_image"
fi

cat <<END
The cluster $cluster_name is ready, all in all after $SECONDS s. To use it:
  export KUBECONFIG=$cluster_kubeconfig
  export PATH=$cluster_bin:\$PATH
END
