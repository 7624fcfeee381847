#!/usr/bin/env bash
# Starts the built server, puts this project's documentation into the index `docs`, and prints example requests. Ctrl-C
# stops the server.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/paths.sh"
source "$here/step.sh"
source "$here/address.sh"

ragengine="$target_dir/debug/ragengine"
ready_timeout_s=120
stop_timeout_s=30

export DATA_DIR="${DATA_DIR:-$root/data}"
# A proxy cannot reach this machine's loopback address.
export NO_PROXY="127.0.0.1,localhost,::1${NO_PROXY:+,$NO_PROXY}"
export no_proxy="$NO_PROXY"

# Links the model to the place where the server looks for models that it downloaded.
link_model() {
    local place="$DATA_DIR/models/sentence-transformers/all-MiniLM-L6-v2"
    [[ -e $place ]] && return
    mkdir -p "${place%/*}"
    ln -sfn "$embedding_model" "$place"
}

start_server() {
    # The server gets its own process group, so that Ctrl-C reaches only this script, which then stops the server once.
    set -m
    "$ragengine" serve --config "$here/settings.yaml" </dev/null &
    server=$!
    set +m
    trap stop_server EXIT
    trap 'exit 0' INT TERM HUP
}

running() { kill -0 "$server" 2>/dev/null; }

# shellcheck disable=SC2317  # The trap calls it.
stop_server() {
    trap '' INT TERM HUP
    running || return 0
    echo "Stopping the server"
    kill -TERM "$server"
    for ((i = 0; i < stop_timeout_s * 10; i++)); do
        running || return 0
        sleep 0.1
    done
    echo "The server did not stop within $stop_timeout_s s: killing it. Acknowledged writes are not lost." >&2
    kill -KILL "$server"
}

# Waits for /readyz and prints each new state once.
wait_until_ready() {
    local reply said=''
    for ((i = 0; i < ready_timeout_s * 5; i++)); do
        running || wait_for_its_end
        if reply=$(curl --silent --max-time 2 --write-out '\n%{http_code}' "$client_url/readyz"); then
            [[ ${reply##*$'\n'} != 200 ]] || return 0
            reply=${reply%$'\n'*}
            [[ $reply == "$said" ]] || echo "Not ready yet: $reply"
            said=$reply
        fi
        sleep 0.2
    done
    fail "the server was not ready within $ready_timeout_s s; last state: ${said:-no answer from $client_url/readyz}"
}

# Ctrl-C ends the script during `wait`. So after `wait`, the server has ended by itself.
wait_for_its_end() {
    local status=0
    wait "$server" || status=$?
    fail "the server ended unexpectedly with exit code $status: see its log above"
}

# Sends only documents that have changed since the last run.
ingest_documentation() {
    "$ragengine" ingest "$root/README.md" --index docs --source readme --server "$client_url"
    "$ragengine" ingest "$root/docs" --index docs --source docs --server "$client_url"
}

print_what_to_try() {
    local model="the built-in model 'extractive' (for another: LLM_URL=... [LLM_MODEL=...] [LLM_API_KEY=...] make run)"
    if [[ -n ${LLM_URL:-} ]]; then
        # Removes parts that may be secret: user and password before the host, keys in the query.
        local address=${LLM_URL#*://}
        address=${address##*@}
        model="${LLM_MODEL:-the first model} at ${address%%\?*}"
    fi
    local question='What happens to documents when the server is killed?'
    local messages="[{\"role\": \"user\", \"content\": \"$question\"}]"
    local document='{"doc_id": "lunch", "text": "Lunch is served at half past twelve in the garden.", '
    document+='"metadata": {"topic": "lunch"}}'
    local json="-H 'Content-Type: application/json' -d"
    cat <<TEXT

Chat in the browser: $client_url/
Answers come from $model. The API: $client_url/docs

Ask, retrieve, add a document:

curl $client_url/v1/chat/completions $json '{"index_name": "docs", "messages": $messages}'

curl $client_url/retrieve $json '{"index_name": "docs", "query": "how to choose the port", "max_node_count": 3}'

curl $client_url/index $json '{"index_name": "docs", "documents": [$document]}'

Ctrl-C stops it. Its data is in $DATA_DIR.
TEXT
}

"$here/port.sh"
link_model
start_server
wait_until_ready
ingest_documentation
print_what_to_try
wait_for_its_end
