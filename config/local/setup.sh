#!/usr/bin/env bash
# Installs the requirements of the named purposes: run, demo, test, cluster, check, mutants, bench, fuzz, images,
# test-llm. A second run does nothing and needs no network.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/paths.sh"
source "$here/step.sh"

all="run, demo, test, cluster, check, mutants, bench, fuzz, images, test-llm"
(($# > 0)) || fail "usage: setup.sh PURPOSE...: $all"
for purpose in "$@"; do
    [[ $purpose =~ ^(run|demo|test|cluster|check|mutants|bench|fuzz|images|test-llm)$ ]] ||
        fail "unknown purpose: $purpose; expected one of: $all"
done

# Concurrent runs would install into the same folders. Children do not inherit the lock, because one that outlives this
# script would hold it.
exec 9>"$RAGENGINE_CACHE/setup.lock"
if ! flock --nonblock 9; then
    echo "Another setup is running: waiting for it"
    flock --timeout 1800 9 || fail "the other setup did not end within 30 minutes: stop it, and try again"
fi

# needed_for PURPOSE...: succeeds if one of them is among the purposes.
needed_for() {
    local purpose
    for purpose in "$@"; do [[ " $purposes " != *" $purpose "* ]] || return 0; done
    return 1
}

install_what_is_missing() {
    "$here/prerequisites.sh" "$@"
    "$here/packages.sh" "$@"
    if needed_for cluster demo; then "$root/e2e/cluster/prepare.sh"; fi
    if needed_for check demo; then "$root/e2e/cluster/helm.sh"; fi
    if needed_for run demo test cluster mutants bench images test-llm; then "$here/model.sh"; fi
    if needed_for test test-llm; then "$here/python.sh" clients; fi
    if needed_for test; then
        "$here/axe-core.sh"
        "$here/collector.sh"
        "$here/qdrant.sh"
    fi
    if needed_for test cluster; then
        "$here/weaviate.sh"
        "$here/cargo-tool.sh" cargo-nextest
    fi
    if needed_for mutants; then "$here/cargo-tool.sh" cargo-mutants; fi
    if needed_for cluster demo images; then "$here/cargo-tool.sh" cargo-cyclonedx; fi
    if needed_for cluster; then "$here/python.sh" cyclonedx; fi
    if needed_for check; then
        "$here/cargo-tool.sh" cargo-deny
        "$here/promtool.sh"
    fi
    if needed_for fuzz; then "$here/fuzz.sh" --install; fi
    if needed_for test-llm; then
        "$here/language-model.sh"
        "$here/llama-server.sh"
    fi
}
purposes="$*"
install_what_is_missing "$@" 9>&-
