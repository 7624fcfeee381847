#!/usr/bin/env bash
# Runs the tests on a cluster: on that of `make cluster-up`, with images built and checked here, or on the one that KUBECONFIG names, with the images
# that RAGENGINE_IMAGE, RAGENGINE_OPERATOR_IMAGE and RAGENGINE_E2E_IMAGE name. Arguments go to the test program: a part of the tests' names, or --list.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../../e2e/cluster/paths.sh"
cd "$root"

# Tests that run at the same time: most of the time they wait. The tests themselves limit how many servers start at once.
test_threads=4
status=0

make_cluster() {
    # Until the end: another checkout's images have the same names, in the same cluster.
    one_at_a_time
    stage "Cluster" "$cluster_scripts/up.sh"
    "$cluster_scripts/helm.sh"
    step "Removing the operator of 'make cluster', which would look after the tests' engines too" remove_operator
    stage "Image of the server" images/build.sh --profile dev
    stage "Image of the operator" images/build.sh --profile dev --image ragengine-operator
    stage "Image of the tests" images/build.sh --profile dev --image ragengine-e2e
    export KUBECONFIG="$cluster_kubeconfig" RAGENGINE_IMAGE=ragengine:dev RAGENGINE_OPERATOR_IMAGE=ragengine-operator:dev RAGENGINE_E2E_IMAGE=ragengine-e2e:dev
    # Nobody else tests here, because of the lock.
    export RAGENGINE_E2E_SWEEP=1
    stage "Loading the images" "$cluster_scripts/load-image.sh" "$RAGENGINE_IMAGE" "$RAGENGINE_OPERATOR_IMAGE" "$RAGENGINE_E2E_IMAGE"
}

# What was made with it stays, and serves on.
# shellcheck disable=SC2317  # `step` calls it.
remove_operator() {
    helm --kubeconfig "$cluster_kubeconfig" --namespace ragengine-system uninstall ragengine --ignore-not-found --wait
}

# What a cluster cannot show.
check_images() {
    local image image_status=0
    for image in ragengine ragengine-operator; do images/check.sh "$image" dev || image_status=$?; done
    return "$image_status"
}

if ! kubeconfig_is_foreign; then
    make_cluster
    # Not when some of the tests are asked for by name.
    (($# > 0)) || check_images || status=$?
else
    "$cluster_scripts/helm.sh" || echo "helm: there is none: the tests that install the operator are skipped"
fi
cargo test --workspace --features ragengine-e2e/cluster --test cluster -- --test-threads "$test_threads" "$@" || status=$?
exit "$status"
