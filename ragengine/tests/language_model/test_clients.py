"""The tests in ../clients with a real language model."""

import os
import subprocess
from pathlib import Path

import pytest

CLIENTS = Path(__file__).parent.parent / "clients"


@pytest.mark.parametrize(
    ("variable", "file"),
    [
        ("RAGENGINE_PYTHON", "test_openai.py"),
        ("RAGENGINE_PYTHON", "test_langchain.py"),
        ("RAGENGINE_LLAMA_INDEX_PYTHON", "test_llama_index.py"),
    ],
)
def test_a_client_works(server, variable, file):
    command = [os.environ[variable], "-m", "pytest", "-q", "-p", "no:cacheprovider", str(CLIENTS / file)]
    environment = os.environ | {"SERVERS": f"model={server}"}
    ended = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=600)
    assert ended.returncode == 0, ended.stdout + ended.stderr
