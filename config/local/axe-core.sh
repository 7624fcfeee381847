#!/usr/bin/env bash
# Fetches axe-core, with which the tests of the chat page check its accessibility, into the cache.
#
# The script comes from PyPI, like the embedding model, in a package with version 4.12.1.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/paths.sh"
source "$here/step.sh"

# Renamed at the end, so that an interrupted download does not look complete.
work="${axe_core%/*}/.${axe_core##*/}"

fetch() {
    rm -rf "$work"
    mkdir -p "$work/done"
    "$(python_with_venv)" -m venv "$work/venv"
    "$work/venv/bin/pip" --disable-pip-version-check --no-cache-dir download --no-deps --only-binary :all: \
        --require-hashes --dest "$work/wheels" --requirement "$here/axe-core.txt"
    "$work/venv/bin/python" -m zipfile -e "$work"/wheels/*.whl "$work/unpacked"
    cp "$work/unpacked/axe_playwright_python/axe.min.js" "$work/done/"
    rm -rf "$axe_core"
    mv "$work/done" "$axe_core"
    rm -rf "$work"
}

if [[ -s $axe_core/axe.min.js ]]; then
    echo "axe-core: there"
else
    step "Fetching axe-core (160 kB from PyPI)" fetch
fi
