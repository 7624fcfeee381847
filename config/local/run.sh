#!/usr/bin/env bash
# Starts the built server with this project's own documentation in the index `docs`, prints what to try, and stops it with Ctrl-C.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/paths.sh"
source "$here/step.sh"
source "$here/address.sh"

ragengine="$target_dir/debug/ragengine"
ready_timeout_s=120
stop_timeout_s=30

export DATA_DIR="${DATA_DIR:-$root/data}"
# Whatever proxy the machine uses, it does not lead back to the machine itself.
export NO_PROXY="127.0.0.1,localhost,::1${NO_PROXY:+,$NO_PROXY}"
export no_proxy="$NO_PROXY"

# The server finds the model where it would put it after fetching it from the hub itself.
link_model() {
    local place="$DATA_DIR/models/sentence-transformers/all-MiniLM-L6-v2"
    [[ -e $place ]] && return
    mkdir -p "${place%/*}"
    ln -sfn "$embedding_model" "$place"
}

start_server() {
    # In a process group of its own: Ctrl-C then reaches this script alone, which stops the server once, in order.
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
    echo "It did not stop within $stop_timeout_s s: killing it. Nothing that it acknowledged is lost." >&2
    kill -KILL "$server"
}

# Waits for /readyz and says what is still loading, each thing once.
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
    fail "the server was not ready within $ready_timeout_s s; what it waited for last: ${said:-it did not answer at $client_url/readyz}"
}

# Ctrl-C ends the script from within `wait`: what comes after it is an end that nobody asked for.
wait_for_its_end() {
    local status=0
    wait "$server" || status=$?
    fail "the server ended by itself (exit code $status); its reason is above"
}

# What has not changed since the last time is not sent again.
ingest_documentation() {
    "$ragengine" ingest "$root/README.md" --index docs --source readme --server "$client_url"
    "$ragengine" ingest "$root/docs" --index docs --source docs --server "$client_url"
}

print_what_to_try() {
    local model="the built-in model 'extractive' (LLM_URL=... [LLM_MODEL=...] [LLM_API_KEY=...] make run names another)"
    if [[ -n ${LLM_URL:-} ]]; then
        # Without what may be a secret: user and password before the host, keys in the query.
        local address=${LLM_URL#*://}
        address=${address##*@}
        model="${LLM_MODEL:-the first model} at ${address%%\?*}"
    fi
    cat <<TEXT

The server is ready at $client_url. Answers come from $model.
Ask, retrieve, add a document:

curl $client_url/v1/chat/completions -H 'Content-Type: application/json' -d '{"index_name": "docs", "messages": [{"role": "user", "content": "Which model answers when no language model is configured?"}]}'

curl $client_url/retrieve -H 'Content-Type: application/json' -d '{"index_name": "docs", "query": "how to choose the port", "max_node_count": 3}'

curl $client_url/index -H 'Content-Type: application/json' -d '{"index_name": "docs", "documents": [{"doc_id": "lunch", "text": "Lunch is served at half past twelve in the garden.", "metadata": {"topic": "lunch"}}]}'

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
