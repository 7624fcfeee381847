"""LlamaIndex's OpenAILike."""

import asyncio

import openai
import pytest
from conftest import BRIEFLY, FROM_INDEX, QUESTION, SOURCE, are_alike
from llama_index.core.llms import ChatMessage
from llama_index.llms.openai_like import OpenAILike

MESSAGES = [ChatMessage(role="system", content="Be brief."), ChatMessage(role="user", content=QUESTION)]


def model(url, extra_body=FROM_INDEX):
    # With the default, is_chat_model=False, it would use /v1/completions.
    return OpenAILike(
        model="m",
        api_base=url,
        api_key="unused",
        max_retries=0,
        is_chat_model=True,
        additional_kwargs={"extra_body": extra_body} | BRIEFLY,
    )


def sources(reply):
    return [node["doc_id"] for node in reply.raw.source_nodes]


def test_complete(url):
    reply = model(url).complete(QUESTION)
    assert reply.text
    assert sources(reply)[0] == SOURCE


def test_chat(url):
    reply = model(url).chat(MESSAGES)
    assert reply.message.role == "assistant" and reply.message.content
    assert reply.additional_kwargs["total_tokens"] > 0
    assert sources(reply)[0] == SOURCE


def test_stream_chat(url):
    replies = list(model(url).stream_chat(MESSAGES))
    whole = model(url).chat(MESSAGES)
    assert "".join(reply.delta for reply in replies) == replies[-1].message.content
    assert are_alike(url, replies[-1].message.content, whole.message.content)
    [finished] = [reply for reply in replies if reply.raw.choices and reply.raw.choices[0].finish_reason]
    assert sources(finished) == sources(whole)


def test_asynchronously(url):
    async def all_ways():
        asynchronous = model(url)
        chat, complete = await asynchronous.achat(MESSAGES), await asynchronous.acomplete(QUESTION)
        stream = [reply async for reply in await asynchronous.astream_chat(MESSAGES)]
        return chat, complete, stream

    chat, complete, stream = asyncio.run(all_ways())
    assert sources(chat)[0] == sources(complete)[0] == SOURCE
    assert are_alike(url, stream[-1].message.content, chat.message.content)


def test_the_index_can_be_chosen_with_each_question(url):
    without = OpenAILike(model="m", api_base=url, api_key="unused", max_retries=0, is_chat_model=True)
    assert sources(without.chat(MESSAGES, extra_body=FROM_INDEX, **BRIEFLY))[0] == SOURCE


def test_errors_are_openais(url):
    with pytest.raises(openai.NotFoundError, match="No such index: 'nowhere' exists."):
        model(url, {"index_name": "nowhere"}).chat(MESSAGES)
    with pytest.raises(openai.BadRequestError, match="Must be between 0.2 and 0.8"):
        model(url, FROM_INDEX | {"context_token_ratio": 0.9}).complete(QUESTION)
