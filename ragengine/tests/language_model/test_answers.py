"""A real language model answers from the documents."""

import pytest
from conftest import call

# The model cannot answer these questions without the documents.
QUESTIONS = [
    ("When does the library of Brackwater open?", "library", "seven"),
    ("What is the name of the ferry to Sandholm?", "ferry", "Aurora"),
    ("How many euros is the fee for a late tax return?", "tax", "25"),
    ("At how many degrees is sourdough bread baked?", "bread", "230"),
]


def asked(question, extra_body=None):
    messages = [{"role": "user", "content": question}]
    options = {"temperature": 0, "stop": ["\n"], "max_tokens": 100, "extra_body": extra_body}
    return {"model": "gemma", "messages": messages} | options


def from_index(index_name):
    return {"index_name": index_name, "context_token_ratio": 0.8}


@pytest.mark.parametrize(("question", "source", "answer"), QUESTIONS, ids=[source for _, source, _ in QUESTIONS])
def test_a_question_gets_its_answer_from_its_document(client, question, source, answer):
    reply = client.chat.completions.create(**asked(question, from_index("client")))
    assert answer in reply.choices[0].message.content
    assert reply.source_nodes[0]["doc_id"] == source

    without = client.chat.completions.create(**asked(question))
    assert answer not in without.choices[0].message.content, "the model knows the answer without the document"

    chunks = list(client.chat.completions.create(**asked(question, from_index("client")), stream=True))
    text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
    assert text == reply.choices[0].message.content
    assert chunks[-1].source_nodes == reply.source_nodes


def test_a_deleted_document_is_in_no_later_answer(client, server):
    documents = [{"doc_id": "code", "text": "The code word of the night watch is marmalade."}]
    call(f"{server}/index", {"index_name": "watch", "documents": documents})
    question = asked("What is the code word of the night watch?", from_index("watch"))
    assert "marmalade" in client.chat.completions.create(**question).choices[0].message.content
    call(f"{server}/indexes/watch/documents/delete", {"doc_ids": ["code"]})
    reply = client.chat.completions.create(**question)
    assert "marmalade" not in reply.choices[0].message.content
    assert reply.source_nodes is None
