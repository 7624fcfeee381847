#!/usr/bin/env bash
# Runs the operator's benchmark on the cluster of `make cluster-up`, or on the one that KUBECONFIG names. That cluster
# must be able to pull the server image RAGENGINE_IMAGE. Arguments are passed to ragengine-operator-bench.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../../e2e/cluster/paths.sh"
cd "$root"

make_cluster() {
    one_at_a_time
    stage "Cluster" "$cluster_scripts/up.sh"
    stage "Image of the server" images/build.sh --profile dev
    export KUBECONFIG="$cluster_kubeconfig" RAGENGINE_IMAGE=ragengine:dev
    stage "Loading the image" "$cluster_scripts/load-image.sh" "$RAGENGINE_IMAGE"
}

stage "Building the operator" cargo build --locked --workspace --bins --config "$here/bench.toml"
if ! kubeconfig_is_foreign; then
    make_cluster
fi
[[ -n ${RAGENGINE_IMAGE:-} ]] ||
    fail "RAGENGINE_IMAGE is not set: it must name the server's image in a registry that the cluster pulls from"
exec "$target_dir/debug/ragengine-operator-bench" --operator "$target_dir/debug/ragengine-operator" \
    --server-image "$RAGENGINE_IMAGE" "$@"
