#!/usr/bin/env bash
# Runs the tests: test.sh fast|cluster|all [ARGUMENT...]. Those of fast go to `cargo test`, those of cluster to its test program; all takes none.
# cargo totals each test program alone: the last line adds them up.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/paths.sh"
source "$here/step.sh"
cd "$root"

export RAGENGINE_PYTHON="$python_venv/bin/python" RAGENGINE_LLAMA_INDEX_PYTHON="$llama_index_venv/bin/python"

which=${1:-}
shift || true
[[ $which =~ ^(fast|cluster|all)$ ]] || fail "usage: test.sh fast|cluster|all [ARGUMENT...]"
[[ $which != all || $# == 0 ]] || fail "ARGS are for some of the tests: make test-fast ARGS='$*', or make test-cluster ARGS='$*'"

# All but those on a cluster; or what the arguments select.
run_fast() {
    (($# > 0)) || set -- --workspace
    cargo test --no-fail-fast "$@"
}

# Both, whatever becomes of the first.
run_all() {
    local status=0
    run_fast || status=$?
    "$here/test-cluster.sh" || status=$?
    return "$status"
}

run() {
    case $which in
        fast) run_fast "$@" ;;
        cluster) "$here/test-cluster.sh" "$@" ;;
        all) run_all ;;
    esac
}

output=$(mktemp)
trap 'rm -f "$output"' EXIT
status=0
run "$@" | tee "$output" || status=$?

# A test that needs what a cluster lacks says so in a line of its own, and cargo counts it as passed.
awk '
    /^test result: / {
        for (i = 1; i < NF; i++) {
            if ($(i + 1) == "passed;") passed += $i
            if ($(i + 1) == "failed;") failed += $i
            if ($(i + 1) == "ignored;") ignored += $i
        }
    }
    /^skipped: / { passed--; ignored++ }
    END { printf "\n%d passed, %d failed, %d skipped\n", passed, failed, ignored }
' "$output"
exit "$status"
