#!/usr/bin/env bash
# Deletes the cluster that up.sh made. Docker, the images and the built programs stay for the next cluster.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/paths.sh"

one_at_a_time

if [[ ! -e $cluster_mark ]]; then
    echo "cluster-up has made no cluster: nothing to delete"
    exit
fi
"$cluster_scripts/start-docker.sh"

delete() {
    delete_cluster
    rm -f "$cluster_mark" "$cluster_kubeconfig"
}
step "Deleting the cluster $cluster_name" delete
