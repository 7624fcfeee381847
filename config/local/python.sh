#!/usr/bin/env bash
# Installs Python environments for the tests. `python.sh clients` installs the client libraries that are tested against
# the server. `python.sh cyclonedx` installs the validator of bills of materials. A changed list of requirements gets a
# new folder.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/paths.sh"
source "$here/step.sh"

# install VENV REQUIREMENTS
install() {
    # The old environment may be incomplete, or an upgrade of the system may have removed its Python.
    rm -rf "$1"
    "$(python_with_venv)" -m venv "$1"
    # The requirements list all transitive dependencies. `pip check` fails if one is missing.
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
