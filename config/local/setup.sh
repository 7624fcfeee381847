#!/usr/bin/env bash
# Installs what is missing for the named purposes: run, test, check, bench. A second run does nothing and needs no network.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/paths.sh"
source "$here/step.sh"

(($# > 0)) || fail "usage: setup.sh PURPOSE...: run, test, check, bench"
for purpose in "$@"; do
    [[ $purpose =~ ^(run|test|check|bench)$ ]] || fail "no such purpose: $purpose; there are run, test, check, bench"
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
    if wants run || wants test || wants bench; then "$here/model.sh"; fi
    if wants test; then "$here/python.sh"; fi
    if wants check; then "$here/cargo-deny.sh"; fi
}
purposes="$*"
install_what_is_missing "$@" 9>&-
