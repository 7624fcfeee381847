#!/usr/bin/env bash
# Makes the Python environment in which the tests run OpenAI's own client: requirements.txt, each version of it in a folder of its own.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/paths.sh"
source "$here/step.sh"

install() {
    # The last environment's Python may be gone with an upgrade of the system, and an interrupted one is half there.
    rm -rf "$python_venv"
    "$(python_with_venv)" -m venv "$python_venv"
    # requirements.txt is the whole closure: nothing else is resolved, and `check` says when something is missing in it.
    "$python_venv/bin/pip" --disable-pip-version-check install --no-deps --only-binary :all: --requirement "$here/requirements.txt"
    "$python_venv/bin/pip" check
    touch "$python_venv/complete"
}

if [[ -f $python_venv/complete ]] && "$python_venv/bin/python" -c ''; then
    echo "Python environment: there"
else
    step "Installing OpenAI's Python client for the tests" install
fi
