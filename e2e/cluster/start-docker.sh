#!/usr/bin/env bash
# Starts Docker when it does not answer: by systemd, or where that does not run as a process of its own that outlives this script.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/paths.sh"

# Docker goes on with the runtime that it was started with, which a deleted cache takes away.
restore_runtime() {
    local runtime
    runtime=$(docker info --format '{{(index .Runtimes .DefaultRuntime).Path}}' 2>/dev/null) || return 0
    [[ $runtime == /*/runc-bounded && ! -e $runtime ]] || return 0
    mkdir -p "$(dirname "$runtime")"
    install -m 755 "$cluster_scripts/runc-bounded.sh" "$runtime"
    echo "Docker's runtime $runtime was gone: it is there again"
}

if docker_answers; then
    restore_runtime
    echo "Docker: there"
    exit
fi
[[ $EUID == 0 ]] || fail "Docker does not answer: start it and let this user use it (the group docker), or do this as root."

mkdir -p "$cluster_state"
docker_log="$cluster_state/dockerd.log"

# dockerd gives a privileged container every capability there is. Where root itself does not have them all, runc must not ask for them.
runtime=()
all=$(((1 << ($(cat /proc/sys/kernel/cap_last_cap) + 1)) - 1))
if ((16#$(awk '/^CapBnd/ { print $2 }' /proc/self/status) != all)); then
    install -m 755 "$cluster_scripts/runc-bounded.sh" "$cluster_state/runc-bounded"
    runtime=(--add-runtime "bounded=$cluster_state/runc-bounded" --default-runtime bounded)
fi

process_runs() { grep --quiet --no-messages --line-regexp "$1" /proc/[0-9]*/comm; }

launch() {
    # After a restart of the machine their numbers may be those of other processes.
    rm -f /var/run/docker.pid
    process_runs containerd || rm -f /var/run/docker/containerd/containerd.pid
    setsid nohup dockerd "${runtime[@]}" </dev/null >"$docker_log" 2>&1 &
}

# A dockerd that is there but does not answer is about to start or to end: it is waited for.
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
# 9 is the lock: Docker must not keep it.
step "Starting Docker" start 9>&-
