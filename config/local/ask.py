"""Asks a server a question and prints the answer with its sources.

usage: ask.py SERVER INDEX QUESTION
"""

import json
import sys
import urllib.error
import urllib.request

TIMEOUT_S = 60


def ask(server: str, index: str, question: str) -> dict:
    """Returns the reply, in the format of OpenAI's API. Exits when the server does not answer or returns an error."""
    body = {"index_name": index, "messages": [{"role": "user", "content": question}]}
    request = urllib.request.Request(
        f"{server}/v1/chat/completions", json.dumps(body).encode(), {"Content-Type": "application/json"}
    )
    try:
        with urllib.request.urlopen(request, timeout=TIMEOUT_S) as reply:
            return json.load(reply)
    except urllib.error.HTTPError as error:
        sys.exit(f"error: the server returned {error.code}: {error.read().decode(errors='replace')}")
    except OSError as error:
        sys.exit(f"error: the server does not answer: {error}")


def sources(reply: dict) -> list[str]:
    """Returns a line for each passage: its number in the answer, its document, and its distance from the question."""
    nodes = enumerate(reply.get("source_nodes") or [], start=1)
    return [f"  [{number}] {node['doc_id']}, distance {node['score']:.2f}" for number, node in nodes]


def main(server: str, index: str, question: str) -> None:
    """Asks, and prints question, answer and sources."""
    reply = ask(server, index, question)
    print(f"\n> {question}\n\n{reply['choices'][0]['message']['content']}\n\nSources:")
    print("\n".join(sources(reply)) or sys.exit("error: the answer has no sources"))


if __name__ == "__main__":
    main(*sys.argv[1:])
