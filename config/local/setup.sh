#!/usr/bin/env bash
# Installs what is missing for the named purposes: run, demo, test, cluster, check, bench, fuzz, images, test-llm. A second run does nothing and needs no network.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/paths.sh"
source "$here/step.sh"

(($# > 0)) || fail "usage: setup.sh PURPOSE...: run, demo, test, cluster, check, bench, fuzz, images, test-llm"
for purpose in "$@"; do
    [[ $purpose =~ ^(run|demo|test|cluster|check|bench|fuzz|images|test-llm)$ ]] || fail "no such purpose: $purpose; there are run, demo, test, cluster, check, bench, fuzz, images, test-llm"
done

# Two at once would install into the same folders. (Children do not get the lock: one that outlives this script would keep it.)
exec 9>"$RAGENGINE_CACHE/setup.lock"
if ! flock --nonblock 9; then
    echo "Another setup is running: waiting for it"
    flock --timeout 1800 9 || fail "it did not end within 30 minutes: stop it and try again"
fi

wants() { [[ " $purposes " == *" $1 "* ]]; }

install_what_is_missing() {
    "$here/prerequisites.sh" "$@"
    "$here/packages.sh" "$@"
    if wants cluster || wants demo; then "$root/e2e/cluster/prepare.sh"; fi
    if wants check || wants demo; then "$root/e2e/cluster/helm.sh"; fi
    if wants run || wants demo || wants test || wants cluster || wants bench || wants images || wants test-llm; then "$here/model.sh"; fi
    if wants test || wants test-llm; then "$here/python.sh" clients; fi
    if wants cluster || wants demo || wants images; then "$here/cargo-cyclonedx.sh"; fi
    if wants cluster; then "$here/python.sh" cyclonedx; fi
    if wants check; then "$here/cargo-deny.sh"; fi
    if wants fuzz; then "$here/fuzz.sh" --install; fi
    if wants test-llm; then
        "$here/language-model.sh"
        "$here/llama-server.sh"
    fi
}
purposes="$*"
install_what_is_missing "$@" 9>&-
