#!/usr/bin/env bash
# Starts Docker if it does not answer: with systemd or, without systemd, as a background process that outlives this
# script.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/paths.sh"

# Restores the runtime that Docker was started with, if it was deleted with the cache.
restore_runtime() {
    local runtime
    runtime=$(docker info --format '{{(index .Runtimes .DefaultRuntime).Path}}' 2>/dev/null) || return 0
    [[ $runtime == /*/runc-bounded && ! -e $runtime ]] || return 0
    mkdir -p "$(dirname "$runtime")"
    install -m 755 "$offline_scripts/runc-bounded.sh" "$runtime"
    echo "Restored Docker's runtime $runtime"
}

if docker_answers; then
    restore_runtime
    echo "Docker: there"
    exit
fi
[[ $EUID == 0 ]] ||
    fail "Docker does not answer: start it and add this user to the group docker, or run this as root."

mkdir -p "$cluster_state"
docker_log="$cluster_state/dockerd.log"

# dockerd gives every capability to a privileged container. If root itself lacks some of them, runc must not request
# them.
runtime=()
all=$(((1 << ($(cat /proc/sys/kernel/cap_last_cap) + 1)) - 1))
if ((16#$(awk '/^CapBnd/ { print $2 }' /proc/self/status) != all)); then
    install -m 755 "$offline_scripts/runc-bounded.sh" "$cluster_state/runc-bounded"
    runtime=(--add-runtime "bounded=$cluster_state/runc-bounded" --default-runtime bounded)
fi

process_runs() { grep --quiet --no-messages --line-regexp "$1" /proc/[0-9]*/comm; }

launch() {
    # After a restart of the machine, other processes may have these process ids.
    rm -f /var/run/docker.pid
    process_runs containerd || rm -f /var/run/docker/containerd/containerd.pid
    setsid nohup dockerd "${runtime[@]}" </dev/null >"$docker_log" 2>&1 &
}

# Waits for a dockerd that runs but does not answer, because it may be starting or stopping.
start() {
    local deadline=$((SECONDS + 60)) dockerd=
    if [[ -d /run/systemd/system ]]; then systemctl start docker; fi
    while ((SECONDS < deadline)); do
        if docker_answers; then return; fi
        if [[ -n $dockerd ]]; then
            kill -0 "$dockerd" || break
        elif [[ ! -d /run/systemd/system ]] && ! process_runs dockerd; then
            launch
            dockerd=$!
        fi
        sleep 0.3
    done
    [[ ! -e $docker_log ]] || tail -n 20 "$docker_log"
    return 1
}
# File descriptor 9 is the lock. Docker must not hold it.
step "Starting Docker" start 9>&-
