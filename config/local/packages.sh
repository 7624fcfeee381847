#!/usr/bin/env bash
# Installs the Debian packages that are missing for setup.sh's purposes. With --missing first: only prints their names.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/paths.sh"
source "$here/step.sh"
source "$root/images/tool.sh"

only_print=no
if [[ ${1:-} == --missing ]]; then
    only_print=yes
    shift
fi

# libgomp comes with g++.
wanted=(cmake g++ pkg-config libopenblas-dev make git ca-certificates curl)
[[ " $* " != *" check "* ]] || wanted+=(shellcheck)
# Some tests of the server mount a volume of their own; those of the sources have a proxy.
[[ " $* " != *" test "* ]] || wanted+=(e2fsprogs mount tinyproxy-bin)
[[ " $* " != *" bench "* ]] || wanted+=(nginx-light)
# The check of the image without a network makes one with iproute2.
[[ " $* " != *" images "* && " $* " != *" cluster "* ]] || wanted+=(iproute2)
if [[ " $* " == *" images "* ]]; then
    # Where no program builds images, buildah does, without a daemon. The cluster brings Docker.
    image_tool >/dev/null || wanted+=(buildah)
fi
# Any Python that can do it is as good as Debian's.
python_with_venv >/dev/null || wanted+=(python3 python3-venv)

if ! command -v dpkg-query >/dev/null; then
    [[ $only_print == yes ]] || echo "Not a Debian system: taken to be installed: ${wanted[*]}"
    exit 0
fi

missing=()
for package in "${wanted[@]}"; do
    [[ $(dpkg-query --show --showformat '${db:Status-Status}' "$package" 2>/dev/null) == installed ]] || missing+=("$package")
done

if [[ $only_print == yes ]]; then
    echo "${missing[*]}"
    exit 0
fi
if ((${#missing[@]} == 0)); then
    echo "Debian packages: there"
    exit 0
fi

as_root=()
if [[ $EUID != 0 ]]; then
    as_root=(sudo)
    # Asks for the password here, where the question can be seen.
    sudo -v
fi
apt_get=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300 -o Acquire::Retries=3)

install() {
    "${apt_get[@]}" update
    "${apt_get[@]}" install --yes --no-install-recommends "${missing[@]}"
    # The benchmark starts an nginx of its own; nobody asked for one on port 80.
    if [[ " ${missing[*]} " == *" nginx-light "* && -d /run/systemd/system ]]; then
        "${as_root[@]}" systemctl disable --now nginx
    fi
}
step "Installing Debian packages: ${missing[*]}" install
