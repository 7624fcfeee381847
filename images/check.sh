#!/usr/bin/env bash
# Checks the server's image that build.sh made with docker, each check in a line as tests have it; the next follows whatever becomes of one.
#
# usage: check.sh dev|release
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source config/local/paths.sh
source config/local/step.sh

case ${1:-} in
    dev) binary="$target_dir/debug/ragengine" ;;
    release) binary="$target_dir/release/ragengine" ;;
    *) fail "usage: check.sh dev|release" ;;
esac
version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n1)
if [[ $1 == dev ]]; then tag=ragengine:dev; else tag="ragengine:$version"; fi
folder="$RAGENGINE_CACHE/images/ragengine-$1"
again="$folder.again"
log=$(mktemp)
trap 'rm -rf "$log" "$again" "$again.new"' EXIT
failed=no

# check TITLE COMMAND...: what COMMAND prints is shown only when it fails. Not to be called in a condition.
check() {
    local title=$1 status
    shift
    printf 'image: %s ... ' "$title"
    set +e
    (
        set -e
        "$@"
    ) </dev/null >"$log" 2>&1
    status=$?
    set -e
    if ((status == 0)); then
        echo ok
    else
        failed=yes
        echo FAILED
        cat "$log"
    fi
}

# same WHAT FOUND WANTED
same() {
    [[ $2 == "$3" ]] || fail "$1 is not what it should be" "found:  $2" "wanted: $3"
}

# In other surroundings than the first time.
two_assemblies_are_the_same() {
    (umask 077 && TZ=Asia/Kathmandu images/rootfs.sh ragengine "$binary" "$again")
    same "the second root file system" "$(cat "$again/rootfs.tar.sha256")" "$(cat "$folder/rootfs.tar.sha256")"
}

# The server is the only program: no shell, no package manager.
only_program_is_the_server() {
    same "what is in folders for programs" "$(tar --list --file "$folder/context/rootfs.tar" | grep -E '/s?bin/.' | xargs)" ./usr/bin/ragengine
}

# inspect TEMPLATE
inspect() { docker image inspect --format "$1" "$tag"; }

label() { inspect "{{index .Config.Labels \"org.opencontainers.image.$1\"}}"; }

runs_the_server_as_nobody() {
    same "the user" "$(inspect '{{.Config.User}}')" 65532:65532
    same "the command" "$(inspect '{{json .Config.Entrypoint}} {{json .Config.Cmd}}')" \
        '["/usr/bin/ragengine"] ["serve","--config","/etc/ragengine/settings.yaml"]'
    same "the volume" "$(inspect '{{json .Config.Volumes}}')" '{"/data":{}}'
}

is_labelled() {
    local revision
    same "the title" "$(label title)" RAGEngine
    same "the licence" "$(label licenses)" Apache-2.0
    same "the version" "$(label version)" "$version"
    revision=$(label revision)
    [[ -n $(label description) ]] || fail "there is no description"
    [[ $revision =~ ^[0-9a-f]{40}(-dirty)?$ || $revision == unknown ]] || fail "this is no revision: $revision"
}

check "two assemblies give the same root file system" two_assemblies_are_the_same
check "the server is the only program in it" only_program_is_the_server
check "user, command and volume" runs_the_server_as_nobody
check "labels" is_labelled
check "it works without a network" images/check-offline.sh "$folder"
[[ $failed == no ]]
