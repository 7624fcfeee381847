#!/usr/bin/env bash
# Starts a Kubernetes cluster on this machine with kind. A running cluster of the current version is left unchanged.
#
# The node image is pulled if a registry answers. Otherwise it is built from Debian packages and Go modules. The API
# server listens on a free port of 127.0.0.1, which kind chooses.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/paths.sh"
cd "$root"

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
    "$offline_scripts/node-image.sh" "$node_image"
    "$cluster_scripts/client-programs.sh" "$node_image"
    "$cluster_scripts/start-cluster.sh" "$node_image"
fi

cat <<END
The cluster is ready after $SECONDS s. To use it:
  export KUBECONFIG=$cluster_kubeconfig PATH=$cluster_bin:\$PATH
END
