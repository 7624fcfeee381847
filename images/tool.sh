# shellcheck shell=bash
# Selects the program that builds images. Sourced.

# Prints the first program that works. Fails if there is none. docker and podman are also checked with `info`, because
# docker needs its daemon.
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
