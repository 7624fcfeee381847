#!/usr/bin/env bash
# Builds an image: the binary, its root file system with its bill of materials, then the image IMAGE:VERSION with docker, buildah or podman.
#
# --image IMAGE          ragengine, the server, unless told; ragengine-operator; ragengine-e2e, the program that the cluster's tests run in the cluster
# --profile dev|release  which build of the binary: release unless told; dev, the one of the tests, becomes IMAGE:dev
# --rootfs-only          stop after the root file system, which needs none of the three tools
#
# What the image is made of is left in RAGENGINE_CACHE/images/IMAGE-PROFILE: rootfs, context, rootfs.tar.sha256 and, but for the program of the tests,
# IMAGE.cdx.json, the bill of materials.
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
            shift 2 || fail "--image wants ragengine, ragengine-operator or ragengine-e2e"
            ;;
        --profile)
            profile=${2:-}
            shift 2 || fail "--profile wants dev or release"
            ;;
        --rootfs-only)
            rootfs_only=yes
            shift
            ;;
        *) fail "no such option: $1; there are --image, --profile and --rootfs-only" ;;
    esac
done
case $image in
    ragengine) binary=ragengine ;;
    ragengine-operator) binary=ragengine-operator ;;
    ragengine-e2e) binary=cluster-client ;;
    *) fail "no such image: $image; there are ragengine, ragengine-operator and ragengine-e2e" ;;
esac
case $profile in
    release) binary="$target_dir/release/$binary" ;;
    dev) binary="$target_dir/debug/$binary" ;;
    *) fail "no such profile: $profile; there are dev and release" ;;
esac

version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n1)
output="$RAGENGINE_CACHE/images/$image-$profile"

build_binary() {
    [[ -d ${binary%/*}/deps ]] || echo "The first $profile build takes 15 to 30 minutes on 2 cores."
    # The whole workspace, so that the dependencies have the features that the tests run with.
    cargo build --locked --profile "$profile" --workspace --bin "${binary##*/}"
}

check_size() {
    local bytes max
    max=$(max_mb "$image" "$profile")
    bytes=$(stat --format %s "$output/context/rootfs.tar")
    printf 'Root file system: %s, %d MB, sha256 %s\n' "$output/rootfs" $((bytes / 1000000)) "$(cut -d' ' -f1 "$output/rootfs.tar.sha256")"
    ((bytes < max * 1000000)) ||
        fail "the image $image has $((bytes / 1000000)) MB; $max are what it may have: see what has grown: du -ah $output/rootfs | sort -h"
}

# The commit that the image is made from, marked when the checkout differs from it.
revision() {
    git describe --always --abbrev=40 --dirty --exclude '*' 2>/dev/null || echo unknown
}

build_image() {
    local tool=$1 tag=$2 command
    case $tool in
        # Without buildx the builder of old has to be asked for.
        docker)
            command=(docker build)
            docker buildx version >/dev/null 2>&1 || export DOCKER_BUILDKIT=0
            ;;
        # The format is docker's, which every runtime takes.
        *) command=("$tool" build --format docker) ;;
    esac
    "${command[@]}" --build-arg "VERSION=$version" --build-arg "REVISION=$(revision)" --tag "$tag" "$output/context"
}

if [[ $rootfs_only == no ]]; then
    tool=$(image_tool) || fail "nothing here builds images" \
        "Start Docker (dockerd runs and 'docker info' works), or install buildah or podman: apt-get install buildah" \
        "For the root file system alone: make images ARGS=--rootfs-only"
fi

stage "Building ${binary##*/}, profile $profile" build_binary
# Two at once would write into the same folder.
mkdir -p "${output%/*}"
exec 9>"$output.lock"
flock --timeout 600 9 || fail "another build of this image does not end: stop it and try again"
step "Assembling the root file system" images/rootfs.sh "$image" "$binary" "$output"
check_size
[[ $image == ragengine-e2e ]] || echo "Bill of materials: $output/$image.cdx.json"
[[ $rootfs_only == no ]] || exit 0

tag="$image:$version"
[[ $profile == release ]] || tag="$image:$profile"
step "Building the image $tag with $tool" build_image "$tool" "$tag"
echo "The image is $tag in the store of $tool."
