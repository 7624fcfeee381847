#!/usr/bin/env bash
# Fails if the server's address is in use. Runs before the build, which takes minutes.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/paths.sh"
source "$here/step.sh"
source "$here/address.sh"

connects() {
    local host=${client_host#[}
    # shellcheck disable=SC2016
    timeout 2 bash -c 'exec 3<>"/dev/tcp/$1/$2"' connect "${host%]}" "$client_port" 2>/dev/null
}

if connects; then
    fail "$LISTEN is in use by another program: stop it, or choose another port: LISTEN=127.0.0.1:5055 make run"
fi
