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
# shellcheck disable=SC2317  # `part` calls it.
run_fast() {
    (($# > 0)) || set -- --workspace
    cargo test --no-fail-fast "$@"
}

# part TITLE COMMAND...: shows what COMMAND prints, and adds its tests to the totals. One that ends without a failed test and yet not well, such as one
# that does not compile, is counted as a failed one.
part() {
    local title=$1 part_status=0 counts stage
    shift
    "$@" | tee "$output" || part_status=$?
    read -r -a counts < <(count "$output")
    if ((part_status != 0 && counts[1] == 0)); then
        stage=$(unfinished_stage "$output")
        broken+=("${stage:-$title}")
        counts[1]=1
    fi
    passed=$((passed + counts[0]))
    failed=$((failed + counts[1]))
    skipped=$((skipped + counts[2]))
    ((part_status == 0)) || status=$part_status
}

# Prints how many tests passed, failed and were skipped. A test that needs what a cluster lacks says so in a line of its own, and cargo counts it as
# passed. The images' checks have a line each.
count() {
    awk '
        /^test result: / {
            for (i = 1; i < NF; i++) {
                if ($(i + 1) == "passed;") passed += $i
                if ($(i + 1) == "failed;") failed += $i
                if ($(i + 1) == "ignored;") skipped += $i
            }
        }
        /^skipped: / { passed--; skipped++ }
        /^image: .* \.\.\. ok$/ { passed++ }
        /^image: .* \.\.\. FAILED$/ { failed++ }
        END { print passed + 0, failed + 0, skipped + 0 }
    ' "$1"
}

# Prints the innermost stage that began and did not end well, if any did: see step.sh.
unfinished_stage() {
    awk '
        /^== / {
            title = substr($0, 4)
            if (depth && title ~ /: [0-9]+ s$/ && index(title, stack[depth] ": ") == 1) depth--
            else stack[++depth] = title
        }
        END { if (depth) print stack[depth] }
    ' "$1"
}

output=$(mktemp)
trap 'rm -f "$output"' EXIT
status=0 passed=0 failed=0 skipped=0 broken=()
# Both, whatever becomes of the first.
if [[ $which != cluster ]]; then part "the tests without a cluster" run_fast "$@"; fi
if [[ $which != fast ]]; then part "the tests on a cluster" "$here/test-cluster.sh" "$@"; fi

echo
for title in "${broken[@]}"; do echo "failed: $title, see above"; done
[[ -z ${RAGENGINE_NOTES:-} ]] || cat "$RAGENGINE_NOTES"
echo "$passed passed, $failed failed, $skipped skipped"
exit "$status"
