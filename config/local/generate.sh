#!/usr/bin/env bash
# Writes what is generated from the code: the references in docs/, the definitions in crds/, the chart's copy of them, and what the chart becomes.
# With --check: fails when they are not what the code says.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/paths.sh"
source "$here/step.sh"

"$here/build.sh" --quiet

generated=$(mktemp -d)
trap 'rm -rf "$generated"' EXIT
chart_files="$generated/charts/ragengine/files"
mkdir -p "$generated/docs" "$chart_files/crds"
"$target_dir/debug/ragengine" settings-reference >"$generated/docs/settings.md"
"$target_dir/debug/ragengine" openapi >"$generated/docs/openapi.json"
"$target_dir/debug/ragengine" metrics-reference >"$generated/docs/metrics.md"
"$target_dir/debug/crdgen" "$generated"
cp "$generated/crds"/* "$chart_files/crds/"
"$here/render-chart.sh" "$generated"

if [[ ${1:-} == --check ]]; then
    find "$generated" -type f -printf '%P\n' | sort | while read -r file; do
        diff --unified --label "$file" --label 'what the code says' "$root/$file" "$generated/$file" ||
            fail "$file is not what the code says: run 'make generate' and commit it"
    done
else
    cp --recursive "$generated"/* "$root/"
fi
