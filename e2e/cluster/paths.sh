# shellcheck shell=bash
# The cluster's name, versions and files, and functions that check its state. Sourced by the scripts in this folder and
# by all scripts that use the cluster.

source "$(dirname "${BASH_SOURCE[0]}")/../../config/local/paths.sh"
# shellcheck source=../../config/local/step.sh
source "$here/step.sh"

# shellcheck disable=SC2034  # Scripts that source this file use it.
cluster_scripts="$root/e2e/cluster"
# Builds a node image from Debian packages and Go modules, for machines that reach no registry.
offline_scripts="$root/e2e/offline"

# module_version FOLDER MODULE: prints the version that go/FOLDER/go.mod requires.
module_version() { awk -v module="$2" '$1 == module { print $2; exit }' "$offline_scripts/go/$1/go.mod"; }

# The names below are for the scripts that source this file.
# shellcheck disable=SC2034
{
    cluster_name=ragengine
    node_container="$cluster_name-control-plane"
    kind_version=$(module_version kind sigs.k8s.io/kind)
    helm_version=$(module_version helm helm.sh/helm/v3)
    kubernetes_version=$(module_version kubernetes k8s.io/kubernetes)

    # Builds are cached under the hash of their sources, so that versions do not overwrite each other.
    programs_hash=$(
        cd "$offline_scripts" && cat go.sh node-programs.sh go/*/go.* go/*/*.go go/*/*/*.go | sha256sum | cut -c1-12
    )
    node_hash=$(cd "$offline_scripts" && cat node/* | sha256sum | cut -c1-12)
    cluster_cache="$RAGENGINE_CACHE/kubernetes-$kubernetes_version-$programs_hash"
    # kind, helm and kubectl.
    cluster_bin="$cluster_cache/bin"
    # Go, if the one in PATH is missing or too old.
    go_toolchain="$RAGENGINE_CACHE/tools/go-$(sha256sum "$offline_scripts/go-toolchain.txt" | cut -c1-12)"
    # The programs of the node image.
    node_programs="$cluster_cache/node-programs"

    # With a registry: the default image of this version of kind, from its pkg/apis/config/defaults/image.go.
    pulled_node_image=kindest/node:v1.34.0@sha256:7416a61b42b1662ca6ca89f02028ac133a309a2a30ba309614e8ec94d976dc5a
    # Without a registry: the image that node/build.sh builds.
    built_node_repository=ragengine-cluster-node
    built_node_image="$built_node_repository:$kubernetes_version-$programs_hash-$node_hash"

    # The state of the running cluster. It does not depend on the version.
    cluster_state="$RAGENGINE_CACHE/kubernetes-cluster"
    cluster_kubeconfig="$cluster_state/kubeconfig"
    # Marks the cluster as ours: a cluster without this file is never deleted. The file is created before the cluster
    # and deleted after it. It is empty until the cluster is complete.
    cluster_mark="$cluster_state/made-by-cluster-up"

    # The definition of Karpenter's NodeClaims, and the Go module that it is in, relative to go/. There, each change of it
    # would build the programs of a cluster again.
    karpenter_module=../../cluster/karpenter
    karpenter_definition="$RAGENGINE_CACHE/karpenter-$(module_version "$karpenter_module" sigs.k8s.io/karpenter)"
    karpenter_definition+=/karpenter.sh_nodeclaims.yaml

    # The release that upgrades are tested from: its commit, its cache folder and its images.
    previous_commit=$(grep --max-count 1 --invert-match '^#' "$root/e2e/previous")
    previous_release="$RAGENGINE_CACHE/previous/$previous_commit"
    previous_tag="previous-${previous_commit:0:12}"
    previous_image="ragengine:$previous_tag"
    previous_operator_image="ragengine-operator:$previous_tag"
}
PATH="$cluster_bin:$go_toolchain/bin:$PATH"

# Without --foreground, Ctrl-C does not reach the program that `timeout` runs.
docker_answers() { timeout --foreground 10 docker info >/dev/null 2>&1; }

docker_has_image() { timeout --foreground 10 docker image inspect "$1" >/dev/null 2>&1; }

# Succeeds if this user is root, has CAP_SYS_ADMIN (bit 21) and CAP_NET_ADMIN (bit 12), and Docker is installed.
docker_can_be_started() {
    local program
    for program in docker dockerd iptables jq capsh; do command -v "$program" >/dev/null || return; done
    ((EUID == 0)) && has_docker_capabilities
}

has_docker_capabilities() { (((16#$(awk '/^CapBnd/ { print $2 }' /proc/self/status) & 0x201000) == 0x201000)); }

# Succeeds if the API server of the cluster of `make cluster-up` is ready.
cluster_answers() {
    [[ -e $cluster_mark && -s $cluster_kubeconfig ]] &&
        kubectl --kubeconfig "$cluster_kubeconfig" --request-timeout=5s get --raw /readyz >/dev/null 2>&1
}

node_exists() { timeout --foreground 10 docker container inspect "$node_container" >/dev/null 2>&1; }

# Prints the image that the cluster's node was created from. Fails if there is no node.
node_image_in_use() {
    timeout --foreground 10 docker container inspect --format '{{.Config.Image}}' "$node_container" 2>/dev/null
}

# Succeeds if the cluster's node has the current version.
node_is_current() {
    local image
    image=$(node_image_in_use) || return
    [[ $image == "$pulled_node_image" || $image == "$built_node_image" ]]
}

# Succeeds if KUBECONFIG names another cluster than that of `make cluster-up`.
kubeconfig_is_foreign() { [[ -n ${KUBECONFIG:-} && $KUBECONFIG != "$cluster_kubeconfig" ]]; }

# After a version change, kind is not installed yet. Then removing the node's container deletes the cluster.
delete_cluster() {
    if command -v kind >/dev/null; then
        timeout --foreground 120 kind delete cluster --name "$cluster_name" --kubeconfig "$cluster_kubeconfig"
    elif node_exists; then
        timeout --foreground 120 docker rm --force --volumes "$node_container"
    fi
}

# Takes the cluster lock: waits until no other cluster-up, cluster-down or test-cluster runs.
#
# Child processes inherit the lock. So the scripts that test-cluster calls hold it already, and the next run waits until
# all processes of an interrupted run have ended. Docker must not inherit it: see start-docker.sh.
one_at_a_time() {
    local lock="$RAGENGINE_CACHE/cluster.lock"
    [[ /proc/self/fd/9 -ef $lock ]] || exec 9>"$lock"
    # Processes that were just killed may hold the lock for a moment.
    if ! flock --timeout 4 9; then
        step "Waiting up to an hour for another cluster-up, cluster-down or test-cluster" flock --timeout 3600 9
    fi
}
