#!/usr/bin/env bash
# Provides the release that upgrades are tested from: the chart of the commit in e2e/previous, and its images in Docker.
# With --chart: only the chart.
#
# The cache keeps the chart and the build contexts of the images. So the commit is built once, also when Docker loses
# the images.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/paths.sh"

images=(ragengine ragengine-operator)
# Renamed at the end, so that an interrupted build does not look complete.
work="$previous_release.new"
# Has hard links to the current build. Those work only within one file system.
build_target="$target_dir/previous"

delete_work() { rm -rf "$work" "$build_target"; }

check_history() {
    git -C "$root" cat-file -e "$previous_commit^{commit}" 2>/dev/null ||
        fail "the previous release (e2e/previous) is not cached, and this checkout lacks its commit $previous_commit" \
            "Fetch the whole history: git fetch --unshallow"
}

# export_commit FOLDER [PATH...]: writes the commit's files into the folder.
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

# With the current build profile, the compiled dependencies of the current build can be reused. cargo reads this file
# because it is in a parent folder of the source.
use_todays_profile() {
    mkdir "$work/.cargo"
    awk '/^\[/ { is_ours = /^\[profile\.dev[].]/ } is_ours' "$root/Cargo.toml" >"$work/.cargo/config.toml"
}

# Shares the downloads. The build output stays separate from that of the current build.
share_cache() {
    mkdir "$work/cache"
    find "$RAGENGINE_CACHE" -mindepth 1 -maxdepth 1 -type d ! -name images ! -name previous ! -name target \
        -exec ln --symbolic --target-directory "$work/cache" {} +
}

# Files that cargo changes in place are copied, the others are linked.
share_target() {
    local debug="$target_dir/debug"
    [[ -d $debug/deps ]] || return 0
    mkdir -p "$build_target/debug"
    cp --archive --link "$debug/deps" "$build_target/debug/"
    cp --archive "$debug/build" "$debug/.fingerprint" "$build_target/debug/"
}

# Builds the whole workspace, as images/build.sh does.
build_programs() {
    cd "$work/source"
    env CARGO_TARGET_DIR="$build_target" CARGO_INCREMENTAL=0 \
        CMAKE_CXX_COMPILER_LAUNCHER="$root/ragengine/faiss/compile.sh" \
        cargo build --locked --profile dev --workspace "${images[@]/#/--bin=}"
}

# assemble IMAGE: runs that commit's images/rootfs.sh. Its images/build.sh would refuse the image, because the current
# build profile makes it larger.
assemble() {
    env RAGENGINE_CACHE="$work/cache" CARGO_TARGET_DIR="$build_target" \
        "$work/source/images/rootfs.sh" "$1" "$build_target/debug/$1" "$work/images/$1"
    # The build context has a Dockerfile and a rootfs.tar.
    mv "$work/images/$1/context" "$work/images/context"
    rm -rf "$work/images/$1"
    mv "$work/images/context" "$work/images/$1"
}

delete_older() {
    find "${previous_release%/*}" -mindepth 1 -maxdepth 1 ! -path "$previous_release" -exec rm -rf {} +
    docker image ls --filter 'reference=ragengine*:previous-*' --format '{{.Repository}}:{{.Tag}}' |
        grep -v ":$previous_tag\$" |
        xargs --no-run-if-empty docker image rm >/dev/null || true
}

build_images() {
    local image
    step "Exporting the source" export_commit "$work/source"
    use_todays_profile
    share_cache
    step "Linking compiled dependencies" share_target
    stage "Building the programs (several minutes, only the first time)" build_programs
    mkdir "$work/images"
    for image in "${images[@]}"; do step "Assembling the image $image" assemble "$image"; done
    mv "$work/images" "$previous_release/images"
    delete_older
}

# put_into_docker IMAGE
put_into_docker() {
    docker buildx version >/dev/null 2>&1 || export DOCKER_BUILDKIT=0
    docker build --build-arg VERSION=0.0.0 --build-arg "REVISION=$previous_commit" --tag "$1:$previous_tag" \
        "$previous_release/images/$1"
}

# Concurrent builds would write into the same folders.
mkdir -p "${previous_release%/*}"
exec 8>"$RAGENGINE_CACHE/previous.lock"
flock --timeout 3600 8 ||
    fail "another build of the previous release is still running after an hour: stop it, and try again"

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
    docker_has_image "$image:$previous_tag" || step "Building the image $image:$previous_tag" put_into_docker "$image"
done
