# shellcheck shell=bash
# The cluster's name, its versions, where its things are, and how it is asked. Sourced by the scripts beside it and by those that use the cluster.

source "$(dirname "${BASH_SOURCE[0]}")/../../config/local/paths.sh"
# shellcheck source=../../config/local/step.sh
source "$here/step.sh"

cluster_scripts="$root/e2e/cluster"

# module_version FOLDER MODULE: the version that go/FOLDER/go.mod asks for.
module_version() { awk -v module="$2" '$1 == module { print $2; exit }' "$cluster_scripts/go/$1/go.mod"; }

# The names below are for the scripts that source this file.
# shellcheck disable=SC2034
{
    cluster_name=ragengine
    node_container="$cluster_name-control-plane"
    kind_version=$(module_version kind sigs.k8s.io/kind)
    helm_version=$(module_version helm helm.sh/helm/v3)
    kubernetes_version=$(module_version kubernetes k8s.io/kubernetes)

    # What is built is kept under the hash of what it is built from: a new version goes beside the old one.
    programs_hash=$(cd "$cluster_scripts" && cat go.sh node-programs.sh go/*/go.* go/*/*.go go/*/*/*.go | sha256sum | cut -c1-12)
    node_hash=$(cd "$cluster_scripts" && cat node/* | sha256sum | cut -c1-12)
    cluster_cache="$RAGENGINE_CACHE/kubernetes-$kubernetes_version-$programs_hash"
    # kind, helm and kubectl: for people and for the scripts that use the cluster.
    cluster_bin="$cluster_cache/bin"
    # Go, where PATH had none that is new enough.
    go_toolchain="$RAGENGINE_CACHE/tools/go-$(sha256sum "$cluster_scripts/go-toolchain.txt" | cut -c1-12)"
    # What the node's image is made of.
    node_programs="$cluster_cache/node-programs"

    # With a registry: the image that this version of kind names in its pkg/apis/config/defaults/image.go.
    pulled_node_image=kindest/node:v1.34.0@sha256:7416a61b42b1662ca6ca89f02028ac133a309a2a30ba309614e8ec94d976dc5a
    # Without one: the image that node/build.sh makes.
    built_node_repository=ragengine-cluster-node
    built_node_image="$built_node_repository:$kubernetes_version-$programs_hash-$node_hash"

    # What belongs to the running cluster, whatever its version.
    cluster_state="$RAGENGINE_CACHE/kubernetes-cluster"
    cluster_kubeconfig="$cluster_state/kubeconfig"
    # There from before the cluster is made until it is deleted: a cluster that is not ours is never deleted. Empty until the cluster is complete.
    cluster_mark="$cluster_state/made-by-cluster-up"

    # The release that upgrades are tested from, what is kept of it, and its images.
    previous_commit=$(grep --max-count 1 --invert-match '^#' "$root/e2e/previous")
    previous_release="$RAGENGINE_CACHE/previous/$previous_commit"
    previous_tag="previous-${previous_commit:0:12}"
    previous_image="ragengine:$previous_tag"
    previous_operator_image="ragengine-operator:$previous_tag"
}
PATH="$cluster_bin:$go_toolchain/bin:$PATH"

# Here and elsewhere, --foreground: without it Ctrl-C does not reach the program that `timeout` runs.
docker_answers() { timeout --foreground 10 docker info >/dev/null 2>&1; }

docker_has_image() { timeout --foreground 10 docker image inspect "$1" >/dev/null 2>&1; }

# Root can start Docker here: its programs are there, and so are CAP_SYS_ADMIN (bit 21) and CAP_NET_ADMIN (bit 12).
docker_can_be_started() {
    local program
    for program in docker dockerd iptables jq capsh; do command -v "$program" >/dev/null || return; done
    ((EUID == 0)) && has_docker_capabilities
}

has_docker_capabilities() { (((16#$(awk '/^CapBnd/ { print $2 }' /proc/self/status) & 0x201000) == 0x201000)); }

# The API server of cluster-up's cluster.
cluster_answers() {
    [[ -e $cluster_mark && -s $cluster_kubeconfig ]] &&
        kubectl --kubeconfig "$cluster_kubeconfig" --request-timeout=5s get --raw /readyz >/dev/null 2>&1
}

node_exists() { timeout --foreground 10 docker container inspect "$node_container" >/dev/null 2>&1; }

# Prints the image that the cluster's node was made from; fails when there is no node.
node_image_in_use() { timeout --foreground 10 docker container inspect --format '{{.Config.Image}}' "$node_container" 2>/dev/null; }

# The cluster's node is of this version.
node_is_current() {
    local image
    image=$(node_image_in_use) || return
    [[ $image == "$pulled_node_image" || $image == "$built_node_image" ]]
}

# KUBECONFIG names a cluster that is not cluster-up's.
kubeconfig_is_foreign() { [[ -n ${KUBECONFIG:-} && $KUBECONFIG != "$cluster_kubeconfig" ]]; }

# Without kind, which is of another version when the scripts have changed, the node's container is all that there is.
delete_cluster() {
    if command -v kind >/dev/null; then
        timeout --foreground 120 kind delete cluster --name "$cluster_name" --kubeconfig "$cluster_kubeconfig"
    elif node_exists; then
        timeout --foreground 120 docker rm --force --volumes "$node_container"
    fi
}

# Waits for the end of another cluster-up, cluster-down or test-cluster. The children keep the lock as well: what is left of an interrupted run
# comes to its end before the next one begins, and what test-cluster calls has it already. (But for Docker, which stays: start-docker.sh.)
one_at_a_time() {
    local lock="$RAGENGINE_CACHE/cluster.lock"
    [[ /proc/self/fd/9 -ef $lock ]] || exec 9>"$lock"
    # What was just killed may still hold it for a moment.
    if ! flock --timeout 4 9; then
        step "Another cluster-up, cluster-down or test-cluster is running: waiting up to an hour for it" flock --timeout 3600 9
    fi
}
