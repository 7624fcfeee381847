#!/usr/bin/env bash
# Links the functions of OpenBLAS that a program calls into a separate library: 8 MB instead of 37 MB. The source is the
# archive in Debian's libopenblas-dev.
#
# usage: openblas.sh BINARY LIBGFORTRAN OUTPUT
#
# OpenBLAS has kernels for the processors of the last twenty years and selects one at run time. The server does not
# start without AVX2, because FAISS needs it. So the symbols of older processors are mapped to the kernels of Haswell,
# and the kernels of older processors are not linked.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source config/local/paths.sh
source config/local/step.sh
export LC_ALL=C

(($# == 3)) || fail "usage: openblas.sh BINARY LIBGFORTRAN OUTPUT"
binary=$1
libgfortran=$2
output=$3

before_avx2=(
    PRESCOTT CORE2 PENRYN DUNNINGTON ATOM NANO NEHALEM SANDYBRIDGE
    OPTERON OPTERON_SSE3 BARCELONA BOBCAT BULLDOZER PILEDRIVER STEAMROLLER
)

names() { awk '{ print $NF }' | cut -d@ -f1 | sort -u; }

archive=$(gcc -print-file-name=libopenblas.a)
[[ -f $archive ]] || fail "libopenblas.a is missing: apt-get install libopenblas-dev"
mapfile -t called < <(comm -12 \
    <(nm --dynamic --undefined-only "$binary" | names) \
    <(nm --dynamic --defined-only "$(gcc -print-file-name=libopenblas.so)" | names))
((${#called[@]} > 0)) || fail "$binary calls no function of OpenBLAS"

exports=$(mktemp)
trap 'rm -f "$exports"' EXIT
{
    echo '{ global:'
    printf '    %s;\n' "${called[@]}"
    echo '  local: *; };'
} >"$exports"

options=("-Wl,--version-script=$exports" '-Wl,-soname,libopenblas.so.0' '-Wl,--build-id=none')
options+=('-Wl,--gc-sections' '-Wl,-z,relro' '-Wl,-z,now')
for name in "${called[@]}"; do options+=("-Wl,--undefined=$name"); done
for processor in "${before_avx2[@]}"; do options+=("-Wl,--defsym=gotoblas_$processor=gotoblas_HASWELL"); done
gcc -shared -o "$output" "${options[@]}" "$archive" "$libgfortran" -lm -lpthread
strip --strip-all "$output"
