#!/usr/bin/env bash
# Writes the bill of materials of an image in the format CycloneDX. cargo-cyclonedx finds the crates, and sbom.py adds
# all other components.
#
# usage: sbom.sh IMAGE FOLDER
#
# Reads FOLDER/rootfs and FOLDER/context/rootfs.tar, and writes FOLDER/IMAGE.cdx.json. Each line of standard input has
# the path of a library of the image and its Debian package.
#
# The bill is reproducible: it has no date and no path of this machine, and everything is sorted.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source config/local/paths.sh
source config/local/step.sh

(($# == 2)) || fail "usage: sbom.sh IMAGE FOLDER"
image=$1
folder=$2
target=x86_64-unknown-linux-gnu
tool="$cargo_cyclonedx_dir/bin/cargo-cyclonedx"
[[ -x $tool ]] || fail "cargo-cyclonedx is missing: 'config/local/cargo-tool.sh cargo-cyclonedx' installs it"

# cargo-cyclonedx writes next to each Cargo.toml, so it runs on a copy of the manifests and sources.
copy=$(mktemp --directory)
trap 'rm -rf "$copy"' EXIT
find . \( -name target -o -name '.?*' \) -prune -o -type f \( -name 'Cargo.*' -o -name '*.rs' \) \
    -exec cp --parents --target-directory "$copy" {} +
SOURCE_DATE_EPOCH=0 "$tool" cyclonedx --manifest-path "$copy/Cargo.toml" --format json --spec-version 1.5 \
    --describe binaries --target "$target" --no-build-deps --quiet
crates=$(find "$copy" -name "${image}_bin.cdx.json")
[[ -n $crates ]] || fail "cargo-cyclonedx wrote no bill of the program $image"

"$(python_with_venv)" -B images/sbom.py "$image" "$target" "$folder" "$crates" "$copy" >"$folder/$image.cdx.json"
