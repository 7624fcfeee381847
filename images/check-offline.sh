#!/usr/bin/env bash
# Checks that the image works without a network. Runs the server from the image's root file system as in a container:
# with a read-only root, as user 65532, as process 1, with only a loopback interface. The server must index a document,
# retrieve it, answer from it, and stop on SIGTERM.
#
# usage: check-offline.sh FOLDER: an output folder of build.sh, such as ~/.cache/ragengine/images/ragengine-release
#
# Without root, the server runs in a user namespace as its only user.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source config/local/paths.sh
source config/local/step.sh

ready_timeout_s=120
stop_timeout_s=30
url=http://127.0.0.1:5000
answer='Lunch is served at half past twelve in the garden.'

main() {
    local namespaces=(--net --mount)
    [[ $# == 1 && -f $1/context/rootfs.tar ]] ||
        fail "usage: check-offline.sh FOLDER: an output folder of images/build.sh"
    command -v ip >/dev/null || fail "ip is missing: apt-get install iproute2"
    ((EUID == 0)) || namespaces+=(--user --map-root-user)
    work=$(mktemp --directory)
    trap 'rm -rf "$work"' EXIT
    mkdir "$work/rootfs"
    tar --extract --same-permissions --file "$1/context/rootfs.tar" --directory "$work/rootfs"
    step "Running the image without a network" \
        unshare "${namespaces[@]}" "$PWD/images/check-offline.sh" --inside "$work/rootfs" "$EUID"
}

# This and the functions below run inside the new namespaces.
inside() {
    local rootfs=$1 caller=$2
    ip link set lo up
    [[ -z $(ip route show) ]] || fail "the network namespace has a route"
    mount_read_only "$rootfs"
    start_server "$rootfs" "$caller"
    wait_until_ready
    use_server
    stop_server
}

# Mounts everything read-only except the volume, as a container runtime does.
mount_read_only() {
    local data="$1.data"
    mkdir "$data"
    # Copied before the root is mounted over, so that the files keep their owner.
    cp --preserve=ownership,mode --recursive "$1/data/." "$data"
    chown --reference="$1/data" "$data"
    mount --bind "$1" "$1"
    mount --bind "$data" "$1/data"
    mount --options remount,bind,ro "$1"
}

start_server() {
    local rootfs=$1 caller=$2 user=()
    [[ $caller != 0 ]] || user=(--userspec=65532:65532)
    # The server does not inherit this script's environment, which may have proxies and settings.
    unshare --pid --fork env --ignore-environment LISTEN=0.0.0.0:5000 DATA_DIR=/data \
        "$(command -v chroot)" "${user[@]}" "$rootfs" \
        /usr/bin/ragengine serve --config /etc/ragengine/settings.yaml </dev/null &
    container=$!
    trap 'signal KILL 2>/dev/null || true' EXIT
}

# signal NAME: signals the server, which is the only child of `unshare`.
signal() {
    local children
    children=$(<"/proc/$container/task/$container/children")
    kill -s "$1" "${children%% *}"
}

running() { kill -0 "$container" 2>/dev/null; }

wait_until_ready() {
    for ((i = 0; i < ready_timeout_s * 10; i++)); do
        running || fail "the server ended unexpectedly: see its log above"
        if curl --noproxy '*' --silent --fail --max-time 2 "$url/readyz"; then return; fi
        sleep 0.1
    done
    fail "not ready within $ready_timeout_s s: $(curl --noproxy '*' --silent --max-time 2 "$url/readyz")"
}

# call PATH BODY EXPECTED: posts BODY. Fails unless the reply contains EXPECTED.
call() {
    local reply
    reply=$(curl --noproxy '*' --silent --show-error --fail-with-body --max-time 30 "$url$1" \
        --header 'Content-Type: application/json' --data "$2") || fail "$1: $reply"
    [[ $reply == *"$3"* ]] || fail "$1: '$3' is not in the reply: $reply"
}

use_server() {
    local messages='[{"role": "user", "content": "When is lunch served?"}]'
    call /index "{\"index_name\": \"check\", \"documents\": [{\"doc_id\": \"lunch\", \"text\": \"$answer\"}]}" lunch
    call /retrieve '{"index_name": "check", "query": "When is lunch?"}' "$answer"
    call /v1/chat/completions "{\"index_name\": \"check\", \"model\": \"extractive\", \"messages\": $messages}" \
        "$answer [1]"
}

# Process 1 has no default signal handlers, so this checks that the server handles SIGTERM itself.
stop_server() {
    local status=0
    signal TERM
    for ((i = 0; i < stop_timeout_s * 10; i++)); do
        running || break
        sleep 0.1
    done
    if running; then fail "the server did not stop within $stop_timeout_s s after SIGTERM"; fi
    wait "$container" || status=$?
    trap - EXIT
    ((status == 0)) || fail "the server stopped with exit code $status"
}

if [[ ${1:-} == --inside ]]; then
    inside "$2" "$3"
else
    main "$@"
fi
