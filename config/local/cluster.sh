#!/usr/bin/env bash
# Installs the operator into the cluster of `make cluster-up`, with images built here, or into the one that KUBECONFIG names, with the images that
# RAGENGINE_IMAGE and RAGENGINE_OPERATOR_IMAGE name; makes the engine of config/samples/ragengine.yaml and an Index over this project's documentation, asks a
# question, and prints the answer with its sources. A second time it brings all of that up to date.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../../e2e/cluster/paths.sh"
cd "$root"

release=ragengine
operator_namespace="ragengine-system"
engine_namespace="ragengine-demo"
engine=docs
question='Which model answers when no language model is configured?'
ready_timeout_s=180

# Whatever proxy the machine uses, it does not lead back to the machine itself.
export NO_PROXY="127.0.0.1,localhost,::1${NO_PROXY:+,$NO_PROXY}"
export no_proxy="$NO_PROXY"

make_cluster() {
    # Until the end: another checkout's images have the same names, in the same cluster.
    one_at_a_time
    stage "Cluster" "$cluster_scripts/up.sh"
    export KUBECONFIG="$cluster_kubeconfig"
    stage "Image of the server" images/build.sh --profile dev
    stage "Image of the operator" images/build.sh --profile dev --image ragengine-operator
    server_image=$(tag_by_content ragengine)
    operator_image=$(tag_by_content ragengine-operator)
    "$cluster_scripts/load-image.sh" "$server_image" "$operator_image"
}

# Another content is another tag: that is how Kubernetes notices.
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

