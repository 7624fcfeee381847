#!/usr/bin/env bash
# Writes the references that are generated from the code into docs/. With --check: fails when they are not what the code says.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/paths.sh"
source "$here/step.sh"

"$here/build.sh" --quiet

generated=$(mktemp -d)
trap 'rm -rf "$generated"' EXIT
"$target_dir/debug/ragengine" settings-reference >"$generated/settings.md"
"$target_dir/debug/ragengine" openapi >"$generated/openapi.json"
"$target_dir/debug/ragengine" metrics-reference >"$generated/metrics.md"

if [[ ${1:-} == --check ]]; then
    for file in "$generated"/*; do
        diff --unified --label "docs/${file##*/}" --label 'what the code says' "$root/docs/${file##*/}" "$file" ||
            fail "docs/${file##*/} is not what the code says: run 'make generate' and commit it"
    done
else
    cp "$generated"/* "$root/docs/"
fi
