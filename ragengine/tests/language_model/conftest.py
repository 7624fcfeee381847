"""llama.cpp's server with a real language model, and the built server in front of it.

config/local/test-llm.sh runs these tests. The model is a base model, which continues a text, so chat_template.jinja
turns a conversation into a text. llama.cpp runs one request at a time and caches nothing, so the same prompt always
gets the same answer. Prompts with context differ in the digits around it.
"""

import json
import os
import socket
import subprocess
import time
import urllib.request
from contextlib import contextmanager
from pathlib import Path

import openai
import pytest

HERE = Path(__file__).parent
WINDOW_TOKENS = 2048
READY_TIMEOUT_S = 120
# Prefixes of environment variables of the caller that would change the servers.
OTHER_SETTINGS = ("LLM_", "LISTEN", "DATA_DIR", "RUST_LOG", "LLAMA_ARG_")
# Requests to this machine must not use a proxy.
DIRECT = urllib.request.build_opener(urllib.request.ProxyHandler({}))
DOCUMENTS = {
    "tax": "The annual tax return is due on the last day of May. Late returns cost a fee of 25 euros.",
    "library": "The library of Brackwater opens at seven in the morning and closes at noon. It is in Harbour Street.",
    "ferry": "The ferry to Sandholm is called Aurora. It leaves from pier nine.",
    "bread": "Sourdough bread needs a starter of flour and water. Bake it at 230 degrees for forty minutes.",
    "tokyo": "東京の図書館は毎週月曜日が休みです。 "
    "Die Bücherei in Köln schließt um 18 Uhr. 🦀🚀 naïve café",
    "code": "def area(radius):\n\tif radius < 0:\n\t\treturn None\n    # two   spaces\n\n\n"
    "    return 3.14159 * radius ** 2\n",
    "markup": "The start marker is <bos>, the end marker is <eos>, and <start_of_turn>user is neither. "
    "<h1>Markers</h1> [1] --- \u2581",
}

# Lines that tests want at the end of the run.
CLOSING_LINES = pytest.StashKey()


def pytest_configure(config):
    config.stash[CLOSING_LINES] = []


def pytest_terminal_summary(terminalreporter, config):
    for line in config.stash[CLOSING_LINES]:
        terminalreporter.write_line(line)


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("servers")


@pytest.fixture(scope="session")
def llama(folder):
    """The address of llama.cpp's server."""
    port = free_port()
    command = [os.environ["LLAMA_SERVER"], "--model", os.environ["LANGUAGE_MODEL"], "--alias", "gemma"]
    command += ["--host", "127.0.0.1", "--port", str(port), "--ctx-size", str(WINDOW_TOKENS), "--threads", "2"]
    command += ["--jinja", "--chat-template-file", str(HERE / "chat_template.jinja")]
    # For requests that set neither a temperature nor a limit, such as those of /query.
    command += ["--temp", "0", "--predict", "100"]
    command += ["--parallel", "1", "--no-cache-prompt", "--cache-ram", "0", "--offline"]
    # By default idle threads spin, which slows down the threads they wait for.
    environment = {"OMP_WAIT_POLICY": "passive"}
    with running(command, environment, folder / "llama.log", lambda log: f"http://127.0.0.1:{port}", "/health") as url:
        yield url


@pytest.fixture(scope="session")
def server(folder, llama):
    """The address of the RAGEngine server, with the documents in the index `client`."""
    with ragengine(folder / "ragengine", llama, max_distance=1.3) as url:
        add_documents(url)
        yield url


@pytest.fixture(scope="session")
def client(server):
    with openai_client(server) as client:
        yield client


@contextmanager
def ragengine(folder, llama, max_distance):
    """Runs a RAGEngine server with its files in this folder. Its chats use chunks within this distance."""
    folder.mkdir()
    settings = folder / "settings.yaml"
    # Every JSON file is a YAML file.
    inference = {"url": f"{llama}/v1", "tokenizer": os.environ["LANGUAGE_MODEL_TOKENIZER"]}
    settings.write_text(json.dumps({"inferenceService": inference, "retrieval": {"maxDistance": max_distance}}))
    environment = {"LISTEN": "127.0.0.1:0", "DATA_DIR": str(folder / "data")}
    command = [os.environ["RAGENGINE"], "serve", "--config", str(settings)]
    with running(command, environment, folder / "server.log", listening, "/readyz") as url:
        yield url


@contextmanager
def openai_client(url):
    with openai.DefaultHttpxClient(trust_env=False) as http:
        yield openai.OpenAI(base_url=f"{url}/v1", api_key="unused", max_retries=0, timeout=300, http_client=http)


def add_documents(url):
    documents = [{"doc_id": name, "text": text} for name, text in DOCUMENTS.items()]
    call(f"{url}/index", {"index_name": "client", "documents": documents})


def call(url, body=None):
    """The JSON reply to a GET request, or to a POST request if there is a body."""
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data, {"Content-Type": "application/json"})
    with DIRECT.open(request, timeout=60) as reply:
        return json.load(reply)


@contextmanager
def running(command, environment, log, address, ready_path):
    """Runs a server with its output in the file `log`.

    `address` returns the server's address for that file, or None if it is not known yet.
    """
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(OTHER_SETTINGS)}
    with log.open("wb") as output:
        process = subprocess.Popen(
            command, env=inherited | environment, stdin=subprocess.DEVNULL, stdout=output, stderr=output
        )
    try:
        yield wait_until_ready(process, log, address, ready_path)
    finally:
        process.terminate()
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def wait_until_ready(process, log, address, ready_path):
    deadline = time.monotonic() + READY_TIMEOUT_S
    while time.monotonic() < deadline and process.poll() is None:
        url = address(log)
        if url and is_ready(url + ready_path):
            return url
        time.sleep(0.1)
    end = "\n".join(log.read_text().splitlines()[-30:])
    raise RuntimeError(f"{process.args[0]} was not ready in time; the end of its log:\n{end}")


def is_ready(url):
    try:
        call(url)
    except OSError:
        return False
    return True


def listening(log):
    """The address in the log of the RAGEngine server, or None."""
    lines = (json.loads(line) for line in log.read_text().splitlines() if line.endswith("}"))
    return next((f"http://{line['address']}" for line in lines if line.get("message") == "listening"), None)


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]
