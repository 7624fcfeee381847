#!/usr/bin/env bash
# Names everything that is missing and that up.sh cannot install, all at once, before anything starts. Argument: the node image to use.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/paths.sh"

node_image=$1
problems=()

check_system() {
    [[ $(uname -s) == Linux && $(uname -m) == x86_64 ]] || problems+=("Linux on an x86-64 processor is needed; this is $(uname -sm).")
}

check_commands() {
    local command
    for command in awk curl flock setsid sha256sum timeout unshare; do
        command -v "$command" >/dev/null || problems+=("The command $command is missing.")
    done
}

# Programs that are built or of the right version need no Go.
check_go() {
    local needed=1.24 found
    ! "$cluster_scripts/client-programs.sh" --are-there || ! builds_programs || return 0
    if ! found=$(go env GOVERSION 2>/dev/null | sed 's/^go//') || [[ -z $found ]]; then
        problems+=("No Go: install Go $needed or newer (https://go.dev/dl).")
    elif [[ $(printf '%s\n' "$needed" "$found" | sort -V | head -n1) != "$needed" ]]; then
        problems+=("Go $found is too old: $needed or newer is needed (https://go.dev/dl).")
    fi
}
