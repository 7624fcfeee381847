"""Other people's clients, as they come, against running servers.

SERVERS has a name and an address for each: `extractive=http://127.0.0.1:5000 scripted=http://127.0.0.1:5001`. A test that takes `url` holds for
every server. One that takes `extractive` or `scripted` is about that one: the built-in model, or a language model whose words
tests/server/clients.rs writes. Each server has the same documents in the index `client`.
"""

import os

import pytest

SERVERS = {name: f"{address}/v1" for name, address in (entry.split("=", 1) for entry in os.environ["SERVERS"].split())}
QUESTION = "When is the annual tax return due?"
# The document that answers it.
SOURCE = "tax"
FROM_INDEX = {"index_name": "client"}
# Always the same words, and few: a small model may go on for long. The context may take as many tokens as the answer.
BRIEFLY = {"temperature": 0, "max_tokens": 200, "stop": ["\n"]}


def pytest_generate_tests(metafunc):
    if "url" in metafunc.fixturenames:
        metafunc.parametrize("url", SERVERS.values(), ids=SERVERS.keys())


@pytest.fixture
def extractive():
    return SERVERS["extractive"]


@pytest.fixture
def scripted():
    return SERVERS["scripted"]
