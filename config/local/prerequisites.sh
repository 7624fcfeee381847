#!/usr/bin/env bash
# Reports everything that is missing and that setup.sh cannot install, before any step starts. Arguments: the purposes
# of setup.sh.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/paths.sh"
source "$here/step.sh"
source "$here/room.sh"
cd "$root"

problems=()

check_processor() {
    local feature missing=()
    if [[ $(uname -s) != Linux || $(uname -m) != x86_64 ]]; then
        problems+=("Linux on an x86-64 processor is required; this is $(uname -sm).")
        return
    fi
    for feature in avx avx2 bmi1 bmi2 f16c fma abm movbe; do
        grep -m1 '^flags' /proc/cpuinfo | grep -qw "$feature" || missing+=("$feature")
    done
    ((${#missing[@]} == 0)) ||
        problems+=("The processor lacks ${missing[*]}. FAISS needs x86-64-v3 (AVX2), which most have since 2015.")
}

check_rust() {
    local needed found
    needed=$(sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)
    if ! found=$(rustc --version 2>&1 | awk '$1 == "rustc" { print $2 }') || [[ -z $found ]] ||
        ! cargo --version >/dev/null 2>&1; then
        problems+=("Rust is missing: install $needed or newer with rustup (https://rustup.rs), then open a new shell.")
    elif [[ $(printf '%s\n' "$needed" "$found" | sort -V | head -n1) != "$needed" ]]; then
        problems+=("Rust $found is too old; $needed or newer is required: 'rustup update stable' (https://rustup.rs).")
    fi
}

check_rust_components() {
    cargo fmt --version >/dev/null 2>&1 && cargo clippy --version >/dev/null 2>&1 ||
        problems+=("rustfmt or clippy is missing: 'rustup component add rustfmt clippy'.")
}

# check_target PROFILE: disk space of a build. A first build needs more.
check_target() {
    if [[ -d $target_dir/$1/deps ]]; then needs_room 2 "$target_dir"; else needs_room 8 "$target_dir"; fi
}

# check_cluster IMAGE...: the requirements of a cluster. If KUBECONFIG names the user's cluster, each of these
# environment variables must name an image.
check_cluster() {
    local list kind rest
    list=$("$root/e2e/cluster/prepare.sh" --list "$@") || exit
    while read -r kind rest; do
        case $kind in
            problem) problems+=("$rest") ;;
            room) needs_room "${rest%% *}" "${rest#* }" ;;
        esac
    done <<<"$list"
}

check_test_cluster() {
    local before=${#problems[@]}
    check_cluster RAGENGINE_IMAGE RAGENGINE_OPERATOR_IMAGE RAGENGINE_E2E_IMAGE
    ((${#problems[@]} == before)) || problems+=("To run only the tests that need no cluster: make test-fast")
}

# check_go_program SCRIPT PROGRAM MEANING: where packages.sh can install Python, Go can be installed with it.
check_go_program() {
    local missing
    missing=$("$here/$1" --missing)
    [[ -z $missing ]] || command -v dpkg-query >/dev/null ||
        problems+=("Go is missing. It builds $3. Install $missing.")
    # A build needs more.
    [[ -x $2 ]] || needs_room 1 "$RAGENGINE_CACHE"
}

check_packages() {
    local missing
    missing=$("$here/packages.sh" --missing "$@")
    [[ -z $missing || $EUID == 0 ]] || command -v sudo >/dev/null ||
        problems+=("Debian packages are missing, and sudo is not installed. As root: apt-get install $missing")
}

check_processor
check_rust
[[ " $* " != *" check "* ]] || check_rust_components
if [[ $* == images ]]; then check_target release; else check_target debug; fi
if [[ " $* " == *" test-llm "* ]]; then needs_room 3 "$RAGENGINE_CACHE"; else needs_room 1 "$RAGENGINE_CACHE"; fi
check_packages "$@"
[[ " $* " != *" test "* ]] || check_go_program collector.sh "$collector/collector" "the collector of the tests"
[[ " $* " != *" test "* && " $* " != *" cluster "* ]] ||
    check_go_program weaviate.sh "$weaviate/weaviate" "Weaviate, which tests start"
# The build of the tests' Qdrant takes 2 GB until it is done.
[[ " $* " != *" test "* || -x $qdrant/qdrant ]] || needs_room 2 "$RAGENGINE_CACHE"
[[ " $* " != *" check "* ]] || check_go_program promtool.sh "$promtool" "promtool, which checks the alert rules"
[[ " $* " != *" cluster "* ]] || check_test_cluster
[[ " $* " != *" demo "* ]] || check_cluster RAGENGINE_IMAGE RAGENGINE_OPERATOR_IMAGE
mapfile -t lacking < <(lacking_room)
problems+=("${lacking[@]}")

((${#problems[@]} == 0)) || fail "this machine does not meet the requirements:" "${problems[@]}"
