#!/usr/bin/env bash
# Builds the programs that a node runs, from Go modules. The first time takes minutes; a new version finds much of it in Go's cache.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../cluster/paths.sh"
# shellcheck source=go.sh
source "$offline_scripts/go.sh"

if [[ -e $node_programs/complete ]]; then
    echo "The node's programs: there"
    exit
fi
mkdir -p "$node_programs"

# built NAME...: all of them are.
built() {
    local name
    for name in "$@"; do [[ -x $node_programs/$name ]] || return 1; done
}

# build_once NAME FOLDER PACKAGE VARIABLE=VALUE...
build_once() {
    built "$1" || step "Building $1" build "$2" "$node_programs/$1" "${@:3}"
}

kubernetes_programs=(kube-apiserver kube-controller-manager kube-scheduler kube-proxy kubelet kubeadm kubectl)

# All at once: they are made of the same packages.
build_kubernetes() {
    local flags="-s -w" major minor name setting
    IFS=. read -r major minor _ <<<"${kubernetes_version#v}"
    for setting in "gitVersion=$kubernetes_version" "gitMajor=$major" "gitMinor=$minor" gitTreeState=clean; do
        flags+=" -X k8s.io/component-base/version.$setting"
    done
    cd "$offline_scripts/go/kubernetes"
    mkdir -p "$node_programs/new"
    go build -ldflags "$flags" -o "$node_programs/new/" "${kubernetes_programs[@]/#/k8s.io/kubernetes/cmd/}"
    for name in "${kubernetes_programs[@]}"; do mv "$node_programs/new/$name" "$node_programs/$name"; done
    rmdir "$node_programs/new"
}

# The process that holds a pod's namespaces, from Kubernetes' own source.
build_pause() {
    local source_folder
    source_folder=$(cd "$offline_scripts/go/kubernetes" && go list -m -f '{{.Dir}}' k8s.io/kubernetes)/build/pause/linux
    gcc -Os -static -s -o "$node_programs/pause.new" "$source_folder/pause.c"
    mv "$node_programs/pause.new" "$node_programs/pause"
}

# What kind puts into a node besides programs.
copy_kind_files() {
    local source_folder
    source_folder=$(cd "$offline_scripts/go/kind" && go list -m -f '{{.Dir}}' sigs.k8s.io/kind)
    rm -rf "$node_programs/kind-files"
    cp -r --no-preserve=mode "$source_folder/images/base/files" "$node_programs/kind-files"
    cp --no-preserve=mode "$source_folder/pkg/build/nodeimage/const_storage.go" "$node_programs/kind-files/"
}

for folder in kubernetes coredns kind; do
    step "Downloading the Go modules of $folder" download_modules "$folder"
done
built "${kubernetes_programs[@]}" ||
    step "Building Kubernetes $kubernetes_version (7 to 20 minutes from nothing)" build_kubernetes
build_once etcd kubernetes go.etcd.io/etcd/server/v3
build_once local-path-provisioner kubernetes github.com/rancher/local-path-provisioner "main.VERSION=$(module_version kubernetes github.com/rancher/local-path-provisioner)"
build_once crictl kubernetes ./crictl
build_once coredns coredns .
built pause || step "Building pause" build_pause
step "Copying kind's files" copy_kind_files
touch "$node_programs/complete"
