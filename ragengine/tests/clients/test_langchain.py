"""LangChain's ChatOpenAI and OpenAIEmbeddings."""

import asyncio

import openai
import pytest
from conftest import BRIEFLY, FROM_INDEX, QUESTION, SOURCE, are_alike
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import ChatPromptTemplate
from langchain_openai import ChatOpenAI, OpenAIEmbeddings


def model(url, **options):
    fixed = {"model": "m", "api_key": "unused", "max_retries": 0, "extra_body": FROM_INDEX} | BRIEFLY
    return ChatOpenAI(base_url=url, **fixed | options)


def test_invoke(url):
    reply = model(url).invoke(QUESTION)
    assert isinstance(reply, AIMessage) and reply.content
    assert reply.usage_metadata["total_tokens"] > 0


def test_stream(url):
    chunks = list(model(url, stream_usage=True).stream(QUESTION))
    assert are_alike(url, "".join(chunk.content for chunk in chunks), model(url).invoke(QUESTION).content)
    assert sum(chunk.usage_metadata["total_tokens"] for chunk in chunks if chunk.usage_metadata) > 0


def test_asynchronously(url):
    async def both():
        asynchronous = model(url)
        return await asynchronous.ainvoke(QUESTION), [chunk.content async for chunk in asynchronous.astream(QUESTION)]

    reply, pieces = asyncio.run(both())
    assert are_alike(url, reply.content, "".join(pieces))


def test_batch(url):
    first, second = model(url).batch([QUESTION, QUESTION])
    assert are_alike(url, first.content, second.content)


def test_a_chain_with_history(url):
    prompt = ChatPromptTemplate.from_messages(
        [("system", "Be {manner}."), ("placeholder", "{history}"), ("user", "{question}")]
    )
    history = [HumanMessage("Do cats sleep?"), AIMessage("For most of the day.")]
    chain = prompt | model(url) | StrOutputParser()
    assert chain.invoke({"manner": "brief", "history": history, "question": QUESTION})


def test_the_index_can_be_chosen_with_each_question(url):
    with pytest.raises(openai.NotFoundError, match="No such index: 'nowhere' exists."):
        model(url).bind(extra_body={"index_name": "nowhere"}).invoke(QUESTION)


def test_sources_from_the_wrapped_openai_client(url):
    """LangChain drops unknown fields. The OpenAI client that it wraps keeps them."""
    reply = model(url).root_client.chat.completions.create(
        model="m", messages=[{"role": "user", "content": QUESTION}], extra_body=FROM_INDEX, **BRIEFLY
    )
    assert reply.source_nodes[0]["doc_id"] == SOURCE


def test_sources_from_a_hook_of_the_http_client(url):
    """Alternatively, a hook of the HTTP client can read each reply."""
    seen = []

    def keep(response):
        response.read()
        seen.append(response.json()["source_nodes"])

    with openai.DefaultHttpxClient(event_hooks={"response": [keep]}) as http:
        assert model(url, http_client=http).invoke(QUESTION).content
    [nodes] = seen
    assert nodes[0]["doc_id"] == SOURCE


def test_errors_are_openais(url):
    with pytest.raises(openai.BadRequestError, match="Must be between 0.2 and 0.8"):
        model(url, extra_body=FROM_INDEX | {"context_token_ratio": 0.9}).invoke(QUESTION)
    with pytest.raises(openai.BadRequestError):
        list(model(url, n=2).stream([SystemMessage("Be brief."), HumanMessage(QUESTION)]))


def test_embeddings(url):
    # check_embedding_ctx_length=False makes it send text instead of token ids of an OpenAI model.
    embeddings = OpenAIEmbeddings(base_url=url, api_key="unused", model="default", check_embedding_ctx_length=False)
    one, other = embeddings.embed_documents(["a cat", "a dog"])
    assert len(one) == len(other) == 384
    assert embeddings.embed_query("a cat") == pytest.approx(one, abs=1e-4)
