#!/usr/bin/env bash
# Reports everything that is missing and that up.sh cannot install, before any step starts. Argument: the node image.
# With --list first: prints lines of `problem TEXT` and `room GIB FOLDER`, which prerequisites.sh adds to its checks.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/paths.sh"
# shellcheck source=../offline/go.sh
source "$offline_scripts/go.sh"
# shellcheck source=../../config/local/room.sh
source "$here/room.sh"

only_list=no
if [[ $1 == --list ]]; then
    only_list=yes
    shift
fi
node_image=$1
problems=()
builds_node=no
if [[ $node_image == "$built_node_image" ]] && ! docker_has_image "$node_image"; then builds_node=yes; fi

check_system() {
    [[ $(uname -s) == Linux && $(uname -m) == x86_64 ]] ||
        problems+=("Linux on an x86-64 processor is required; this is $(uname -sm).")
}

check_commands() {
    local command
    for command in awk flock setsid sha256sum timeout unshare; do
        command -v "$command" >/dev/null || problems+=("The command $command is missing.")
    done
}

needs_go() {
    [[ $builds_node == yes && ! -e $node_programs/complete ]] && return
    [[ -x $cluster_bin/kind ]] && return 1
    ! program_in_path kind "$kind_version" >/dev/null
}

# Go can be installed with Python. With --list, prerequisites.sh checks Python.
check_go() {
    local missing
    missing=$("$offline_scripts/go-toolchain.sh" --missing)
    [[ -z $missing || $only_list == yes ]] ||
        problems+=("Go is missing. It builds kind and, without a registry, the node image. Install $missing.")
}

check_rights() {
    local missing
    missing=$("$cluster_scripts/packages.sh" --missing "$node_image")
    [[ -z $missing ]] || command -v apt-get >/dev/null || problems+=("apt-get is missing. Install these: $missing")
    if [[ $EUID == 0 ]]; then
        docker_answers || has_docker_capabilities ||
            problems+=("Docker cannot be started: root lacks CAP_SYS_ADMIN or CAP_NET_ADMIN. Use a virtual machine.")
        return
    fi
    [[ -z $missing ]] || problems+=("Debian packages are missing. As root: apt-get install $missing")
    docker_answers ||
        problems+=("Docker does not answer: start it and add this user to the group docker, or run this as root.")
    [[ $builds_node == no ]] ||
        problems+=("No registry answers, and only root can build the node image: run this as root.")
}

# room GIB FOLDER
room() {
    if [[ $only_list == yes ]]; then echo "room $1 $2"; else needs_room "$1" "$2"; fi
}

# A first build uses 7 GiB of the cache and 2 GiB of Docker's folder, and half as much again temporarily. Go links in
# the folder for temporary files.
check_room() {
    local docker_root
    docker_root=$(timeout --foreground 10 docker info --format '{{.DockerRootDir}}' 2>/dev/null) ||
        docker_root=/var/lib/docker
    if [[ $builds_node == no ]]; then
        room 1 "$RAGENGINE_CACHE"
    elif [[ -e $node_programs/complete ]]; then
        room 3 "$RAGENGINE_CACHE"
    else
        room 12 "$RAGENGINE_CACHE"
        room 2 "${TMPDIR:-/tmp}"
    fi
    room 4 "${docker_root:-/var/lib/docker}"
}

check_system
check_commands
if needs_go; then check_go; fi
check_rights
check_room

if [[ $only_list == yes ]]; then
    ((${#problems[@]} == 0)) || printf 'problem %s\n' "${problems[@]}"
    exit
fi
mapfile -t lacking < <(lacking_room)
problems+=("${lacking[@]}")
((${#problems[@]} == 0)) || fail "this machine does not meet the requirements:" "${problems[@]}"
