#!/usr/bin/env bash
# Says whether the cluster that KUBECONFIG names answers; fails when it does not.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/paths.sh"

command -v kubectl >/dev/null ||
    fail "KUBECONFIG is set, and there is no kubectl to ask its cluster with: install kubectl, or unset KUBECONFIG to have a cluster made."
kubectl --request-timeout=5s get --raw /readyz >/dev/null 2>&1 ||
    fail "the cluster that KUBECONFIG names does not answer: start it, or unset KUBECONFIG to have a cluster made." "KUBECONFIG=$KUBECONFIG"
echo "The cluster that KUBECONFIG names answers: it is used, nothing is made (KUBECONFIG=$KUBECONFIG)"
