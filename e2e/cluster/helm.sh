#!/usr/bin/env bash
# Puts helm into the folder of the client programs: a copy of the one in PATH if that is 3.17 or newer, else a build.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/paths.sh"
# shellcheck source=../offline/go.sh
source "$offline_scripts/go.sh"

# 3.17 is the first with --take-ownership.
wanted='v3.@(1[7-9]|[2-9][0-9]).*'
if [[ -x $cluster_bin/helm ]]; then
    echo "helm: there"
    exit
fi

copy() {
    mkdir -p "$cluster_bin"
    install -m 755 "$1" "$cluster_bin/helm.new"
    mv "$cluster_bin/helm.new" "$cluster_bin/helm"
}

# Without a cluster, helm renders charts for the Kubernetes version that is compiled in.
build_helm() {
    local major minor package settings=("helm.sh/helm/v3/internal/version.version=$helm_version")
    IFS=. read -r major minor _ <<<"${kubernetes_version#v}"
    for package in chartutil lint/rules; do
        settings+=("helm.sh/helm/v3/pkg/$package.k8sVersionMajor=$major")
        settings+=("helm.sh/helm/v3/pkg/$package.k8sVersionMinor=$minor")
    done
    download_modules helm
    build helm "$cluster_bin/helm" helm.sh/helm/v3/cmd/helm "${settings[@]}"
    delete_unpacked_modules
}

if path=$(program_in_path helm "$wanted"); then
    step "Copying helm from $path" copy "$path"
else
    # All builds share the folder of unpacked modules.
    one_at_a_time
    "$offline_scripts/go-toolchain.sh"
    [[ -x $cluster_bin/helm ]] || step "Building helm $helm_version" build_helm
fi
