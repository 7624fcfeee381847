#!/usr/bin/env bash
# Writes the bill of materials of an image, in CycloneDX: the crates as cargo-cyclonedx finds them, and all else that is in it (sbom.py).
#
# usage: sbom.sh IMAGE FOLDER: reads FOLDER/rootfs and FOLDER/context/rootfs.tar, makes FOLDER/IMAGE.cdx.json. Standard input has a line for each library
# of the image: its path and the Debian package that it comes from.
#
# The bill depends on the contents alone: no date, no path of this machine, everything sorted.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source config/local/paths.sh
source config/local/step.sh

(($# == 2)) || fail "usage: sbom.sh IMAGE FOLDER"
image=$1
folder=$2
target=x86_64-unknown-linux-gnu
tool="$cargo_cyclonedx_dir/bin/cargo-cyclonedx"
[[ -x $tool ]] || fail "cargo-cyclonedx is missing: config/local/cargo-cyclonedx.sh installs it"

# It writes beside each Cargo.toml: beside those of a copy, which needs nothing but the names of the sources.
copy=$(mktemp --directory)
trap 'rm -rf "$copy"' EXIT
find . \( -name target -o -name '.?*' \) -prune -o -type f \( -name 'Cargo.*' -o -name '*.rs' \) -exec cp --parents --target-directory "$copy" {} +
SOURCE_DATE_EPOCH=0 "$tool" cyclonedx --manifest-path "$copy/Cargo.toml" --format json --spec-version 1.5 --describe binaries \
    --target "$target" --no-build-deps --quiet
crates=$(find "$copy" -name "${image}_bin.cdx.json")
[[ -n $crates ]] || fail "cargo-cyclonedx wrote nothing about the program $image"

"$(python_with_venv)" -B images/sbom.py "$image" "$target" "$folder" "$crates" "$copy" >"$folder/$image.cdx.json"
