#!/usr/bin/env bash
# Builds the Qdrant of the tests (ragengine/test-qdrant) into the cache. What the build leaves is deleted: the program is
# built again only when its code or a dependency changes.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/paths.sh"
source "$here/step.sh"

build_qdrant() {
    rm -rf "$qdrant"
    cargo build --release --locked --manifest-path "$root/ragengine/test-qdrant/Cargo.toml" --target-dir "$qdrant/target"
    mv "$qdrant/target/release/ragengine-test-qdrant" "$qdrant/qdrant"
    rm -rf "$qdrant/target"
}

if [[ -x $qdrant/qdrant ]]; then
    echo "The Qdrant of the tests: there"
else
    step "Building the Qdrant of the tests (7 minutes on 2 cores)" build_qdrant
fi
