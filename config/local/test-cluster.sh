#!/usr/bin/env bash
# Runs the tests on a cluster: on that of `make cluster-up`, with images built and checked here, or on the one that KUBECONFIG names, with the images
# that RAGENGINE_IMAGE, RAGENGINE_OPERATOR_IMAGE and RAGENGINE_E2E_IMAGE name, and, for the test of an upgrade, RAGENGINE_PREVIOUS_IMAGE and
# RAGENGINE_PREVIOUS_OPERATOR_IMAGE. Arguments go to the test program: a part of the tests' names, or --list.
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

# cargo_test ARGUMENT...: arguments of the test program.
cargo_test() { cargo test --workspace --features ragengine-e2e/cluster --test cluster -- "$@"; }

# Whether the test that needs the previous release is among those that are asked for.
previous_release_is_wanted() {
    [[ " $* " != *" --list "* ]] || return 1
    cargo_test --list "$@" | grep previous_release >/dev/null
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

# When the previous release cannot be built, the upgrade test fails with the reason. All other tests run.
provide_previous_release() {
    local log status
    log=$(mktemp)
    attempt logged_stage "$log" "The previous release" make_previous_release
    if ((status == 0)); then
        export RAGENGINE_PREVIOUS_CHART="$previous_release/chart"
        kubeconfig_is_foreign || export RAGENGINE_PREVIOUS_IMAGE="$previous_image" RAGENGINE_PREVIOUS_OPERATOR_IMAGE="$previous_operator_image"
    else
        RAGENGINE_PREVIOUS_FAILURE=$(tail --lines 40 "$log")
        export RAGENGINE_PREVIOUS_FAILURE
    fi
    rm -f "$log"
}

# shellcheck disable=SC2317  # `attempt` calls it.
logged_stage() { stage "${@:2}" 2>&1 | tee "$1"; }

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
# On a cluster of the user's own, only with images that it can pull.
if { ! kubeconfig_is_foreign || [[ -n ${RAGENGINE_PREVIOUS_IMAGE:-} ]]; } && previous_release_is_wanted "$@"; then
    provide_previous_release
fi
cargo_test --test-threads "$test_threads" "$@" || status=$?
exit "$status"
