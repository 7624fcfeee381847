#!/usr/bin/env bash
# Makes the cluster from this node image, or brings back the one that is there: start-cluster.sh NODE_IMAGE. One that does not come back within
# half a minute, or is of another version, is made anew.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/paths.sh"

node_image=$1
mkdir -p "$cluster_state"

if node_exists && [[ ! -e $cluster_mark ]]; then
    fail "there is a kind cluster $cluster_name that cluster-up did not make: it is left alone." "To delete it: kind delete cluster --name $cluster_name"
fi

# A node that does not start or answer is no error here: the cluster is made anew then.
bring_back() {
    local deadline=$((SECONDS + 30))
    timeout --foreground 30 docker start "$node_container" || return 0
    timeout --foreground 30 kind export kubeconfig --name "$cluster_name" --kubeconfig "$cluster_kubeconfig" || return 0
    while ((SECONDS < deadline)); do
        if cluster_answers; then
            # It failed while the API server was away, and a new one is started at once.
            kubectl --kubeconfig "$cluster_kubeconfig" --namespace local-path-storage delete pods --all --wait=false
            return
        fi
        sleep 0.5
    done
}

create() {
    : >"$cluster_mark"
    delete_cluster
    timeout --foreground 600 kind create cluster --name "$cluster_name" --image "$node_image" --kubeconfig "$cluster_kubeconfig" --wait 3m
}

# containers_run_since TIME NAMESPACE: all of them are ready, and in the node as it is now: after a restart the API server remembers those of before.
containers_run_since() {
    "${kubectl[@]}" --namespace "$2" get pods \
        --output jsonpath='{range .items[*].status.containerStatuses[*]}{.ready} {.state.running.startedAt}{"\n"}{end}' |
        awk -v since="$1" '$1 != "true" || substr($2, 1, 19) < since { missing = 1 } END { exit missing || NR == 0 }'
}

wait_for_pods() {
    local kubectl=(kubectl --kubeconfig "$cluster_kubeconfig" --request-timeout 10s) since deadline=$((SECONDS + 180))
    since=$(docker container inspect --format '{{.State.StartedAt}}' "$node_container" | cut -c1-19)
    "${kubectl[@]}" --request-timeout 0 --namespace kube-system rollout status deployment/coredns --timeout 180s
    "${kubectl[@]}" --request-timeout 0 --namespace local-path-storage rollout status deployment/local-path-provisioner --timeout 180s
    until containers_run_since "$since" kube-system && containers_run_since "$since" local-path-storage; do
        if ((SECONDS > deadline)); then
            "${kubectl[@]}" get pods --all-namespaces
            return 1
        fi
        sleep 0.5
    done
}

if node_is_current; then
    : >"$cluster_mark"
    step "Bringing the cluster back" bring_back
fi
if ! node_is_current || ! cluster_answers; then
    step "Creating the cluster $cluster_name from $node_image" create
fi
step "Waiting for DNS and storage" wait_for_pods
echo complete >"$cluster_mark"

# Only the newest node image is kept: each is a gigabyte.
docker image ls --filter "reference=$built_node_repository" --format '{{.Repository}}:{{.Tag}}' | grep -vxF "$node_image" |
    xargs --no-run-if-empty docker image rm >/dev/null || true
