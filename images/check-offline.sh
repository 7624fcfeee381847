#!/usr/bin/env bash
# Shows that the image needs nothing from outside: its root file system is unpacked and mounted read-only, and its program runs in it as it
# does in a container: as user 65532, as the first process, with a loopback for its only network. It takes a document, finds it, answers from it,
# and stops when it is told to.
#
# usage: check-offline.sh FOLDER: one that build.sh made, such as ~/.cache/ragengine/images/ragengine-release
#
# Without root the program runs as the only user that there is in a user namespace.
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
    [[ $# == 1 && -f $1/context/rootfs.tar ]] || fail "usage: check-offline.sh FOLDER: one that images/build.sh made"
    command -v ip >/dev/null || fail "ip is missing: apt-get install iproute2"
    ((EUID == 0)) || namespaces+=(--user --map-root-user)
    work=$(mktemp --directory)
    trap 'rm -rf "$work"' EXIT
    mkdir "$work/rootfs"
    tar --extract --same-permissions --file "$1/context/rootfs.tar" --directory "$work/rootfs"
    step "The image works without a network" unshare "${namespaces[@]}" "$PWD/images/check-offline.sh" --inside "$work/rootfs" "$EUID"
}

# From here on: in namespaces of our own.
inside() {
    local rootfs=$1 caller=$2
    ip link set lo up
    [[ -z $(ip route show) ]] || fail "there is a network"
    mount_read_only "$rootfs"
    start_server "$rootfs" "$caller"
    wait_until_ready
    use_server
    stop_server
}

# As a container's runtime does: everything read-only but the volume.
mount_read_only() {
    local data="$1.data"
    mkdir "$data"
    # Before the root is mounted over: its owner is the one that the image gives it.
    cp --preserve=ownership,mode --recursive "$1/data/." "$data"
    chown --reference="$1/data" "$data"
    mount --bind "$1" "$1"
    mount --bind "$data" "$1/data"
    mount --options remount,bind,ro "$1"
}

start_server() {
    local rootfs=$1 caller=$2 user=()
    [[ $caller != 0 ]] || user=(--userspec=65532:65532)
    # Nothing of our own environment: no proxy, no settings.
    unshare --pid --fork env --ignore-environment LISTEN=0.0.0.0:5000 DATA_DIR=/data \
        "$(command -v chroot)" "${user[@]}" "$rootfs" /usr/bin/ragengine serve --config /etc/ragengine/settings.yaml </dev/null &
    container=$!
    trap 'signal KILL 2>/dev/null || true' EXIT
}

# To the program itself, which is the only child of the `unshare` that waits for it.
signal() {
    local children
    children=$(<"/proc/$container/task/$container/children")
    kill -s "$1" "${children%% *}"
}

running() { kill -0 "$container" 2>/dev/null; }

wait_until_ready() {
    for ((i = 0; i < ready_timeout_s * 10; i++)); do
        running || fail "the program ended by itself, its reason is above"
        if curl --noproxy '*' --silent --fail --max-time 2 "$url/readyz"; then return; fi
        sleep 0.1
    done
    fail "not ready within $ready_timeout_s s: $(curl --noproxy '*' --silent --max-time 2 "$url/readyz")"
}

# call PATH BODY WANTED: the reply to BODY has WANTED in it.
call() {
    local reply
    reply=$(curl --noproxy '*' --silent --show-error --fail-with-body --max-time 30 "$url$1" --header 'Content-Type: application/json' --data "$2") ||
        fail "$1: $reply"
    [[ $reply == *"$3"* ]] || fail "$1: '$3' is not in the reply: $reply"
}

use_server() {
    call /index "{\"index_name\": \"check\", \"documents\": [{\"doc_id\": \"lunch\", \"text\": \"$answer\"}]}" lunch
    call /retrieve '{"index_name": "check", "query": "When is lunch?"}' "$answer"
    call /v1/chat/completions '{"index_name": "check", "model": "extractive", "messages": [{"role": "user", "content": "When is lunch served?"}]}' "$answer [1]"
}

# The first process of a container gets no default handling of signals: it stops because it handles them.
stop_server() {
    local status=0
    signal TERM
    for ((i = 0; i < stop_timeout_s * 10; i++)); do
        running || break
        sleep 0.1
    done
    if running; then fail "it did not stop within $stop_timeout_s s of SIGTERM"; fi
    wait "$container" || status=$?
    trap - EXIT
    ((status == 0)) || fail "it stopped with exit code $status"
}

if [[ ${1:-} == --inside ]]; then
    inside "$2" "$3"
else
    main "$@"
fi
