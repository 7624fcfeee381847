# shellcheck shell=bash
# How a step reports itself. Sourced by the scripts beside it.

# fail MESSAGE...: one line each on stderr, then the end.
fail() {
    printf 'error: %s\n' "$1" >&2
    shift
    (($# == 0)) || printf '       %s\n' "$@" >&2
    exit 1
}

# note MESSAGE: what a run could not do, although it goes on: said now, and in its last lines, by who made the file that RAGENGINE_NOTES names.
note() {
    printf 'note: %s\n' "$1"
    [[ -z ${RAGENGINE_NOTES:-} ]] || printf 'note: %s\n' "$1" >>"$RAGENGINE_NOTES"
}

# attempt COMMAND...: runs it, and puts how it ended into the variable status, which is the caller's. Not to be called in a condition: bash then goes on
# after an error inside COMMAND.
attempt() {
    set +e
    (
        set -e
        "$@"
    )
    status=$?
    set -e
}

# step TITLE COMMAND...: one line: what is done, a dot every 3 seconds, how long it took. What COMMAND prints is shown only when it fails.
# Not to be called in a condition either.
step() {
    local title=$1 started=$SECONDS log ticker status
    shift
    log=$(mktemp)
    printf '%s ' "$title"
    (while sleep 3 >/dev/null 2>&1 && kill -0 $$; do printf .; done) 2>/dev/null &
    ticker=$!
    attempt "$@" </dev/null >"$log" 2>&1
    # Ctrl-C may have ended it.
    kill "$ticker" 2>/dev/null || true
    wait "$ticker" 2>/dev/null || true
    if ((status != 0)); then
        printf ' failed after %s s; its output:\n' $((SECONDS - started))
        cat "$log"
        rm -f "$log"
        fail "$title: failed, see above"
    fi
    rm -f "$log"
    printf ' %s s\n' $((SECONDS - started))
}

# stage TITLE COMMAND...: the same for a command whose output is wanted: a line before it and one after it.
# Not to be called in a condition either.
stage() {
    local title=$1 started=$SECONDS status
    shift
    printf '== %s\n' "$title"
    attempt "$@"
    ((status == 0)) || fail "$title: failed after $((SECONDS - started)) s, see above"
    printf '== %s: %s s\n' "$title" $((SECONDS - started))
}
