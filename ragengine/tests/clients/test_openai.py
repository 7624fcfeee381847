"""OpenAI's own client: tests that pass with every language model."""

import asyncio
import base64
import struct

import openai
import pytest
from conftest import BRIEFLY, FROM_INDEX, QUESTION, SOURCE, are_alike

ASKED = {"model": "m", "messages": [{"role": "user", "content": QUESTION}], "extra_body": FROM_INDEX} | BRIEFLY
WITH_USAGE = {"stream": True, "stream_options": {"include_usage": True}}


@pytest.fixture
def client(url):
    return openai.OpenAI(base_url=url, api_key="unused", max_retries=0, timeout=60)


def in_asynchronous_client(url, use):
    async def run():
        async with openai.AsyncOpenAI(base_url=url, api_key="unused", max_retries=0, timeout=60) as client:
            return await use(client)

    return asyncio.run(run())


def text(chunks):
    return "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)


def source_ids(reply):
    return [node["doc_id"] for node in reply.source_nodes]


def test_a_chat_has_its_sources(client):
    reply = client.chat.completions.create(**ASKED)
    assert reply.choices[0].message.content
    assert reply.choices[0].message.role == "assistant"
    assert reply.usage.total_tokens == reply.usage.prompt_tokens + reply.usage.completion_tokens > 0
    assert source_ids(reply)[0] == SOURCE


def test_a_stream_has_the_same_text_and_its_sources_at_the_end(url, client):
    whole = client.chat.completions.create(**ASKED)
    chunks = list(client.chat.completions.create(**ASKED, stream=True))
    assert are_alike(url, text(chunks), whole.choices[0].message.content)
    [finished] = [chunk for chunk in chunks if chunk.choices and chunk.choices[0].finish_reason]
    assert source_ids(finished) == source_ids(whole)
    assert not any(chunk.usage for chunk in chunks)


def test_a_stream_ends_with_the_usage_when_it_is_asked_for(client):
    *_, last = client.chat.completions.create(**ASKED, **WITH_USAGE)
    assert last.choices == []
    assert last.usage.total_tokens == last.usage.prompt_tokens + last.usage.completion_tokens > 0


def test_the_clients_own_accumulator(client):
    with client.chat.completions.stream(**ASKED) as stream:
        events = list(stream)
        reply = stream.get_final_completion()
    deltas = [event.delta for event in events if event.type == "content.delta"]
    assert reply.choices[0].message.content == "".join(deltas) != ""
    # The accumulated reply drops unknown fields. The chunks keep them.
    chunks = [event.chunk for event in events if event.type == "chunk"]
    [finished] = [chunk for chunk in chunks if chunk.choices and chunk.choices[0].finish_reason]
    assert source_ids(finished)[0] == SOURCE


def test_a_stream_can_be_closed_early(client):
    with client.chat.completions.create(**ASKED, stream=True) as stream:
        next(iter(stream))
    assert client.chat.completions.create(**ASKED).choices[0].message.content


def test_the_asynchronous_client(url, client):
    async def both(asynchronous):
        whole = await asynchronous.chat.completions.create(**ASKED)
        stream = await asynchronous.chat.completions.create(**ASKED, **WITH_USAGE)
        return whole, [chunk async for chunk in stream]

    whole, chunks = in_asynchronous_client(url, both)
    assert source_ids(whole)[0] == SOURCE
    synchronous = client.chat.completions.create(**ASKED)
    assert are_alike(url, text(chunks), *(reply.choices[0].message.content for reply in (whole, synchronous)))
    assert chunks[-1].usage.total_tokens > 0


def test_chats_at_the_same_time(url):
    async def many(asynchronous):
        return await asyncio.gather(*(asynchronous.chat.completions.create(**ASKED) for _ in range(8)))

    replies = in_asynchronous_client(url, many)
    assert are_alike(url, *(reply.choices[0].message.content for reply in replies))
    assert all(source_ids(reply)[0] == SOURCE for reply in replies)


def test_the_explanation(client):
    reply = client.chat.completions.create(**ASKED | {"extra_body": FROM_INDEX | {"explain": True}})
    assert reply.explanation["path"] == "rag"
    assert reply.explanation["chunks"][0]["doc_id"] == SOURCE


def test_a_reply_has_the_id_of_its_request(client):
    raw = client.chat.completions.with_raw_response.create(**ASKED, extra_headers={"X-Request-Id": "mine-1"})
    assert raw.headers["x-request-id"] == "mine-1"
    assert raw.parse()._request_id == "mine-1"
    assert client.chat.completions.create(**ASKED)._request_id


def test_models(client):
    listed = list(client.models.list())
    assert listed and all(model.id and model.object == "model" for model in listed)
    assert client.models.retrieve(listed[0].id).id == listed[0].id
    with pytest.raises(openai.NotFoundError):
        client.models.retrieve("no/such/model")


def test_embeddings(client):
    reply = client.embeddings.create(model="default", input=["a cat", "a dog"])
    assert [item.index for item in reply.data] == [0, 1]
    assert [len(item.embedding) for item in reply.data] == [384, 384]
    # Without encoding_format the client requests base64.
    one = client.embeddings.create(model="default", input="a cat", encoding_format="float")
    assert one.data[0].embedding == pytest.approx(reply.data[0].embedding, abs=1e-6)


def test_embeddings_in_base64(client):
    reply = client.embeddings.create(model="default", input="a cat", encoding_format="base64")
    packed = base64.b64decode(reply.data[0].embedding)
    floats = client.embeddings.create(model="default", input="a cat", encoding_format="float")
    assert struct.unpack("<384f", packed) == pytest.approx(floats.data[0].embedding, abs=1e-6)


def test_embeddings_asynchronously(url):
    async def embed(asynchronous):
        return await asynchronous.embeddings.create(model="default", input="a cat")

    assert len(in_asynchronous_client(url, embed).data[0].embedding) == 384


def test_errors_are_its_exceptions(client):
    with pytest.raises(openai.NotFoundError, match="No such index: 'nowhere' exists.") as raised:
        client.chat.completions.create(**ASKED | {"extra_body": {"index_name": "nowhere"}})
    assert raised.value.request_id
    with pytest.raises(openai.BadRequestError, match="Must be between 0.2 and 0.8") as raised:
        client.chat.completions.create(**ASKED | {"extra_body": FROM_INDEX | {"context_token_ratio": 0.9}})
    assert (raised.value.param, raised.value.type) == ("context_token_ratio", "invalid_request_error")
    with pytest.raises(openai.BadRequestError):
        client.chat.completions.create(**ASKED | {"messages": []})
    with pytest.raises(openai.BadRequestError):
        client.chat.completions.create(**ASKED, n=2)
    with pytest.raises(openai.NotFoundError, match="does not exist"):
        client.embeddings.create(model="gpt", input="x")
    with pytest.raises(openai.BadRequestError, match="dimensions"):
        client.embeddings.create(model="default", input="x", dimensions=7)


def test_a_stream_that_cannot_begin_is_an_exception(client):
    with pytest.raises(openai.NotFoundError, match="nowhere"):
        client.chat.completions.create(**ASKED | {"extra_body": {"index_name": "nowhere"}}, stream=True)


def test_routes_that_do_not_exist_are_not_found(client):
    with pytest.raises(openai.NotFoundError):
        client.completions.create(model="m", prompt="Once upon a time")
    with pytest.raises(openai.NotFoundError):
        client.responses.create(model="m", input="Hi")
