#!/usr/bin/env bash
# What has to be there for the tests on a cluster before anything long begins: names all that is missing, and installs the Debian packages that
# up.sh wants. Nothing else is made yet.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/paths.sh"

check_images_are_named() {
    [[ -n ${RAGENGINE_IMAGE:-} && -n ${RAGENGINE_E2E_IMAGE:-} ]] ||
        fail "KUBECONFIG names a cluster of your own: say which images it is to pull, or unset KUBECONFIG to have a cluster made." \
            "Build them:  images/build.sh --profile dev && images/build.sh --profile dev --image ragengine-e2e" \
            "Push them to a registry that the cluster pulls from, and name them there: RAGENGINE_IMAGE=... RAGENGINE_E2E_IMAGE=..."
}

if kubeconfig_is_foreign; then
    check_images_are_named
    echo "The cluster is the one that KUBECONFIG names: $KUBECONFIG"
    exit
fi
one_at_a_time
if cluster_answers && node_is_current; then
    echo "The cluster $cluster_name: there"
    exit
fi
node_image=$("$cluster_scripts/choose-node-image.sh")
"$cluster_scripts/requirements.sh" "$node_image"
"$cluster_scripts/packages.sh" "$node_image"
