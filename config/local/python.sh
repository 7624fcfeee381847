#!/usr/bin/env bash
# Makes Python environments for the tests: python.sh clients, those in which they run other people's clients; python.sh cyclonedx, that in which they validate
# bills of materials. Each version of a list of requirements is in a folder of its own.
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

case ${1:-} in
    clients)
        provide "OpenAI's client and LangChain" "$python_venv" "$here/requirements.txt"
        provide "LlamaIndex" "$llama_index_venv" "$here/requirements-llama-index.txt"
        ;;
    cyclonedx) provide "CycloneDX's validator" "$cyclonedx_venv" "$here/requirements-cyclonedx.txt" ;;
    *) fail "usage: python.sh clients|cyclonedx" ;;
esac
