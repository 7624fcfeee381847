#!/usr/bin/env bash
# Names everything that is missing and that up.sh cannot install, all at once, before anything starts. Argument: the node image to use.
# With --list first: prints it for prerequisites.sh, which has more to say and adds up the room: lines of `problem TEXT` and `room GIB FOLDER`.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/paths.sh"
# shellcheck source=go.sh
source "$cluster_scripts/go.sh"
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
    [[ $(uname -s) == Linux && $(uname -m) == x86_64 ]] || problems+=("Linux on an x86-64 processor is needed; this is $(uname -sm).")
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

# Python brings Go. prerequisites.sh sees to Python itself.
check_go() {
    local missing
    missing=$("$cluster_scripts/go-toolchain.sh" --missing)
    [[ -z $missing || $only_list == yes ]] || problems+=("There is no Go to build kind and, where no registry answers, the cluster's node with: install $missing.")
}

check_rights() {
    local missing
    missing=$("$cluster_scripts/packages.sh" --missing "$node_image")
    [[ -z $missing ]] || command -v apt-get >/dev/null || problems+=("This is not a Debian system; install: $missing")
    if [[ $EUID == 0 ]]; then
        docker_answers || has_docker_capabilities ||
            problems+=("Docker does not answer and cannot be started: root lacks CAP_SYS_ADMIN or CAP_NET_ADMIN here. Use a machine, or a privileged container.")
        return
    fi
    [[ -z $missing ]] || problems+=("A cluster needs Debian packages, and this is not root: apt-get install $missing")
    docker_answers || problems+=("Docker does not answer: start it and let this user use it (the group docker), or do this as root.")
    [[ $builds_node == no ]] || problems+=("No registry answers, and only root can build the node image: do this as root.")
}

# room GIB FOLDER
room() {
    if [[ $only_list == yes ]]; then echo "room $1 $2"; else needs_room "$1" "$2"; fi
}

# Built from nothing, the cache has 7 GiB and Docker 2; half as much again is there for a while. Go links in the folder for temporary files.
check_room() {
    local docker_root
    docker_root=$(timeout --foreground 10 docker info --format '{{.DockerRootDir}}' 2>/dev/null) || docker_root=/var/lib/docker
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
((${#problems[@]} == 0)) || fail "this machine lacks what cannot be installed from here:" "${problems[@]}"
