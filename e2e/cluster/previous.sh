#!/usr/bin/env bash
# Provides the release that upgrades are tested from, of the commit that e2e/previous names: its chart, and its images in Docker. Both are kept in the
# cache, so that the commit is built once; the images as what they are made of, so that they outlive Docker's. With --chart: only the chart.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/paths.sh"

images=(ragengine ragengine-operator)
# Renamed at the end: an interruption leaves nothing that looks complete.
work="$previous_release.new"
# Hard links to what today's build has, beside it: links do not lead to another file system.
build_target="$target_dir/previous"

delete_work() { rm -rf "$work" "$build_target"; }

check_history() {
    git -C "$root" cat-file -e "$previous_commit^{commit}" 2>/dev/null ||
        fail "the previous release is the commit $previous_commit (e2e/previous), which is neither in the cache nor in this checkout's history" \
            "With all of the history it is: git fetch --unshallow"
}

# export_commit FOLDER [PATH...]: the commit's files.
export_commit() {
    mkdir -p "$1"
    git -C "$root" archive "$previous_commit" "${@:2}" | tar --extract --directory "$1"
}

keep_chart() {
    export_commit "$work/chart" charts/ragengine
    rm -rf "$previous_release/chart"
    mkdir -p "$previous_release"
    mv "$work/chart/charts/ragengine" "$previous_release/chart"
}

# With today's profile its dependencies are those that today's build has compiled already. cargo reads this file because it is above the source's folder.
use_todays_profile() {
    mkdir "$work/.cargo"
    awk '/^\[/ { is_ours = /^\[profile\.dev[].]/ } is_ours' "$root/Cargo.toml" >"$work/.cargo/config.toml"
}

# What is fetched is there already; what is made goes elsewhere than today's.
share_cache() {
    mkdir "$work/cache"
    find "$RAGENGINE_CACHE" -mindepth 1 -maxdepth 1 -type d ! -name images ! -name previous ! -name target -exec ln --symbolic --target-directory "$work/cache" {} +
}

# What cargo writes into in place is copied.
share_target() {
    local debug="$target_dir/debug"
    [[ -d $debug/deps ]] || return 0
    mkdir -p "$build_target/debug"
    cp --archive --link "$debug/deps" "$build_target/debug/"
    cp --archive "$debug/build" "$debug/.fingerprint" "$build_target/debug/"
}

# The whole workspace, as images/build.sh builds it.
build_programs() {
    cd "$work/source"
    env CARGO_TARGET_DIR="$build_target" CARGO_INCREMENTAL=0 CMAKE_CXX_COMPILER_LAUNCHER="$root/ragengine/faiss/compile.sh" \
        cargo build --locked --profile dev --workspace "${images[@]/#/--bin=}"
}

# assemble IMAGE: runs that commit's images/rootfs.sh. Its images/build.sh is not used: it would refuse the image, which today's profile makes larger.
assemble() {
    env RAGENGINE_CACHE="$work/cache" CARGO_TARGET_DIR="$build_target" \
        "$work/source/images/rootfs.sh" "$1" "$build_target/debug/$1" "$work/images/$1"
    # A folder with a Dockerfile and a rootfs.tar is all that the image is made from.
    mv "$work/images/$1/context" "$work/images/context"
    rm -rf "$work/images/$1"
    mv "$work/images/context" "$work/images/$1"
}

# Only the newest is kept.
delete_older() {
    find "${previous_release%/*}" -mindepth 1 -maxdepth 1 ! -path "$previous_release" -exec rm -rf {} +
    docker image ls --filter 'reference=ragengine*:previous-*' --format '{{.Repository}}:{{.Tag}}' | grep -v ":$previous_tag\$" |
        xargs --no-run-if-empty docker image rm >/dev/null || true
}

build_images() {
    local image
    step "Exporting its source" export_commit "$work/source"
    use_todays_profile
    share_cache
    step "Sharing what is compiled" share_target
    stage "Building its programs (minutes, once)" build_programs
    mkdir "$work/images"
    for image in "${images[@]}"; do step "Assembling its image $image" assemble "$image"; done
    mv "$work/images" "$previous_release/images"
    delete_older
}

# put_into_docker IMAGE
put_into_docker() {
    docker buildx version >/dev/null 2>&1 || export DOCKER_BUILDKIT=0
    docker build --build-arg VERSION=0.0.0 --build-arg "REVISION=$previous_commit" --tag "$1:$previous_tag" "$previous_release/images/$1"
}

# Two at once would write into the same folders.
mkdir -p "${previous_release%/*}"
exec 8>"$RAGENGINE_CACHE/previous.lock"
flock --timeout 3600 8 || fail "another build of the previous release does not end: stop it and try again"

echo "The previous release: $previous_commit"
if [[ ! -d $previous_release/chart || (${1:-} != --chart && ! -d $previous_release/images) ]]; then
    check_history
    trap delete_work EXIT
    delete_work
    [[ -d $previous_release/chart ]] || keep_chart
    [[ ${1:-} == --chart ]] || build_images
fi
[[ ${1:-} != --chart ]] || exit 0
for image in "${images[@]}"; do
    docker_has_image "$image:$previous_tag" || step "Putting $image:$previous_tag into Docker" put_into_docker "$image"
done
