#!/usr/bin/env bash
# Makes the Python environments in which the tests run other people's clients: each version of a list of requirements in a folder of its own.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/paths.sh"
source "$here/step.sh"

# install VENV REQUIREMENTS
install() {
    # The last environment's Python may be gone with an upgrade of the system, and an interrupted one is half there.
    rm -rf "$1"
    "$(python_with_venv)" -m venv "$1"
    # The requirements are the whole closure: nothing else is resolved, and `check` says when something is missing in it.
    "$1/bin/pip" --disable-pip-version-check install --no-deps --only-binary :all: --requirement "$2"
    "$1/bin/pip" check
    touch "$1/complete"
}

# provide NAME VENV REQUIREMENTS
provide() {
    if [[ -f $2/complete ]] && "$2/bin/python" -c ''; then
        echo "Python environment of $1: there"
    else
        step "Installing the Python environment of $1" install "$2" "$3"
    fi
}

provide "OpenAI's client and LangChain" "$python_venv" "$here/requirements.txt"
provide "LlamaIndex" "$llama_index_venv" "$here/requirements-llama-index.txt"
