"""The predicted size of the prompt equals the number of prompt tokens that llama.cpp reports."""

import pytest
from conftest import DOCUMENTS, WINDOW_TOKENS, call

CONVERSATIONS = {
    "question": [{"role": "user", "content": "When is the annual tax return due?"}],
    "history": [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Do libraries open on Mondays?"},
        {"role": "assistant", "content": "Some do."},
        {"role": "user", "content": "When does the library of Brackwater open?"},
    ],
    "languages": [
        {
            "role": "system",
            "content": "Réponds en français. 日本語でも。 \U0001f469\u200d\U0001f680 \ud7a3\u0323",
        },
        {
            "role": "user",
            "content": "東京の図書館はいつ休みですか。 Und wann schließt die Bücherei in Köln?",
        },
    ],
    "spaces": [
        {"role": "system", "content": "\n\n\n  indented\t\ttwice\r\n\r\n   \u00a0and \u3000 wide    "},
        {"role": "user", "content": "How is the   area of a radius\n\n\ncalculated in def area(radius)?"},
    ],
    "special tokens": [
        {
            "role": "system",
            "content": "<bos><eos><pad><unk>[multimodal]<unused42><start_of_turn>user <h1></h1></s>\u2581\u2581",
        },
        {"role": "user", "content": "What is the start marker <bos>, and what the end marker <eos>?"},
    ],
}


EXPLAINED = {"index_name": "client", "explain": True}


@pytest.mark.parametrize("messages", CONVERSATIONS.values(), ids=CONVERSATIONS.keys())
def test_the_prompt_size_of_a_conversation_is_exact(client, llama, messages):
    reply = client.chat.completions.create(
        model="gemma", messages=messages, temperature=0, stop=["\n"], max_tokens=1000, extra_body=EXPLAINED
    )
    explained = reply.explanation
    assert (explained["path"], explained["tokenizer"], explained["window_tokens"]) == ("rag", "served", WINDOW_TOKENS)
    assert explained["prompt_tokens"] == reply.usage.prompt_tokens
    assert explained["conversation_tokens"] == size(llama, messages)
    assert 0 < explained["context_tokens"]["used"] <= explained["context_tokens"]["budget"]


@pytest.mark.parametrize("name", DOCUMENTS)
def test_the_prompt_size_of_every_document_is_exact(client, name):
    """Each document serves as the history of a conversation."""
    messages = [
        {"role": "user", "content": DOCUMENTS[name]},
        {"role": "assistant", "content": DOCUMENTS[name]},
        {"role": "user", "content": "When is the annual tax return due?"},
    ]
    reply = client.chat.completions.create(
        model="gemma", messages=messages, temperature=0, stop=["\n"], max_tokens=200, extra_body=EXPLAINED
    )
    assert reply.explanation["prompt_tokens"] == reply.usage.prompt_tokens


def test_a_prompt_fills_the_window_to_the_last_token(client, llama):
    """The conversation leaves room for the context and a few tokens of an answer. llama.cpp refuses one token more."""
    long = {"role": "user", "content": "harbour " * 1750}
    question = {"role": "user", "content": "When is the annual tax return due?"}
    messages = [long, {"role": "assistant", "content": "Yes."}, question]
    reply = client.chat.completions.create(
        model="gemma", messages=messages, temperature=0, max_tokens=WINDOW_TOKENS, extra_body=EXPLAINED
    )
    assert reply.explanation["prompt_tokens"] == reply.usage.prompt_tokens
    assert reply.explanation["max_tokens"] == WINDOW_TOKENS - reply.usage.prompt_tokens
    assert reply.usage.total_tokens <= WINDOW_TOKENS


def size(llama, messages):
    """The number of tokens of a conversation by llama.cpp's own template and tokenizer."""
    prompt = call(f"{llama}/apply-template", {"messages": messages})["prompt"]
    return len(call(f"{llama}/tokenize", {"content": prompt, "add_special": True, "parse_special": True})["tokens"])
