#!/usr/bin/env bash
# Checks an image that build.sh made with docker, each check in a line as tests have it; the next follows whatever becomes of one.
#
# usage: check.sh ragengine|ragengine-operator dev|release
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source config/local/paths.sh
source config/local/step.sh
source images/size.sh

usage="usage: check.sh ragengine|ragengine-operator dev|release"
[[ $# == 2 && $1 =~ ^ragengine(-operator)?$ ]] || fail "$usage"
image=$1 profile=$2
version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n1)
case $2 in
    dev) binary="$target_dir/debug/$image" tag="$image:dev" ;;
    release) binary="$target_dir/release/$image" tag="$image:$version" ;;
    *) fail "$usage" ;;
esac
case $image in
    ragengine)
        title=RAGEngine
        command='["/usr/bin/ragengine"] ["serve","--config","/etc/ragengine/settings.yaml"]'
        volumes='{"/data":{}}'
        ;;
    ragengine-operator)
        title="RAGEngine operator"
        command='["/usr/bin/ragengine-operator"] ["run"]'
        volumes=null
        ;;
esac
folder="$RAGENGINE_CACHE/images/$image-$2"
again="$folder.again"
log=$(mktemp)
trap 'rm -rf "$log" "$again" "$again.new"' EXIT
failed=no

# check WHAT COMMAND...: what COMMAND prints is shown only when it fails. Not to be called in a condition.
check() {
    local what=$1 status
    shift
    printf 'image: %s: %s ... ' "$image" "$what"
    attempt "$@" </dev/null >"$log" 2>&1
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
    (umask 077 && TZ=Asia/Kathmandu images/rootfs.sh "$image" "$binary" "$again")
    same "the second root file system" "$(cat "$again/rootfs.tar.sha256")" "$(cat "$folder/rootfs.tar.sha256")"
    diff "$folder/$image.cdx.json" "$again/$image.cdx.json"
}

# No shell, no package manager.
has_one_program() {
    same "what is in folders for programs" "$(tar --list --file "$folder/context/rootfs.tar" | grep -E '/s?bin/.' | xargs)" "./usr/bin/$image"
}

has_certificates_and_licences() {
    local file
    for file in ./etc/ssl/certs/ca-certificates.crt ./usr/share/doc/ragengine/LICENSE ./usr/share/doc/ragengine/crates.txt ./usr/share/doc/libc6/copyright; do
        tar --list --file "$folder/context/rootfs.tar" "$file"
    done
}

has_its_bill_of_materials() {
    "$cyclonedx_venv/bin/python" -B images/check_sbom.py "$image" x86_64-unknown-linux-gnu "$folder"
}

is_small() {
    local bytes max
    max=$(max_mb "$image" "$profile")
    bytes=$(inspect '{{.Size}}')
    ((bytes < max * 1000000)) || fail "it has $((bytes / 1000000)) MB, $max are what it may have"
}

# inspect TEMPLATE
inspect() { docker image inspect --format "$1" "$tag"; }

label() { inspect "{{index .Config.Labels \"org.opencontainers.image.$1\"}}"; }

runs_as_nobody() {
    same "the user" "$(inspect '{{.Config.User}}')" 65532:65532
    same "the command" "$(inspect '{{json .Config.Entrypoint}} {{json .Config.Cmd}}')" "$command"
    same "the volume" "$(inspect '{{json .Config.Volumes}}')" "$volumes"
}

is_labelled() {
    local revision
    same "the title" "$(label title)" "$title"
    same "the licence" "$(label licenses)" Apache-2.0
    same "the version" "$(label version)" "$version"
    revision=$(label revision)
    [[ -n $(label description) ]] || fail "there is no description"
    [[ $revision =~ ^[0-9a-f]{40}(-dirty)?$ || $revision == unknown ]] || fail "this is no revision: $revision"
}

# Where nothing is but the image: the loader finds every library.
says_what_it_does() {
    local said
    said=$(docker run --rm --network none --read-only --cap-drop ALL "$tag" --help)
    [[ $said == *permissions* ]] || fail "its help is another one: $said"
}

check "two assemblies give the same root file system and bill of materials" two_assemblies_are_the_same
check "its program is the only one in it" has_one_program
check "root certificates and licences" has_certificates_and_licences
check "its bill of materials has all that is in it" has_its_bill_of_materials
check "user, command and volume" runs_as_nobody
check "labels" is_labelled
check "size" is_small
case $image in
    ragengine) check "it works without a network" images/check-offline.sh "$folder" ;;
    ragengine-operator) check "its program starts" says_what_it_does ;;
esac
[[ $failed == no ]]
