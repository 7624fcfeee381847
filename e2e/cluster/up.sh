#!/usr/bin/env bash
# A Kubernetes cluster on this machine, made by kind. Where a registry answers, its node image is pulled; elsewhere it is built from Debian
# packages and Go modules. What is there is left as it is. kind takes a free port for the API server, on 127.0.0.1: none has to be free.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/paths.sh"
cd "$root"

# The cluster that KUBECONFIG names is used as it is; none is made beside it.
if kubeconfig_is_foreign; then
    "$cluster_scripts/foreign-cluster.sh"
    exit
fi

one_at_a_time

if [[ -s $cluster_mark ]] && cluster_answers && node_is_current; then
    echo "The cluster $cluster_name: there"
else
    node_image=$("$cluster_scripts/choose-node-image.sh")
    "$cluster_scripts/requirements.sh" "$node_image"
    "$cluster_scripts/packages.sh" "$node_image"
    "$cluster_scripts/start-docker.sh"
    "$cluster_scripts/node-image.sh" "$node_image"
    "$cluster_scripts/client-programs.sh" "$node_image"
    "$cluster_scripts/start-cluster.sh" "$node_image"
fi

cat <<END
The cluster is ready, all in all after $SECONDS s. To use it:
  export KUBECONFIG=$cluster_kubeconfig PATH=$cluster_bin:\$PATH
END
