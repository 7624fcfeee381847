"""OpenAI's own client: exact answers, and every error of a language model."""

import asyncio

import openai
import pytest
from conftest import FROM_INDEX, QUESTION
from pydantic import BaseModel

ASKED = {"messages": [{"role": "user", "content": QUESTION}], "extra_body": FROM_INDEX}
GREETING = {"messages": [{"role": "user", "content": "Hi"}]}
# With and without an index, whole and streamed.
WAYS = [ASKED, GREETING, ASKED | {"stream": True}, GREETING | {"stream": True}]


class Answer(BaseModel):
    answer: str


def client(url, **options):
    return openai.OpenAI(base_url=url, api_key="unused", **{"max_retries": 0, "timeout": 60} | options)


def test_the_extractive_answer_quotes(extractive):
    reply = client(extractive).chat.completions.create(model="any", **ASKED)
    assert "last day of May. [1]" in reply.choices[0].message.content
    assert reply.model == "extractive"
    assert [model.id for model in client(extractive).models.list()] == ["extractive"]


def test_without_a_language_model_there_is_no_pass_through(extractive):
    with pytest.raises(openai.InternalServerError, match="inferenceService.url") as raised:
        client(extractive).chat.completions.create(model="m", **GREETING)
    assert raised.value.status_code == 503


def test_a_pass_through_reaches_the_model(scripted):
    reply = client(scripted).chat.completions.create(model="m", **GREETING)
    assert reply.choices[0].message.content == "Hello."
    assert reply.source_nodes is None


def test_the_models_are_the_endpoints(scripted):
    assert [model.id for model in client(scripted).models.list()] == ["served"]


def test_the_pieces_of_a_stream_are_the_models(scripted):
    chunks = client(scripted).chat.completions.create(model="m", **ASKED, stream=True)
    assert [chunk.choices[0].delta.content for chunk in chunks if chunk.choices] == ["Hel", "lo.", ""]


@pytest.mark.parametrize("way", WAYS, ids=["index", "alone", "index-stream", "alone-stream"])
@pytest.mark.parametrize(
    ("status", "exception"),
    [
        (400, openai.BadRequestError),
        (401, openai.AuthenticationError),
        (403, openai.PermissionDeniedError),
        (404, openai.NotFoundError),
        (409, openai.ConflictError),
        (413, openai.APIStatusError),
        (422, openai.UnprocessableEntityError),
        (429, openai.RateLimitError),
        (500, openai.InternalServerError),
        (503, openai.InternalServerError),
    ],
)
def test_an_upstreams_error_keeps_its_type(scripted, status, exception, way):
    with pytest.raises(exception, match="the model says no") as raised:
        client(scripted).chat.completions.create(model=f"status-{status}", **way)
    assert raised.value.status_code == status
    assert (raised.value.code, raised.value.type) == ("its_code", "its_type")
    assert raised.value.response.headers["retry-after"] == "7"


@pytest.mark.parametrize("way", WAYS[:2], ids=["index", "alone"])
def test_a_model_that_does_not_answer(scripted, way):
    with pytest.raises(openai.InternalServerError) as raised:
        client(scripted).chat.completions.create(model="silent", **way)
    assert raised.value.status_code == 504
    with pytest.raises(openai.APITimeoutError):
        client(scripted, timeout=0.2).chat.completions.create(model="silent", **way)


def test_an_answer_that_is_not_json(scripted):
    with pytest.raises(openai.InternalServerError) as raised:
        client(scripted).chat.completions.create(model="nonsense", **ASKED)
    assert raised.value.status_code == 502


def test_a_stream_that_gets_stuck_is_an_exception(scripted):
    seen = []
    with pytest.raises(openai.APIError):
        for chunk in client(scripted).chat.completions.create(model="stuck", **ASKED, stream=True):
            seen.append(chunk.choices[0].delta.content)
    assert seen == ["Hel"]


def test_a_stream_that_gets_stuck_is_an_exception_asynchronously(scripted):
    async def read():
        async with openai.AsyncOpenAI(base_url=scripted, api_key="unused", max_retries=0) as asynchronous:
            async for _ in await asynchronous.chat.completions.create(model="stuck", **ASKED, stream=True):
                pass

    with pytest.raises(openai.APIError):
        asyncio.run(read())


def test_the_clients_own_retries(scripted):
    """The model `busy` refuses every second request with 503 and `Retry-After: 0`."""
    with pytest.raises(openai.InternalServerError):
        client(scripted).chat.completions.create(model="busy", **ASKED)
    client(scripted).chat.completions.create(model="busy", **ASKED)
    reply = client(scripted, max_retries=1).chat.completions.create(model="busy", **ASKED)
    assert reply.choices[0].message.content == "Hello."


def test_other_parameters_reach_the_model(scripted):
    reply = client(scripted).chat.completions.create(
        model="echo",
        **ASKED,
        temperature=0.5,
        stop=["\n"],
        seed=7,
        logit_bias={"5": -1},
        user="ann",
        metadata={"team": "people"},
    )
    assert reply.request["temperature"] == 0.5
    assert (reply.request["stop"], reply.request["seed"], reply.request["logit_bias"]) == (["\n"], 7, {"5": -1})
    assert (reply.request["user"], reply.request["metadata"]) == ("ann", {"team": "people"})
    assert "index_name" not in reply.request


def test_structured_output_reaches_the_model(scripted):
    reply = client(scripted).chat.completions.parse(model="json", **ASKED, response_format=Answer)
    assert reply.choices[0].message.parsed == Answer(answer="Hello.")
