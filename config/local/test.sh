#!/usr/bin/env bash
# Runs every test of the workspace; arguments go to `cargo test`. cargo totals each test program alone: the last line adds them up.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/paths.sh"
cd "$root"

export RAGENGINE_PYTHON="$python_venv/bin/python" RAGENGINE_LLAMA_INDEX_PYTHON="$llama_index_venv/bin/python"

# What the arguments select, if anything.
(($# > 0)) || set -- --workspace

output=$(mktemp)
trap 'rm -f "$output"' EXIT
status=0
cargo test --no-fail-fast "$@" | tee "$output" || status=$?

awk '
    /^test result: / {
        for (i = 1; i < NF; i++) {
            if ($(i + 1) == "passed;") passed += $i
            if ($(i + 1) == "failed;") failed += $i
            if ($(i + 1) == "ignored;") ignored += $i
        }
    }
    END { printf "\n%d passed, %d failed, %d skipped\n", passed, failed, ignored }
' "$output"
exit "$status"
