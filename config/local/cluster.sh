#!/usr/bin/env bash
# Installs the operator, creates the engine of config/samples/ragengine.yaml and an Index of this project's
# documentation, asks a question, and prints the answer with its sources. Run again, it updates all of these.
#
# The cluster is that of `make cluster-up`, with images built here, or the one that KUBECONFIG names, with the images
# that RAGENGINE_IMAGE and RAGENGINE_OPERATOR_IMAGE name.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../../e2e/cluster/paths.sh"
cd "$root"

release=ragengine
operator_namespace="ragengine-system"
engine_namespace="ragengine-demo"
engine=docs
question='Which model answers when no language model is configured?'
ready_timeout_s=180

# A proxy cannot reach this machine's loopback address.
export NO_PROXY="127.0.0.1,localhost,::1${NO_PROXY:+,$NO_PROXY}"
export no_proxy="$NO_PROXY"

make_cluster() {
    # The lock is held until the end, because other checkouts use the same image names and the same cluster.
    one_at_a_time
    stage "Cluster" "$cluster_scripts/up.sh"
    export KUBECONFIG="$cluster_kubeconfig"
    stage "Image of the server" images/build.sh --profile dev
    stage "Image of the operator" images/build.sh --profile dev --image ragengine-operator
    server_image=$(tag_by_content ragengine)
    operator_image=$(tag_by_content ragengine-operator)
    "$cluster_scripts/load-image.sh" "$server_image" "$operator_image"
}

# Gives each content its own tag, so that Kubernetes notices a new image.
tag_by_content() {
    local tag
    tag="$1:dev-$(cut -c1-12 "$RAGENGINE_CACHE/images/$1-dev/rootfs.tar.sha256")"
    docker tag "$1:dev" "$tag"
    echo "$tag"
}

use_foreign_cluster() {
    "$cluster_scripts/foreign-cluster.sh"
    server_image=$RAGENGINE_IMAGE
    operator_image=$RAGENGINE_OPERATOR_IMAGE
}

