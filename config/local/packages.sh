#!/usr/bin/env bash
# Installs the Debian packages that the purposes of setup.sh need. With --missing first: only prints their names.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/paths.sh"
source "$here/step.sh"
source "$root/images/tool.sh"

only_print=no
if [[ ${1:-} == --missing ]]; then
    only_print=yes
    shift
fi

# g++ includes libgomp.
wanted=(cmake g++ pkg-config libopenblas-dev make git ca-certificates curl)
[[ " $* " != *" check "* ]] || wanted+=(shellcheck)
# Some tests of the server mount a file system. The tests of the sources run a proxy, those of the stores PostgreSQL and
# Redis, those of the events RabbitMQ, and those of the chat page a browser, which needs a font.
[[ " $* " != *" test "* ]] ||
    wanted+=(
        e2fsprogs mount postgresql rabbitmq-server redis-server tinyproxy-bin chromium chromium-driver
        fonts-dejavu-core
    )
[[ " $* " != *" bench "* ]] || wanted+=(nginx-light postgresql redis-server)
# images/check-offline.sh sets up a loopback interface with iproute2.
[[ " $* " != *" images "* && " $* " != *" cluster "* ]] || wanted+=(iproute2 redis-server)
# The image of the cluster tests has Redis and PostgreSQL.
[[ " $* " != *" cluster "* ]] || wanted+=(postgresql)
if [[ " $* " == *" images "* ]]; then
    # buildah needs no daemon. For a cluster, Docker is installed.
    image_tool >/dev/null || wanted+=(buildah)
fi
python_with_venv >/dev/null || wanted+=(python3 python3-venv)

if ! command -v dpkg-query >/dev/null; then
    [[ $only_print == yes ]] || echo "Not a Debian system. These packages must be installed already: ${wanted[*]}"
    exit 0
fi

missing=()
for package in "${wanted[@]}"; do
    status=$(dpkg-query --show --showformat '${db:Status-Status}' "$package" 2>/dev/null) || true
    [[ $status == installed ]] || missing+=("$package")
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
    # Asks for the password now, because `step` hides the output of later commands.
    sudo -v
fi
apt_get=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300 -o Acquire::Retries=3)

install() {
    local clusters=/etc/postgresql-common/createcluster.conf
    # The tests start PostgreSQL in a temporary folder. The package would also create a database, and a service that is
    # always running. Debian's packages keep a file that is already there.
    if [[ " ${missing[*]} " == *" postgresql "* && ! -e $clusters ]]; then
        "${as_root[@]}" mkdir -p "$(dirname "$clusters")"
        echo "create_main_cluster = false" | "${as_root[@]}" tee "$clusters" >/dev/null
    fi
    local had_erlang=yes
    dpkg-query --show erlang-base >/dev/null 2>&1 || had_erlang=no
    "${apt_get[@]}" update
    "${apt_get[@]}" install --yes --no-install-recommends "${missing[@]}"
    # The benchmark starts its own nginx. The package's service would listen on port 80.
    if [[ " ${missing[*]} " == *" nginx-light "* && -d /run/systemd/system ]]; then
        "${as_root[@]}" systemctl disable --now nginx
    fi
    # The tests start their own Redis, with a free port and a temporary folder.
    if [[ " ${missing[*]} " == *" redis-server "* && -d /run/systemd/system ]]; then
        "${as_root[@]}" systemctl disable --now redis-server
    fi
    # The tests start their own RabbitMQ, too. Its package brings epmd, which listens for other machines.
    if [[ " ${missing[*]} " == *" rabbitmq-server "* && -d /run/systemd/system ]]; then
        "${as_root[@]}" systemctl disable --now rabbitmq-server
        [[ $had_erlang == yes ]] || "${as_root[@]}" systemctl disable --now epmd.socket epmd.service
    fi
}
step "Installing Debian packages: ${missing[*]}" install
