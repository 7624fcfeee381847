#!/usr/bin/env bash
# Builds an image: the binary, the root file system, the bill of materials, and the image IMAGE:VERSION with docker,
# buildah or podman.
#
# --image IMAGE          ragengine (default), ragengine-operator, or ragengine-e2e, the helper of the cluster tests
# --profile dev|release  the build profile of the binary, default release; dev builds the image IMAGE:dev for tests
# --rootfs-only          stop after the root file system, which needs none of the three tools
#
# The folder RAGENGINE_CACHE/images/IMAGE-PROFILE keeps rootfs, context, rootfs.tar.sha256 and IMAGE.cdx.json, the bill
# of materials. ragengine-e2e has no bill of materials.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source config/local/paths.sh
source config/local/step.sh
source images/tool.sh
source images/size.sh

image=ragengine
profile=release
rootfs_only=no
while (($# > 0)); do
    case $1 in
        --image)
            image=${2:-}
            shift 2 || fail "--image needs a value: ragengine, ragengine-operator or ragengine-e2e"
            ;;
        --profile)
            profile=${2:-}
            shift 2 || fail "--profile needs a value: dev or release"
            ;;
        --rootfs-only)
            rootfs_only=yes
            shift
            ;;
        *) fail "unknown option: $1; expected --image, --profile or --rootfs-only" ;;
    esac
done
case $image in
    ragengine) binary=ragengine ;;
    ragengine-operator) binary=ragengine-operator ;;
    ragengine-e2e) binary=cluster-client ;;
    *) fail "unknown image: $image; expected ragengine, ragengine-operator or ragengine-e2e" ;;
esac
case $profile in
    release) binary="$target_dir/release/$binary" ;;
    dev) binary="$target_dir/debug/$binary" ;;
    *) fail "unknown profile: $profile; expected dev or release" ;;
esac

version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n1)
output="$RAGENGINE_CACHE/images/$image-$profile"

build_binary() {
    [[ -d ${binary%/*}/deps ]] || echo "The first $profile build takes 15 to 30 minutes on 2 cores."
    # Building the whole workspace gives dependencies the same features as in the tests.
    cargo build --locked --profile "$profile" --workspace --bin "${binary##*/}"
}

check_size() {
    local bytes max
    max=$(max_mb "$image" "$profile")
    bytes=$(stat --format %s "$output/context/rootfs.tar")
    printf 'Root file system: %s, %d MB, sha256 %s\n' "$output/rootfs" $((bytes / 1000000)) \
        "$(cut -d' ' -f1 "$output/rootfs.tar.sha256")"
    ((bytes < max * 1000000)) ||
        fail "the image $image has $((bytes / 1000000)) MB; the limit is $max MB" \
            "To list the largest files: du -ah $output/rootfs | sort -h"
}

# Prints the commit of the checkout, with `-dirty` if there are uncommitted changes.
revision() {
    git describe --always --abbrev=40 --dirty --exclude '*' 2>/dev/null || echo unknown
}

build_image() {
    local tool=$1 tag=$2 command
    case $tool in
        # Without buildx, only the legacy builder works.
        docker)
            command=(docker build)
            docker buildx version >/dev/null 2>&1 || export DOCKER_BUILDKIT=0
            ;;
        # Every runtime accepts docker's format.
        *) command=("$tool" build --format docker) ;;
    esac
    "${command[@]}" --build-arg "VERSION=$version" --build-arg "REVISION=$(revision)" --tag "$tag" "$output/context"
}

if [[ $rootfs_only == no ]]; then
    tool=$(image_tool) || fail "docker, buildah and podman are missing or do not work" \
        "Start Docker (dockerd runs and 'docker info' works), or install buildah or podman: apt-get install buildah" \
        "To build only the root file system: make images ARGS=--rootfs-only"
fi

stage "Building ${binary##*/}, profile $profile" build_binary
# Concurrent builds would write into the same folder.
mkdir -p "${output%/*}"
exec 9>"$output.lock"
flock --timeout 600 9 || fail "another build of this image is still running after 10 minutes: stop it, and try again"
step "Assembling the root file system" images/rootfs.sh "$image" "$binary" "$output"
check_size
[[ $image == ragengine-e2e ]] || echo "Bill of materials: $output/$image.cdx.json"
[[ $rootfs_only == no ]] || exit 0

tag="$image:$version"
[[ $profile == release ]] || tag="$image:$profile"
step "Building the image $tag with $tool" build_image "$tool" "$tag"
echo "Built the image $tag in the store of $tool."
