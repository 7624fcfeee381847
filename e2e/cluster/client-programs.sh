#!/usr/bin/env bash
# Puts kind, helm and kubectl into a folder in the cache: client-programs.sh NODE_IMAGE. kind is copied from PATH when it has the right version there,
# else built; so is helm, of which any 3 will do; kubectl is the node's. Where the node image is pulled, helm is not built: this machine may have no Go.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/paths.sh"
# shellcheck source=go.sh
source "$cluster_scripts/go.sh"

node_image=$1
if [[ -e $cluster_bin/complete ]]; then
    echo "kind, kubectl: there"
    exit
fi
mkdir -p "$cluster_bin"

copy() {
    install -m 755 "$1" "$2.new"
    mv "$2.new" "$2"
}

build_kind() {
    download_modules kind
    build kind "$cluster_bin/kind" sigs.k8s.io/kind
}

# helm takes the version of Kubernetes that a chart is rendered for from here when it asks no cluster.
build_helm() {
    local major minor package settings=("helm.sh/helm/v3/internal/version.version=$helm_version")
    IFS=. read -r major minor _ <<<"${kubernetes_version#v}"
    for package in chartutil lint/rules; do
        settings+=("helm.sh/helm/v3/pkg/$package.k8sVersionMajor=$major" "helm.sh/helm/v3/pkg/$package.k8sVersionMinor=$minor")
    done
    download_modules helm
    build helm "$cluster_bin/helm" helm.sh/helm/v3/cmd/helm "${settings[@]}"
}

copy_kubectl() {
    local container
    container=$(docker create "$node_image")
    docker cp "$container:/usr/bin/kubectl" "$cluster_bin/kubectl.new"
    docker rm "$container"
    mv "$cluster_bin/kubectl.new" "$cluster_bin/kubectl"
}

# provide NAME VERSION [PATTERN]: the version that is built, and those that will do.
provide() {
    local path
    if [[ -x $cluster_bin/$1 ]]; then return; fi
    if path=$(program_in_path "$1" "${3:-$2}"); then
        step "Copying $1 from $path" copy "$path" "$cluster_bin/$1"
    else
        step "Building $1 $2" "build_$1"
    fi
}

# Only the newest are kept: with the node's programs they have 800 MB.
delete_older() { find "$RAGENGINE_CACHE" -mindepth 1 -maxdepth 1 -type d -name 'kubernetes-v*' ! -path "$cluster_cache" -exec rm -rf {} +; }

provide kind "$kind_version"
if program_in_path helm 'v3.*' >/dev/null || { [[ $node_image == "$built_node_image" ]] && command -v go >/dev/null; }; then
    provide helm "$helm_version" 'v3.*'
fi
if [[ ! -x $cluster_bin/kubectl ]]; then step "Copying kubectl from the node image" copy_kubectl; fi
# This script is the last that builds.
if [[ -d $GOMODCACHE ]]; then step "Deleting the unpacked Go modules" delete_unpacked_modules; fi
touch "$cluster_bin/complete"
delete_older
