#!/usr/bin/env bash
# Checks the dependencies against deny.toml: licences, bans and sources, and what RustSec's database knows of them. Where that cannot be fetched, the check
# fails, unless RAGENGINE_WITHOUT_ADVISORIES=1 says that it may be left out: then the last lines of the run say so.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/paths.sh"
source "$here/step.sh"
cd "$root"
export PATH="$cargo_deny_dir/bin:$PATH"

database=https://github.com/RustSec/advisory-db

cargo deny --locked check --hide-inclusion-graph licenses bans sources

log=$(mktemp)
trap 'rm -f "$log"' EXIT
if GIT_TERMINAL_PROMPT=0 timeout --foreground 120 cargo deny fetch db </dev/null >"$log" 2>&1; then
    cargo deny --locked --offline check advisories
    exit
fi
reason=$(grep -v '^$' "$log" | tail -n1 || true)
[[ ${RAGENGINE_WITHOUT_ADVISORIES:-} == 1 ]] ||
    fail "advisories cannot be checked: their database cannot be fetched: ${reason:-no answer within 120 s}" \
        "It is $database. Where a mirror of it is in reach:" \
        "    git config --global url.MIRROR.insteadOf $database" \
        "To check everything else without it: RAGENGINE_WITHOUT_ADVISORIES=1"
note "ADVISORIES WERE NOT CHECKED, nor which versions were withdrawn: $database could not be fetched: ${reason:-no answer within 120 s}"