# Prints TAG of NAME:TAG. NAME may contain the port of a registry.
tag_of() {
    [[ ${1##*/} == *:* ]] || fail "the image $1 has no tag: expected NAME:TAG"
    echo "${1##*:}"
}

# In our own cluster, tests may have left the definitions, which Helm must take over.
install_operator() {
    local take=()
    kubeconfig_is_foreign || take=(--take-ownership)
    helm upgrade --install "$release" charts/ragengine --namespace "$operator_namespace" --create-namespace \
        --set image.repository="${operator_image%:*}",image.tag="$(tag_of "$operator_image")" \
        --set serverImage.repository="${server_image%:*}",serverImage.tag="$(tag_of "$server_image")" \
        --wait --timeout "${ready_timeout_s}s" "${take[@]}" && return
    printf '\nThe operator pods and their log:\n'
    kubectl --namespace "$operator_namespace" get pods || true
    kubectl --namespace "$operator_namespace" logs deployment/"$release-operator" --tail 20 || true
    fail "the operator was not installed. Look at:" "kubectl --namespace $operator_namespace describe pods" \
        "If an installation was interrupted: helm --namespace $operator_namespace uninstall $release (keeps engines)"
}

apply_sample() {
    kubectl create namespace "$engine_namespace" --dry-run=client --output yaml | kubectl apply --filename -
    "${kubectl[@]}" apply --filename config/samples/ragengine.yaml
}

# An engine that was Ready may still run the previous image, so the image is checked too.
wait_until_ready() {
    local ready=(wait --for condition=Ready "ragengine/$engine" --timeout "${ready_timeout_s}s")
    local has_image="jsonpath={.spec.template.spec.containers[0].image}=$server_image"
    "${kubectl[@]}" "${ready[@]}" &&
        "${kubectl[@]}" wait "deployment/$engine" --for "$has_image" --timeout "${ready_timeout_s}s" &&
        "${kubectl[@]}" rollout status "deployment/$engine" --timeout "${ready_timeout_s}s" &&
        "${kubectl[@]}" "${ready[@]}" && return
    echo
    "${kubectl[@]}" get ragengine "$engine" \
        --output jsonpath='{range .status.conditions[*]}{.type} is {.status}, {.reason}: {.message}{"\n"}{end}' || true
    fail "the engine was not ready within $ready_timeout_s s. Look at:" \
        "kubectl --namespace $engine_namespace describe ragengine $engine" \
        "kubectl --namespace $engine_namespace logs deployment/$engine" \
        "kubectl --namespace $operator_namespace logs deployment/$release-operator"
}

# Unused images would fill the disk.
delete_older_images() {
    local name current image in_node=(docker exec "$node_container" ctr --namespace k8s.io images)
    for current in "$server_image" "$operator_image"; do
        name=${current%:*}
        for image in $(docker image ls --filter "reference=$name:dev-*" --format '{{.Repository}}:{{.Tag}}'); do
            [[ $image == "$current" ]] || docker image rm "$image"
        done
        for image in $("${in_node[@]}" list --quiet); do
            [[ $image != */"$name:dev-"* || $image == */"$current" ]] || "${in_node[@]}" rm "$image"
        done
    done
}

# Sets server_url. kubectl does not inherit the lock (file descriptor 9), which must end with this script.
forward_port() {
    local log="$work/port-forward" deadline=$((SECONDS + 30)) port=''
    "${kubectl[@]}" port-forward "service/$engine" :80 9>&- >"$log" 2>&1 &
    forward=$!
    while [[ -z $port ]]; do
        if ((SECONDS > deadline)) || ! kill -0 "$forward" 2>/dev/null; then
            fail "kubectl port-forward to the Service $engine failed:" "$(cat "$log")"
        fi
        sleep 0.1
        port=$(sed -n 's/^Forwarding from 127\.0\.0\.1:\([0-9]*\) .*/\1/p' "$log")
    done
    server_url="http://127.0.0.1:$port"
}

# The index has the content of the ConfigMap. Run again, only changed documents are sent.
apply_documentation() {
    "${kubectl[@]}" create configmap documentation --from-file="$root/README.md" --from-file="$root/docs" \
        --dry-run=client --output yaml |
        "${kubectl[@]}" apply --server-side --filename -
    "${kubectl[@]}" apply --filename config/samples/index-documentation.yaml
}

# The Index may be Ready since an earlier run, so this requests a new synchronisation and waits for it.
wait_until_indexed() {
    local now within=(--timeout "${ready_timeout_s}s")
    now=$(date +%s)
    "${kubectl[@]}" annotate index documentation --overwrite "ragengine.dev/sync=$now" &&
        "${kubectl[@]}" wait --for "jsonpath={.status.handled.sync}=$now" index/documentation "${within[@]}" &&
        "${kubectl[@]}" wait --for condition=Ready index/documentation "${within[@]}" && return
    echo
    "${kubectl[@]}" get index documentation \
        --output jsonpath='{range .status.conditions[*]}{.type} is {.status}, {.reason}: {.message}{"\n"}{end}' || true
    local selector=app.kubernetes.io/name=ragengine-sync,app.kubernetes.io/instance=documentation
    fail "the documentation was not indexed within $ready_timeout_s s. Look at:" \
        "kubectl --namespace $engine_namespace describe index documentation" \
        "kubectl --namespace $engine_namespace logs --selector $selector"
}

ask() {
    "$(python_with_venv)" "$here/ask.py" "$server_url" docs "$question"
}

print_what_to_try() {
    local settings='' endpoint body
    kubeconfig_is_foreign || settings="export KUBECONFIG=$cluster_kubeconfig PATH=$cluster_bin:\$PATH
"
    endpoint=$("${kubectl[@]}" get ragengine "$engine" --output jsonpath='{.status.endpoint}')
    body='{"index_name": "docs", "messages": [{"role": "user", "content": "What happens to the indexes when a RAGEngine'
    body+=' is deleted?"}]}'
    cat <<TEXT

The base URL for OpenAI clients in the cluster: $endpoint. From here:

${settings}kubectl --namespace $engine_namespace get ragengines,indexes
kubectl --namespace $engine_namespace port-forward service/$engine 5000:80

curl 127.0.0.1:5000/v1/chat/completions -H 'Content-Type: application/json' -d '$body'

To index your own documents, create another Index: config/samples, docs/index-resource.md.
To configure engines: config/samples, docs/operating.md.
To remove everything:$(kubeconfig_is_foreign || echo ' make cluster-down, or')
kubectl delete namespace $engine_namespace
helm --namespace $operator_namespace uninstall $release
TEXT
}

# shellcheck disable=SC2317  # The trap calls it.
clean_up() {
    trap '' INT TERM HUP
    [[ -z $forward ]] || kill "$forward" 2>/dev/null || true
    rm -rf "$work"
}

work=$(mktemp -d)
forward=''
trap clean_up EXIT
trap 'exit 130' INT TERM HUP
kubectl=(kubectl --namespace "$engine_namespace")

if kubeconfig_is_foreign; then use_foreign_cluster; else make_cluster; fi
step "Installing the operator with Helm" install_operator
step "Applying config/samples/ragengine.yaml in the namespace $engine_namespace" apply_sample
step "Waiting until the engine is Ready" wait_until_ready
kubeconfig_is_foreign || step "Deleting unused images" delete_older_images
step "Applying config/samples/index-documentation.yaml with this project's documentation" apply_documentation
step "Waiting until the documentation is indexed" wait_until_indexed
forward_port
ask
print_what_to_try
