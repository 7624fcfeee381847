#!/usr/bin/env bash
# Fails if the cluster that KUBECONFIG names does not answer.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/paths.sh"

command -v kubectl >/dev/null ||
    fail "KUBECONFIG is set, but kubectl is missing: install kubectl, or unset KUBECONFIG to create a cluster."
kubectl --request-timeout=5s get --raw /readyz >/dev/null 2>&1 ||
    fail "the cluster that KUBECONFIG names does not answer: start it, or unset KUBECONFIG to create a cluster." \
        "KUBECONFIG=$KUBECONFIG"
echo "Using the cluster that KUBECONFIG names (KUBECONFIG=$KUBECONFIG)"
