#!/usr/bin/env bash
# Assembles the root file system and the build context of an image.
#
# usage: rootfs.sh IMAGE BINARY OUTPUT
#
# IMAGE is ragengine (the server), ragengine-operator, or ragengine-e2e (the helper program of the cluster tests).
# Writes OUTPUT/rootfs, OUTPUT/context (Dockerfile, rootfs.tar), OUTPUT/rootfs.tar.sha256 and OUTPUT/IMAGE.cdx.json, the
# bill of materials. ragengine-e2e has no bill of materials.
#
# The tar is reproducible: its names are sorted, and its dates, owners and modes are fixed.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source config/local/paths.sh
source config/local/step.sh
images="$root/images"
umask 022
export LC_ALL=C

[[ $# == 3 && $1 =~ ^ragengine(-operator|-e2e)?$ && $2 == /* && $3 == /* ]] ||
    fail "usage: rootfs.sh ragengine|ragengine-operator|ragengine-e2e BINARY OUTPUT; the last two are absolute paths"
image=$1
binary=$2
output=$3
# Renamed at the end, so that an interrupted run keeps the old output.
work="$output.new"
rootfs="$work/rootfs"

# The first three are mount points of container runtimes.
make_folders() {
    mkdir -p "$rootfs"/{proc,sys,dev,etc,usr/bin}
}

add_binary() {
    install -m 755 "$binary" "$rootfs/usr/bin/"
    strip --strip-all "$rootfs/usr/bin/${binary##*/}"
}

# libraries [PROGRAM]: prints the paths of the program's shared libraries, as ldd finds them.
libraries() {
    env -u LD_LIBRARY_PATH -u LD_PRELOAD ldd "${1:-$binary}" |
        awk '$2 == "=>" { print $3 } $1 ~ "^/" { print $1 }' | sort
}

# add_libraries [PROGRAM]: copies them to the same paths, where the loader looks without a cache.
add_libraries() {
    local library
    for library in $(libraries "$@"); do
        install -D -m 755 "$library" "$rootfs$library"
    done
}

# Replaces OpenBLAS with the part that the server calls.
add_part_of_openblas() {
    local openblas libgfortran
    openblas=$(libraries | grep -m1 /libopenblas.so)
    libgfortran=$(libraries | grep -m1 /libgfortran.so)
    "$images/openblas.sh" "$binary" "$libgfortran" "$rootfs$openblas"
}

# Fails with the name of the library if one is missing.
try_binary() {
    "$rootfs/lib64/ld-linux-x86-64.so.2" --inhibit-cache --library-path "$rootfs/lib/x86_64-linux-gnu" \
        "$rootfs/usr/bin/${binary##*/}" --help
}

# Mozilla's root certificates from Debian's package. /etc/ssl/certs may also have certificates of this machine.
add_certificates() {
    mkdir -p "$rootfs/etc/ssl/certs"
    cat /usr/share/ca-certificates/mozilla/*.crt >"$rootfs/etc/ssl/certs/ca-certificates.crt"
}

# Names of users and groups, and the sources of host names.
add_names() {
    printf '%s\n' 'root:x:0:0:root:/:/nologin' 'nonroot:x:65532:65532:nonroot:/data:/nologin' >"$rootfs/etc/passwd"
    printf '%s\n' 'root:x:0:' 'nonroot:x:65532:' >"$rootfs/etc/group"
    echo 'hosts: files dns' >"$rootfs/etc/nsswitch.conf"
}

add_model() {
    local name=sentence-transformers/all-MiniLM-L6-v2
    (cd "$embedding_model" && sha256sum --check --quiet "$here/model.sha256")
    mkdir -p "$rootfs/models/${name%/*}"
    cp -r --no-preserve=all "$embedding_model" "$rootfs/models/$name"
}

add_settings() {
    mkdir "$rootfs/etc/ragengine"
    install -m 644 "$images/ragengine/settings.yaml" "$rootfs/etc/ragengine/"
}

# Prints each library and its Debian package. A package may list the path with or without the prefix /usr.
library_packages() {
    local library path found
    for library in $(libraries); do
        path=$(readlink -f "$library")
        found=$(dpkg-query --search "$path" "${path#/usr}" 2>/dev/null || true)
        [[ -n $found ]] || fail "no Debian package contains $path, so its licence is unknown"
        printf '%s %s\n' "$library" "${found%%:*}"
    done
}

add_licences() {
    local documents="$rootfs/usr/share/doc" package packages texts
    mkdir -p "$documents/ragengine"
    install -m 644 LICENSE "$documents/ragengine/LICENSE"
    "$(python_with_venv)" "$images/licences.py" "$image" x86_64-unknown-linux-gnu >"$documents/ragengine/crates.txt"
    install -m 644 "$(rustc --print sysroot)/share/doc/rust/COPYRIGHT-library.html" \
        "$documents/ragengine/rust-standard-library.html"

    packages=$(library_packages | cut -d' ' -f2 | sort -u)
    for package in ca-certificates $packages; do
        install -D -m 644 "/usr/share/doc/$package/copyright" "$documents/$package/copyright"
    done
    # The licence texts that the copyright files refer to.
    mapfile -t texts < <(grep -rhoE '/usr/share/common-licenses/[A-Za-z0-9.-]*[A-Za-z0-9]' "$documents" | sort -u)
    install -D -m 644 --target-directory "$rootfs/usr/share/common-licenses" "${texts[@]}"
}

# The server's user owns the data folder. root owns all other files.
pack() {
    local format=(--format=ustar --sort=name --mtime=@0 --numeric-owner '--mode=u=rwX,go=rX' --directory "$rootfs")
    mkdir -p "$work/context"
    tar --create --file "$work/context/rootfs.tar" "${format[@]}" --owner=0 --group=0 --exclude=./data .
    [[ ! -d $rootfs/data ]] ||
        tar --append --file "$work/context/rootfs.tar" "${format[@]}" --owner=65532 --group=65532 ./data
    cp "$images/$image/Dockerfile" "$work/context/"
    (cd "$work/context" && sha256sum rootfs.tar) >"$work/rootfs.tar.sha256"
}

add_server() {
    mkdir "$rootfs/data"
    add_part_of_openblas
    add_model
    add_settings
}

# Copies this machine's git for the git server of the tests, which needs two programs.
add_git() {
    local program
    command -v git >/dev/null || fail "git is missing: apt-get install git"
    for program in "$(command -v git)" "$(git --exec-path)/git-http-backend"; do
        install -D -m 755 "$program" "$rootfs$program"
        add_libraries "$program"
    done
}

# Copies this machine's Redis server for the tests of conversations. Its program behaves by its name.
add_redis() {
    local program=/usr/bin/redis-server
    [[ -x $program ]] || fail "redis-server is missing: apt-get install redis-server"
    install -D -m 755 "$(readlink -f "$program")" "$rootfs$program"
    add_libraries "$program"
}

# Copies this machine's PostgreSQL server for the tests of several replicas: the programs, what a new database is made
# of, the two libraries that it needs, and the shell that `initdb` calls. Time zones are read from files.
add_postgres() {
    local programs program version share library zone
    programs=$(printf '%s\n' /usr/lib/postgresql/*/bin/initdb | sort --version-sort | tail -n1)
    [[ -x $programs ]] || fail "PostgreSQL is missing: apt-get install postgresql"
    programs=${programs%/*}
    version=${programs%/bin}
    version=${version##*/}
    for program in "$programs"/{postgres,initdb}; do
        install -D -m 755 "$program" "$rootfs$program"
        add_libraries "$program"
        ln -s "$program" "$rootfs/usr/bin/${program##*/}"
    done
    for library in plpgsql dict_snowball; do
        library="${programs%/bin}/lib/$library.so"
        install -D -m 755 "$library" "$rootfs$library"
    done
    share="/usr/share/postgresql/$version"
    mkdir -p "$rootfs$share/extension"
    cp -rL --no-preserve=all "$share"/{*.sql,*.sample,*.txt,postgres.bki,timezonesets,tsearch_data} "$rootfs$share/"
    cp --no-preserve=all "$share/extension"/plpgsql* "$rootfs$share/extension/"
    for zone in UTC GMT Etc/UTC; do
        [[ ! -e /usr/share/zoneinfo/$zone ]] ||
            install -D -m 644 "/usr/share/zoneinfo/$zone" "$rootfs/usr/share/zoneinfo/$zone"
    done
    install -D -m 755 "$(readlink -f /bin/dash)" "$rootfs/bin/sh"
    add_libraries "$rootfs/bin/sh"
}

# Copies Weaviate, which needs no library.
add_weaviate() {
    [[ -x $weaviate/weaviate ]] || fail "Weaviate is missing: config/local/weaviate.sh"
    install -D -m 755 "$weaviate/weaviate" "$rootfs/usr/bin/weaviate"
}

rm -rf "$work"
make_folders
add_binary
add_libraries
add_names
[[ $image != ragengine ]] || add_server
# The image of the tests is not distributed, so it needs no licences.
if [[ $image == ragengine-e2e ]]; then
    add_git
    add_postgres
    add_redis
    add_weaviate
else
    add_certificates
    add_licences
fi
try_binary
pack
[[ $image == ragengine-e2e ]] || library_packages | "$images/sbom.sh" "$image" "$work"
rm -rf "$output"
mv "$work" "$output"
