"""The official OpenAI client against a running server: started by tests/server/openai_client.rs."""

import asyncio
import os

import openai
import pytest

EXTRACTIVE = os.environ["EXTRACTIVE_SERVER"] + "/v1"
UPSTREAM = os.environ["UPSTREAM_SERVER"] + "/v1"
QUESTION = [{"role": "user", "content": "When is the annual tax return due?"}]
FROM_INDEX = {"index_name": "client"}


def client(url):
    return openai.OpenAI(base_url=url, api_key="unused", max_retries=0, timeout=60)


@pytest.fixture(params=[EXTRACTIVE, UPSTREAM], ids=["extractive", "upstream"])
def both(request):
    return client(request.param)


def test_a_chat_has_its_sources(both):
    reply = both.chat.completions.create(model="m", messages=QUESTION, extra_body=FROM_INDEX)
    assert reply.choices[0].message.content
    assert reply.usage.total_tokens > 0
    assert reply.source_nodes[0]["doc_id"] == "tax"


def test_a_stream_has_its_sources_at_the_end(both):
    chunks = list(both.chat.completions.create(model="m", messages=QUESTION, extra_body=FROM_INDEX, stream=True))
    text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
    assert text
    finished = [chunk for chunk in chunks if chunk.choices and chunk.choices[0].finish_reason]
    assert len(finished) == 1
    assert finished[0].source_nodes[0]["doc_id"] == "tax"


def test_the_extractive_answer_quotes():
    reply = client(EXTRACTIVE).chat.completions.create(model="any", messages=QUESTION, extra_body=FROM_INDEX)
    assert "last day of May. [1]" in reply.choices[0].message.content
    assert reply.model == "extractive"


def test_a_pass_through_reaches_the_model():
    reply = client(UPSTREAM).chat.completions.create(model="m", messages=[{"role": "user", "content": "Hi"}])
    assert reply.choices[0].message.content == "Hello."
    assert reply.source_nodes is None


def test_the_asynchronous_client():
    async def chat():
        asynchronous = openai.AsyncOpenAI(base_url=UPSTREAM, api_key="unused", max_retries=0)
        stream = await asynchronous.chat.completions.create(model="m", messages=QUESTION, extra_body=FROM_INDEX, stream=True)
        return [chunk.choices[0].delta.content async for chunk in stream]

    assert [text for text in asyncio.run(chat()) if text] == ["Hel", "lo."]


def test_models(both):
    assert both.models.list().data[0].id in ("extractive", "served")


def test_embeddings(both):
    reply = both.embeddings.create(model="default", input=["a cat", "a dog"])
    assert [len(item.embedding) for item in reply.data] == [384, 384]
    one = both.embeddings.create(model="default", input="a cat", encoding_format="float")
    assert one.data[0].embedding == pytest.approx(reply.data[0].embedding, abs=1e-4)


def test_errors_are_its_exceptions(both):
    with pytest.raises(openai.NotFoundError, match="No such index: 'nowhere' exists."):
        both.chat.completions.create(model="m", messages=QUESTION, extra_body={"index_name": "nowhere"})
    with pytest.raises(openai.BadRequestError, match="Must be between 0.2 and 0.8"):
        both.chat.completions.create(model="m", messages=QUESTION, extra_body={"context_token_ratio": 0.9})
    with pytest.raises(openai.NotFoundError, match="does not exist"):
        both.embeddings.create(model="gpt", input="x")


def test_an_upstreams_error_keeps_its_type():
    with pytest.raises(openai.RateLimitError, match="slow down"):
        client(UPSTREAM).chat.completions.create(model="limited", messages=QUESTION, extra_body=FROM_INDEX)
    with pytest.raises(openai.InternalServerError, match="inferenceService.url"):
        client(EXTRACTIVE).chat.completions.create(model="m", messages=[{"role": "user", "content": "Hi"}])
