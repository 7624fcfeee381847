#!/usr/bin/env bash
# Checks an image that build.sh built with docker. Without CHECK, all checks run, also after a failed one.
#
# usage: check.sh ragengine|ragengine-operator dev|release [CHECK]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source config/local/paths.sh
source config/local/step.sh
source images/size.sh

usage="usage: check.sh ragengine|ragengine-operator dev|release [CHECK]"
[[ $# -ge 2 && $# -le 3 && $1 =~ ^ragengine(-operator)?$ ]] || fail "$usage"
image=$1 profile=$2 only=${3:-}
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
# The process id makes the name unique, because checks of one image may run at the same time.
again="$folder.again-$$"
log=$(mktemp)
trap 'rm -rf "$log" "$again" "$again.new"' EXIT
failed=no

# check NAME COMMAND...: runs the command, and shows its output only if it fails. Must not be called in a condition.
check() {
    local name=$1 status
    shift
    [[ -z $only || $only == "$name" ]] || return 0
    checked=yes
    printf 'image: %s: %s ... ' "$image" "$name"
    attempt "$@" </dev/null >"$log" 2>&1
    if ((status == 0)); then
        echo ok
    else
        failed=yes
        echo FAILED
        cat "$log"
    fi
}

# same WHAT FOUND EXPECTED
same() {
    [[ $2 == "$3" ]] || fail "$1 is wrong" "found:    $2" "expected: $3"
}

# The second assembly runs with another umask and another time zone.
two_assemblies_are_the_same() {
    (umask 077 && TZ=Asia/Kathmandu images/rootfs.sh "$image" "$binary" "$again")
    same "the second root file system" "$(cat "$again/rootfs.tar.sha256")" "$(cat "$folder/rootfs.tar.sha256")"
    diff "$folder/$image.cdx.json" "$again/$image.cdx.json"
}

# The image must have no shell and no package manager.
has_one_program() {
    same "the list of programs" \
        "$(tar --list --file "$folder/context/rootfs.tar" | grep -E '/s?bin/.' | xargs)" "./usr/bin/$image"
}

has_certificates_and_licences() {
    local file
    for file in etc/ssl/certs/ca-certificates.crt usr/share/doc/{ragengine/{LICENSE,crates.txt},libc6/copyright}; do
        tar --list --file "$folder/context/rootfs.tar" "./$file"
    done
}

has_its_bill_of_materials() {
    "$cyclonedx_venv/bin/python" -B images/check_sbom.py "$image" x86_64-unknown-linux-gnu "$folder"
}

is_small() {
    local bytes max
    max=$(max_mb "$image" "$profile")
    bytes=$(inspect '{{.Size}}')
    ((bytes < max * 1000000)) || fail "the image has $((bytes / 1000000)) MB; the limit is $max MB"
}

# inspect TEMPLATE
inspect() { docker image inspect --format "$1" "$tag"; }

label() { inspect "{{index .Config.Labels \"org.opencontainers.image.$1\"}}"; }

runs_as_its_user() {
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
    [[ -n $(label description) ]] || fail "the label description is missing"
    [[ $revision =~ ^[0-9a-f]{40}(-dirty)?$ || $revision == unknown ]] ||
        fail "the label revision is invalid: $revision"
}

# Shows that the loader finds all libraries in the image.
prints_its_help() {
    local help
    help=$(docker run --rm --network none --read-only --cap-drop ALL "$tag" --help)
    [[ $help == *permissions* ]] || fail "the help lacks the command 'permissions': $help"
}

checked=no
check assembly two_assemblies_are_the_same
check programs has_one_program
check certificates has_certificates_and_licences
check bill-of-materials has_its_bill_of_materials
check user runs_as_its_user
check labels is_labelled
check size is_small
case $image in
    ragengine) check offline images/check-offline.sh "$folder" ;;
    ragengine-operator) check start prints_its_help ;;
esac
[[ $checked == yes ]] || fail "unknown check: $only"
[[ $failed == no ]]
