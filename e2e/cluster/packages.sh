#!/usr/bin/env bash
# Installs the Debian packages that are missing: packages.sh NODE_IMAGE. With --missing first: only prints their names.
#
# Without Docker, the packages of Docker are included. If the node image has to be built, its build tools are included.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/paths.sh"

only_print=no
if [[ $1 == --missing ]]; then
    only_print=yes
    shift
fi
node_image=$1

missing=()
# needs COMMAND PACKAGE...
needs() { command -v "$1" >/dev/null || missing+=("${@:2}"); }

needs docker docker.io
if ! docker_answers; then
    needs dockerd docker.io
    needs iptables iptables
    # For runc-bounded.sh.
    needs jq jq
    needs capsh libcap2-bin
fi
if [[ $node_image == "$built_node_image" ]] && ! docker_has_image "$node_image"; then
    needs mmdebstrap mmdebstrap
    needs gcc gcc
    [[ -e /usr/lib/x86_64-linux-gnu/libc.a ]] || missing+=(libc6-dev)
    [[ -e /usr/share/keyrings/debian-archive-keyring.gpg ]] || missing+=(debian-archive-keyring)
fi

if [[ $only_print == yes ]]; then
    echo "${missing[*]}"
    exit
fi
if ((${#missing[@]} == 0)); then
    echo "Debian packages: there"
    exit
fi

apt_get=(env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300 -o Acquire::Retries=3)

# File descriptor 9 is the lock. The package may start Docker, which must not hold the lock.
install() {
    "${apt_get[@]}" update
    "${apt_get[@]}" install --yes --no-install-recommends "${missing[@]}"
}
step "Installing Debian packages: ${missing[*]}" install 9>&-
