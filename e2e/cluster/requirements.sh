#!/usr/bin/env bash
# Names everything that is missing and that up.sh cannot install, all at once, before anything starts. Argument: the node image to use.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/paths.sh"
# shellcheck source=go.sh
source "$cluster_scripts/go.sh"

node_image=$1
problems=()
builds_node=no
if [[ $node_image == "$built_node_image" ]] && ! docker_has_image "$node_image"; then builds_node=yes; fi

check_system() {
    [[ $(uname -s) == Linux && $(uname -m) == x86_64 ]] || problems+=("Linux on an x86-64 processor is needed; this is $(uname -sm).")
}

check_commands() {
    local command
    for command in awk curl flock setsid sha256sum timeout unshare; do
        command -v "$command" >/dev/null || problems+=("The command $command is missing.")
    done
}

needs_go() {
    [[ $builds_node == yes && ! -e $node_programs/complete ]] && return
    [[ -x $cluster_bin/kind && -x $cluster_bin/helm ]] && return 1
    ! { program_in_path kind "$kind_version" && program_in_path helm "$helm_version"; } >/dev/null
}

check_go() {
    local needed found
    needed=$(sed -n 's/^go \([0-9]*\.[0-9]*\).*/\1/p' "$cluster_scripts/go/kubernetes/go.mod")
    found=$(go env GOVERSION 2>/dev/null || true)
    found=${found#go}
    if [[ -z $found ]]; then
        problems+=("No Go: install Go $needed or newer (https://go.dev/dl).")
    elif [[ $(printf '%s\n' "$needed" "$found" | sort -V | head -n1) != "$needed" ]]; then
        problems+=("Go $found is too old: $needed or newer is needed (https://go.dev/dl).")
    fi
}

check_rights() {
    local missing
    missing=$("$cluster_scripts/packages.sh" --missing "$node_image")
    [[ -z $missing ]] || command -v apt-get >/dev/null || problems+=("This is not a Debian system; install: $missing")
    if [[ $EUID == 0 ]]; then
        # Docker cannot be started without CAP_SYS_ADMIN (bit 21) and CAP_NET_ADMIN (bit 12).
        docker_answers || (((16#$(awk '/^CapBnd/ { print $2 }' /proc/self/status) & 0x201000) == 0x201000)) ||
            problems+=("Docker does not answer and cannot be started: root lacks CAP_SYS_ADMIN or CAP_NET_ADMIN here. Use a machine, or a privileged container.")
        return
    fi
    [[ -z $missing ]] || problems+=("Debian packages are missing, and this is not root: apt-get install $missing")
    docker_answers || problems+=("Docker does not answer: start it and let this user use it (the group docker), or do this as root.")
    [[ $builds_node == no ]] || problems+=("No registry answers, and only root can build the node image: do this as root.")
}

# check_disk FOLDER GIB: of the file system that FOLDER is on, or will be.
check_disk() {
    local folder=$1 free_kib
    while [[ ! -d $folder ]]; do folder=$(dirname "$folder"); done
    free_kib=$(df -Pk "$folder" | awk 'NR == 2 { print $4 }')
    ((free_kib >= $2 * 1024 * 1024)) || problems+=("$1 has $((free_kib / 1024 / 1024)) GiB free; $2 GiB are needed: make room.")
}

# Built from nothing, the cache has 7 GiB and Docker 2; half as much again is there for a while.
check_room() {
    local docker_root
    docker_root=$(timeout 10 docker info --format '{{.DockerRootDir}}' 2>/dev/null) || docker_root=/var/lib/docker
    if [[ $builds_node == no ]]; then
        check_disk "$RAGENGINE_CACHE" 1
    elif [[ -e $node_programs/complete ]]; then
        check_disk "$RAGENGINE_CACHE" 3
    else
        check_disk "$RAGENGINE_CACHE" 12
    fi
    check_disk "${docker_root:-/var/lib/docker}" 4
}

check_system
check_commands
if needs_go; then check_go; fi
check_rights
check_room

((${#problems[@]} == 0)) || fail "this machine lacks what cannot be installed from here:" "${problems[@]}"
