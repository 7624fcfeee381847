"""Third-party clients against running servers.

The environment variable SERVERS lists the name and address of each server, for example
`extractive=http://127.0.0.1:5000 scripted=http://127.0.0.1:5001`. Tests with the fixture `url` run against every
server; one with a real language model is called `model`. Tests with the fixture `extractive` use the server with the built-in model, and tests with `scripted` the one
with the language model in tests/server/clients.rs. Each server has the same documents in the index `client`.
"""

import os

import pytest

ADDRESSES = dict(entry.split("=", 1) for entry in os.environ["SERVERS"].split())
SERVERS = {name: f"{address}/v1" for name, address in ADDRESSES.items()}
QUESTION = "When is the annual tax return due?"
# The id of the document that answers the question.
SOURCE = "tax"
FROM_INDEX = {"index_name": "client"}
# Deterministic and short answers, because a small model may never stop.
BRIEFLY = {"temperature": 0, "max_tokens": 200, "stop": ["\n"]}


def are_alike(url, *answers):
    """Whether these answers to one question are the same.

    Each prompt has other digits around its context. A real language model may then choose other words, so its answers
    only need to have text.
    """
    return all(answers) and (url == SERVERS.get("model") or len(set(answers)) == 1)


def pytest_generate_tests(metafunc):
    if "url" in metafunc.fixturenames:
        metafunc.parametrize("url", SERVERS.values(), ids=SERVERS.keys())


@pytest.fixture
def extractive():
    return SERVERS["extractive"]


@pytest.fixture
def scripted():
    return SERVERS["scripted"]
