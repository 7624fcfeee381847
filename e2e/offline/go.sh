# shellcheck shell=bash
# How the programs of go/ are built, each at the version in its go.mod. Sourced by the scripts beside it, after paths.sh.
# shellcheck disable=SC2154

export CGO_ENABLED=0 GOFLAGS="-trimpath -mod=readonly -modcacherw -buildvcs=false" GOWORK=off
export GOCACHE="$RAGENGINE_CACHE/go/build" GOMODCACHE="$RAGENGINE_CACHE/go/modules"

# program_in_path NAME VERSION: prints where PATH has kind or helm of this version, which is a pattern; fails when it has not.
program_in_path() {
    local path version
    path=$(command -v "$1") || return
    case $1 in
        kind) version=$("$path" version 2>/dev/null | awk '{ print $2 }') ;;
        helm) version=$("$path" version --template '{{.Version}}' 2>/dev/null) ;;
    esac
    # shellcheck disable=SC2053
    [[ $version == $2 ]] && echo "$path"
}

# download_modules FOLDER: a connection that hangs is given up. What has arrived stays, so that each attempt has less to do.
download_modules() {
    local seconds
    cd "$offline_scripts/go/$1" || return
    for seconds in 60 60 120 240 480; do
        if timeout --foreground "$seconds" go mod download; then return; fi
        echo "The modules of $1 have not arrived within $seconds s"
    done
    return 1
}

# build FOLDER OUTPUT PACKAGE VARIABLE=VALUE...: a program with these strings in it. A build that is interrupted leaves no OUTPUT.
build() {
    local folder=$1 output=$2 package=$3 linker_flags="-s -w" setting
    shift 3
    for setting in "$@"; do linker_flags+=" -X $setting"; done
    cd "$offline_scripts/go/$folder" || return
    mkdir -p "$(dirname "$output")"
    go build -ldflags "$linker_flags" -o "$output.new" "$package"
    mv "$output.new" "$output"
}

# Keeps of the modules only the archives that arrived, a fifth of their size: Go unpacks them again when it needs them.
delete_unpacked_modules() { find "$GOMODCACHE" -mindepth 1 -maxdepth 1 ! -name cache -exec rm -rf {} +; }
