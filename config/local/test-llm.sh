#!/usr/bin/env bash
# Runs the tests with a real language model on llama.cpp's server. Arguments are passed to pytest.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/paths.sh"
source "$here/step.sh"

# ragengine/tests/language_model/conftest.py reads these.
export RAGENGINE="$target_dir/debug/ragengine" EMBEDDING_MODEL="$embedding_model"
export LLAMA_SERVER="$llama_server/llama-server"
export LANGUAGE_MODEL="$language_model/model.gguf" LANGUAGE_MODEL_TOKENIZER="$language_model_tokenizer"
export RAGENGINE_PYTHON="$python_venv/bin/python" RAGENGINE_LLAMA_INDEX_PYTHON="$llama_index_venv/bin/python"
export PYTHONDONTWRITEBYTECODE=1

stage "Server" "$here/build.sh"
stage "Tests with a real language model" "$RAGENGINE_PYTHON" -m pytest -p no:cacheprovider \
    --durations=0 --durations-min=1 "$language_model_tests" "$@"
