#!/usr/bin/env bash
# Installs cargo-cyclonedx, which lists the crates of an image for its bill of materials: from source.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/paths.sh"
source "$here/step.sh"

# Not optimised, it is built in a third of the time and runs for three seconds.
install() {
    rm -rf "$cargo_cyclonedx_dir"
    CARGO_PROFILE_DEV_DEBUG=0 CARGO_TARGET_DIR="$cargo_cyclonedx_dir/target" \
        cargo install --debug --locked cargo-cyclonedx --version "$cargo_cyclonedx_version" --root "$cargo_cyclonedx_dir"
    rm -rf "$cargo_cyclonedx_dir/target"
    "$cargo_cyclonedx_dir/bin/cargo-cyclonedx" cyclonedx --version
}

if [[ $("$cargo_cyclonedx_dir/bin/cargo-cyclonedx" cyclonedx --version 2>/dev/null) == *" $cargo_cyclonedx_version" ]]; then
    echo "cargo-cyclonedx: there"
else
    step "Building cargo-cyclonedx $cargo_cyclonedx_version (2 minutes on 2 cores)" install
fi
