#!/usr/bin/env bash
# Everything that is checked besides the tests.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/paths.sh"
source "$here/step.sh"
cd "$root"

if [[ -z ${RAGENGINE_NOTES:-} ]]; then
    RAGENGINE_NOTES=$(mktemp)
    export RAGENGINE_NOTES
    trap 'rm -f "$RAGENGINE_NOTES"' EXIT
fi

stage "Format" cargo fmt --all --check
stage "Format of the fuzz targets" cargo fmt --manifest-path ragengine/fuzz/Cargo.toml --check
stage "Shell scripts" shellcheck --external-sources --source-path=SCRIPTDIR .ci/run config/local/*.sh images/*.sh ragengine/*/*.sh e2e/cluster/*.sh e2e/cluster/node/*.sh
stage "Dependencies" "$here/dependencies.sh"
stage "Features" "$here/features.sh"
stage "Lints" cargo clippy --workspace --all-targets --features ragengine-e2e/cluster -- -D warnings
# A workspace of its own, with the server's own files in it.
stage "Fuzz targets" cargo clippy --locked --manifest-path ragengine/fuzz/Cargo.toml --all-targets -- -D warnings
stage "Documentation" env RUSTDOCFLAGS='-D warnings' cargo doc --workspace --no-deps
stage "Chart" "$here/chart.sh"
stage "Generated files" "$here/generate.sh" --check
cat "$RAGENGINE_NOTES"
