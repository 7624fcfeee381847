# shellcheck shell=bash
# Which program builds images. Sourced.

# Prints the first that works: docker wants its daemon. Fails when there is none.
image_tool() {
    if command -v docker >/dev/null && timeout --foreground 20 docker info >/dev/null 2>&1; then
        echo docker
    elif command -v buildah >/dev/null; then
        echo buildah
    elif command -v podman >/dev/null && timeout --foreground 20 podman info >/dev/null 2>&1; then
        echo podman
    else
        return 1
    fi
}
