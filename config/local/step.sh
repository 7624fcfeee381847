# shellcheck shell=bash
# Functions that run commands and report them. Sourced by the scripts in this folder.

# fail MESSAGE...: prints each message in a line on stderr, and exits.
fail() {
    printf 'error: %s\n' "$1" >&2
    shift
    (($# == 0)) || printf '       %s\n' "$@" >&2
    exit 1
}

# note MESSAGE: reports something that the run skips. Prints the message, and adds it to the file RAGENGINE_NOTES, which
# the caller prints at the end of the run.
note() {
    printf 'note: %s\n' "$1"
    [[ -z ${RAGENGINE_NOTES:-} ]] || printf 'note: %s\n' "$1" >>"$RAGENGINE_NOTES"
}

# attempt COMMAND...: runs the command, and sets the caller's variable `status` to its exit code. Must not be called in
# a condition, where bash ignores errors inside COMMAND.
attempt() {
    set +e
    (
        set -e
        "$@"
    )
    status=$?
    set -e
}

# record TITLE SECONDS: adds a line to the file RAGENGINE_PARTS, for the table at the end of a run.
record() { [[ -z ${RAGENGINE_PARTS:-} ]] || printf '%s\t%s\n' "$2" "$1" >>"$RAGENGINE_PARTS"; }

# step TITLE COMMAND...: runs the command. Prints one line with the title, a dot every 3 seconds, and the duration.
# Shows the command's output only if it fails. Must not be called in a condition.
step() {
    local title=$1 started=$SECONDS log ticker status
    shift
    log=$(mktemp)
    printf '%s ' "$title"
    (while sleep 3 >/dev/null 2>&1 && kill -0 $$; do printf .; done) 2>/dev/null &
    ticker=$!
    attempt "$@" </dev/null >"$log" 2>&1
    # Ctrl-C may have ended the ticker.
    kill "$ticker" 2>/dev/null || true
    wait "$ticker" 2>/dev/null || true
    if ((status != 0)); then
        printf ' failed after %s s; its output:\n' $((SECONDS - started))
        cat "$log"
        rm -f "$log"
        fail "$title: failed, see above"
    fi
    rm -f "$log"
    record "$title" $((SECONDS - started))
    printf ' %s s\n' $((SECONDS - started))
}

# stage TITLE COMMAND...: runs the command and shows its output between two lines with the title. Must not be called in
# a condition.
stage() {
    local title=$1 started=$SECONDS status
    shift
    printf '== %s\n' "$title"
    attempt "$@"
    ((status == 0)) || fail "$title: failed after $((SECONDS - started)) s, see above"
    record "$title" $((SECONDS - started))
    printf '== %s: %s s\n' "$title" $((SECONDS - started))
}
