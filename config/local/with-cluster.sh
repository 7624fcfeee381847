#!/usr/bin/env bash
# Prepares what the tests on a cluster need and then runs the command that is given: `cargo xtask test` does.
#
# The cluster is that of `make cluster-up`, with images built here. Or KUBECONFIG names one, and RAGENGINE_IMAGE,
# RAGENGINE_OPERATOR_IMAGE and RAGENGINE_E2E_IMAGE name its images; RAGENGINE_PREVIOUS_IMAGE and
# RAGENGINE_PREVIOUS_OPERATOR_IMAGE are for the test of an upgrade. RAGENGINE_E2E_PREVIOUS=1 provides the previous
# release, which that test needs.
#
# usage: with-cluster.sh COMMAND...
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../../e2e/cluster/paths.sh"
cd "$root"

images=(ragengine ragengine-operator ragengine-e2e)

# shellcheck disable=SC2317  # `attempt` calls it.
make_cluster() {
    local image
    stage "Cluster" "$cluster_scripts/up.sh"
    "$cluster_scripts/helm.sh"
    step "Removing the operator of 'make cluster', which would reconcile the tests' engines too" remove_operator
    for image in "${images[@]}"; do stage "Image $image" images/build.sh --profile dev --image "$image"; done
    stage "Loading the images" "$cluster_scripts/load-image.sh" "${images[@]/%/:dev}"
}

# The objects that it made stay, and the servers keep running.
# shellcheck disable=SC2317  # `step` calls it.
remove_operator() {
    helm --kubeconfig "$cluster_kubeconfig" --namespace ragengine-system uninstall ragengine --ignore-not-found --wait
}

# Its tests fail with a reason when the cluster or an image is missing. All other tests run.
provide_cluster() {
    local status
    attempt make_cluster
    ((status == 0)) || return 0
    export KUBECONFIG="$cluster_kubeconfig" RAGENGINE_IMAGE=ragengine:dev
    export RAGENGINE_OPERATOR_IMAGE=ragengine-operator:dev RAGENGINE_E2E_IMAGE=ragengine-e2e:dev
    # The lock keeps other test runs out of this cluster.
    export RAGENGINE_E2E_SWEEP=1
    # images/check.sh runs as tests where the images were built here.
    export RAGENGINE_CHECK_IMAGES=1
}

# The images of the previous release, in the cluster.
# shellcheck disable=SC2317  # `attempt` calls it.
make_previous_release() {
    if kubeconfig_is_foreign; then
        "$cluster_scripts/previous.sh" --chart
    else
        "$cluster_scripts/previous.sh"
        "$cluster_scripts/load-image.sh" "$previous_image" "$previous_operator_image"
    fi
}

# shellcheck disable=SC2317  # `attempt` calls it.
logged_stage() { stage "${@:2}" 2>&1 | tee "$1"; }

# When the previous release cannot be built, the upgrade test fails with the reason. All other tests run.
provide_previous_release() {
    local log status
    log=$(mktemp)
    attempt logged_stage "$log" "The previous release" make_previous_release
    if ((status == 0)); then
        export RAGENGINE_PREVIOUS_CHART="$previous_release/chart"
        kubeconfig_is_foreign || export RAGENGINE_PREVIOUS_IMAGE="$previous_image" \
            RAGENGINE_PREVIOUS_OPERATOR_IMAGE="$previous_operator_image"
    else
        RAGENGINE_PREVIOUS_FAILURE=$(tail --lines 40 "$log")
        export RAGENGINE_PREVIOUS_FAILURE
    fi
    rm -f "$log"
}

# The definition of NodeClaims, which a test installs. When it cannot be fetched, that test fails with the reason. All
# other tests run.
provide_karpenter() {
    local log status=0
    log=$(mktemp)
    [[ -s $karpenter_definition ]] || attempt logged_stage "$log" "Karpenter" "$cluster_scripts/karpenter.sh"
    if ((status == 0)); then
        export RAGENGINE_KARPENTER_DEFINITION="$karpenter_definition"
    else
        RAGENGINE_KARPENTER_FAILURE=$(tail --lines 40 "$log")
        export RAGENGINE_KARPENTER_FAILURE
    fi
    rm -f "$log"
}

(($# > 0)) || fail "usage: with-cluster.sh COMMAND..."
if kubeconfig_is_foreign; then
    "$cluster_scripts/helm.sh" || echo "helm is missing: the tests that install the operator are skipped"
    has_previous=${RAGENGINE_PREVIOUS_IMAGE:+yes}
else
    # Another checkout's images have the same names, in the same cluster: it waits until these tests are over.
    one_at_a_time
    provide_cluster
    has_previous=${RAGENGINE_IMAGE:+yes}
fi
if [[ ${RAGENGINE_E2E_PREVIOUS:-} == 1 && $has_previous == yes ]]; then provide_previous_release; fi
provide_karpenter
"$@"
