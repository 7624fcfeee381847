#!/usr/bin/env bash
# Creates the cluster, or restarts the existing one: start-cluster.sh NODE_IMAGE. A cluster of another version, or one
# that does not answer within 30 seconds of its restart, is replaced.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/paths.sh"

node_image=$1
# The default of kind for the addresses of Services.
service_addresses=10.96.0.0/16
mkdir -p "$cluster_state"

if node_exists && [[ ! -e $cluster_mark ]]; then
    fail "a kind cluster named $cluster_name exists that cluster-up did not create" \
        "To delete it: kind delete cluster --name $cluster_name"
fi

# Succeeds also if the node does not start or answer. The caller then creates a new cluster.
bring_back() {
    local deadline=$((SECONDS + 30))
    timeout --foreground 30 docker start "$node_container" || return 0
    timeout --foreground 30 kind export kubeconfig --name "$cluster_name" --kubeconfig "$cluster_kubeconfig" || return 0
    while ((SECONDS < deadline)); do
        if cluster_answers; then
            # The storage provisioner failed while the API server was down. A new pod starts without a back-off delay.
            kubectl --kubeconfig "$cluster_kubeconfig" --namespace local-path-storage delete pods --all --wait=false
            return
        fi
        sleep 0.5
    done
}

create() {
    : >"$cluster_mark"
    delete_cluster
    timeout --foreground 600 kind create cluster --name "$cluster_name" --image "$node_image" \
        --kubeconfig "$cluster_kubeconfig" --wait 3m
}

# containers_run_since TIME NAMESPACE: all containers are ready and were started after TIME. After a restart, the API
# server still reports containers from before it.
containers_run_since() {
    local line='{.ready} {.state.running.startedAt}{"\n"}'
    "${kubectl[@]}" --namespace "$2" get pods \
        --output jsonpath="{range .items[*].status.containerStatuses[*]}$line{end}" |
        awk -v since="$1" '$1 != "true" || substr($2, 1, 19) < since { missing = 1 } END { exit missing || NR == 0 }'
}

wait_for_pods() {
    local kubectl=(kubectl --kubeconfig "$cluster_kubeconfig" --request-timeout 10s) since deadline=$((SECONDS + 180))
    local rollout=("${kubectl[@]}" --request-timeout 0 rollout status --timeout 180s)
    since=$(docker container inspect --format '{{.State.StartedAt}}' "$node_container" | cut -c1-19)
    "${rollout[@]}" --namespace kube-system deployment/coredns
    "${rollout[@]}" --namespace local-path-storage deployment/local-path-provisioner
    until containers_run_since "$since" kube-system && containers_run_since "$since" local-path-storage; do
        if ((SECONDS > deadline)); then
            "${kubectl[@]}" get pods --all-namespaces
            return 1
        fi
        sleep 0.5
    done
}

# kube-proxy sets up a new Service a moment after its creation. Until then a connection to it would leave the node, and
# whatever is outside could answer it. Now it is refused, and clients try again. Connections to Services that are set up
# go to the addresses of pods and do not match.
refuse_missing_services() {
    local rule=(FORWARD --destination "$service_addresses" --jump REJECT)
    docker exec "$node_container" iptables --check "${rule[@]}" 2>/dev/null ||
        docker exec "$node_container" iptables --insert "${rule[@]}"
}

if node_is_current; then
    : >"$cluster_mark"
    step "Restarting the cluster" bring_back
fi
if ! node_is_current || ! cluster_answers; then
    step "Creating the cluster $cluster_name from $node_image" create
fi
refuse_missing_services
step "Waiting for DNS and storage" wait_for_pods
echo complete >"$cluster_mark"

# Only the newest node image is kept: each has a gigabyte.
docker image ls --filter "reference=$built_node_repository" --format '{{.Repository}}:{{.Tag}}' |
    grep -vxF "$node_image" |
    xargs --no-run-if-empty docker image rm >/dev/null || true