# Of NAME:TAG, where a registry's port may be in NAME.
tag_of() {
    [[ ${1##*/} == *:* ]] || fail "the image $1 has no tag: NAME:TAG is wanted"
    echo "${1##*:}"
}

# In a cluster of ours the definition may be there from tests.
install_operator() {
    local take=()
    kubeconfig_is_foreign || take=(--take-ownership)
    helm upgrade --install "$release" charts/ragengine --namespace "$operator_namespace" --create-namespace \
        --set image.repository="${operator_image%:*}",image.tag="$(tag_of "$operator_image")" \
        --set serverImage.repository="${server_image%:*}",serverImage.tag="$(tag_of "$server_image")" \
        --wait --timeout "${ready_timeout_s}s" "${take[@]}" && return
    printf '\nWhat the operator says:\n'
    kubectl --namespace "$operator_namespace" get pods || true
    kubectl --namespace "$operator_namespace" logs deployment/"$release-operator" --tail 20 || true
    fail "the operator was not installed. Look at:" "kubectl --namespace $operator_namespace describe pods" \
        "An installation that was killed is forgotten with: helm --namespace $operator_namespace uninstall $release (what users made stays)"
}

apply_sample() {
    kubectl create namespace "$engine_namespace" --dry-run=client --output yaml | kubectl apply --filename -
    "${kubectl[@]}" apply --filename config/samples/ragengine.yaml
}

# What was Ready may be about to run another image.
wait_until_ready() {
    local ready=(wait --for condition=Ready "ragengine/$engine" --timeout "${ready_timeout_s}s")
    "${kubectl[@]}" "${ready[@]}" &&
        "${kubectl[@]}" wait "deployment/$engine" --for "jsonpath={.spec.template.spec.containers[0].image}=$server_image" --timeout "${ready_timeout_s}s" &&
        "${kubectl[@]}" rollout status "deployment/$engine" --timeout "${ready_timeout_s}s" &&
        "${kubectl[@]}" "${ready[@]}" && return
    echo
    "${kubectl[@]}" get ragengine "$engine" \
        --output jsonpath='{range .status.conditions[*]}{.type} is {.status}, {.reason}: {.message}{"\n"}{end}' || true
    fail "the engine was not ready within $ready_timeout_s s. Look at:" "kubectl --namespace $engine_namespace describe ragengine $engine" \
        "kubectl --namespace $engine_namespace logs deployment/$engine" \
        "kubectl --namespace $operator_namespace logs deployment/$release-operator"
}

# Images of contents that nothing runs any more would fill up the disk.
delete_older_images() {
    local name current image
    for current in "$server_image" "$operator_image"; do
        name=${current%:*}
        for image in $(docker image ls --filter "reference=$name:dev-*" --format '{{.Repository}}:{{.Tag}}'); do
            [[ $image == "$current" ]] || docker image rm "$image"
        done
        for image in $(docker exec "$node_container" ctr --namespace k8s.io images list --quiet); do
            [[ $image != */"$name:dev-"* || $image == */"$current" ]] || docker exec "$node_container" ctr --namespace k8s.io images rm "$image"
        done
    done
}

# Sets server_url. Without the lock, which has to end with this script.
forward_port() {
    local log="$work/port-forward" deadline=$((SECONDS + 30)) port=''
    "${kubectl[@]}" port-forward "service/$engine" :80 9>&- >"$log" 2>&1 &
    forward=$!
    while [[ -z $port ]]; do
        if ((SECONDS > deadline)) || ! kill -0 "$forward" 2>/dev/null; then fail "no way to the Service $engine:" "$(cat "$log")"; fi
        sleep 0.1
        port=$(sed -n 's/^Forwarding from 127\.0\.0\.1:\([0-9]*\) .*/\1/p' "$log")
    done
    server_url="http://127.0.0.1:$port"
}

# Whatever is in the ConfigMap is what the index holds: a second time only what has changed is sent.
apply_documentation() {
    "${kubectl[@]}" create configmap documentation --from-file="$root/README.md" --from-file="$root/docs" --dry-run=client --output yaml |
        "${kubectl[@]}" apply --server-side --filename -
    "${kubectl[@]}" apply --filename config/samples/index-documentation.yaml
}

# It may be Ready from the last time: what is waited for is a synchronisation from now on.
wait_until_indexed() {
    local now
    now=$(date +%s)
    "${kubectl[@]}" annotate index documentation --overwrite "ragengine.dev/sync=$now" &&
        "${kubectl[@]}" wait --for "jsonpath={.status.handled.sync}=$now" index/documentation --timeout "${ready_timeout_s}s" &&
        "${kubectl[@]}" wait --for condition=Ready index/documentation --timeout "${ready_timeout_s}s" && return
    echo
    "${kubectl[@]}" get index documentation \
        --output jsonpath='{range .status.conditions[*]}{.type} is {.status}, {.reason}: {.message}{"\n"}{end}' || true
    fail "the documentation was not indexed within $ready_timeout_s s. Look at:" "kubectl --namespace $engine_namespace describe index documentation" \
        "kubectl --namespace $engine_namespace logs --selector app.kubernetes.io/name=ragengine-sync,app.kubernetes.io/instance=documentation"
}

ask() {
    "$(python_with_venv)" "$here/ask.py" "$server_url" docs "$question"
}

print_what_to_try() {
    local settings=''
    kubeconfig_is_foreign || settings="export KUBECONFIG=$cluster_kubeconfig PATH=$cluster_bin:\$PATH
"
    cat <<TEXT

The engine serves at $("${kubectl[@]}" get ragengine "$engine" --output jsonpath='{.status.endpoint}') in the cluster: any OpenAI client's base URL. From here:

${settings}kubectl --namespace $engine_namespace get ragengines,indexes
kubectl --namespace $engine_namespace port-forward service/$engine 5000:80

curl 127.0.0.1:5000/v1/chat/completions -H 'Content-Type: application/json' -d '{"index_name": "docs", "messages": [{"role": "user", "content": "What happens to the indexes when a RAGEngine is deleted?"}]}'

Your own documents are another Index: config/samples, docs/index-resource.md. More engines: config/samples, docs/operating.md. To remove it: kubectl delete namespace $engine_namespace; helm --namespace $operator_namespace uninstall $release$(
        kubeconfig_is_foreign || echo '; or make cluster-down'
    )
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
kubeconfig_is_foreign || step "Deleting images of before" delete_older_images
step "Applying config/samples/index-documentation.yaml over this project's documentation" apply_documentation
step "Waiting until the documentation is indexed" wait_until_indexed
forward_port
ask
print_what_to_try
