"""A text model as a service: predictions and explanations in JSON, and a page to try it.

POST /predict {"texts": [...]} answers {"predictions": [{"label": ..., "probabilities": {...}}, ...]}, with
"labels": [...] in place of "label" if texts have several. With "max_error": 0.05, a text that is left open
has "label": null and "open": true; with "sets": 0.9, there is a "set" of labels. Of texts that are unlike the
training texts, the answer has a "warning". POST /explain answers the same way, and GET /health
says which model is served.
"""

import asyncio
import math
from collections.abc import Callable, Mapping
from functools import lru_cache, partial
from typing import Any

import numpy as np
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

import dropglm
from dropglm.base.errors import InputError, InputTypeError
from dropglm.base.registry import lookup
from dropglm.core.predictions import class_probabilities
from dropglm.text.embeddings import check_embeddings
from dropglm.text.fitted_model import AnyTextModel
from dropglm.text.guarantees import check_share
from dropglm.web.application import MAX_BYTES, RequestBodies, json_answer, page_routes, parse_json
from dropglm.web.running import on_thread

# Names that requests may have.
PREDICT = dict.fromkeys(["texts", "embeddings", "max_error", "sets"])
EXPLAIN = dict.fromkeys(["texts", "embeddings", "top", "label"])
MAX_TEXTS = 10_000
MAX_EXPLAINED = 100
TOP = 10  # n-grams of an explanation
# Up to this many bytes, which take about a millisecond, a thread would take longer than the prediction.
SMALL = 8 << 10
RULES = 16  # values of max_error whose thresholds are kept
FEWEST_COMPARED, COMPARED = 10, 100  # texts of a request that are compared with the training texts
LARGE_REQUESTS = 4  # computed at the same time
LARGE_BODIES = 8  # of the largest size, in memory at the same time


class TextService:
    """The requests that a model answers.

    Parameters
    ----------
    model : FittedTextModel, TextClassifier or OnlineTextClassifier
        A fitted model; the embedder of a model with embeddings is its own, or requests have embeddings.
    name : str
        Name of the model, for people.
    max_texts : int
        Number of texts that a request for predictions may have.
    max_bytes : int
        Size that a request may have.
    max_error : float or None
        The share of the answers that may be wrong, unless a request has its own; None leaves no text open.
    confidence : float
        How sure that is.

    Examples
    --------
    >>> from dropglm import TextClassifier
    >>> texts = ["a fine film", "a dull film"]
    >>> model = TextClassifier((1, 1), tune=False, min_df=1).fit(texts, ["good", "bad"])
    >>> service = TextService(model, "films")
    >>> service.predict({"texts": ["a fine day"]})["predictions"][0]["label"]
    'good'
    >>> service.explain({"texts": ["a fine day"]})["explanations"][0]["contributions"][0]["ngram"]
    'fine'
    """

    def __init__(
        self,
        model: AnyTextModel,
        name: str,
        max_texts: int = MAX_TEXTS,
        max_bytes: int = MAX_BYTES,
        max_error: float | None = None,
        confidence: float = 0.9,
    ) -> None:
        self.model, self.name = model._fitted_model(), name
        self.max_texts, self.max_bytes = max_texts, max_bytes
        self.labels, self.multilabel = model.classes_.tolist(), model.multilabel_
        self.label_names = [str(label) for label in self.labels]
        self._bodies = RequestBodies(max_bytes, LARGE_BODIES * max_bytes)
        self.max_error = max_error
        self.rule = lru_cache(RULES)(partial(self.model.selective, confidence=confidence))
        if max_error is not None:
            self.rule(max_error)  # an error is reported before anything is served
        self._large = asyncio.Semaphore(LARGE_REQUESTS)

    def warm_up(self) -> None:
        """Predict once, so that the first request does not wait for what is loaded on first use."""
        E = None
        if self.model.head is not None and self.model.embedder is None:
            E = np.zeros(self.model.head.fingerprint.dimension)
        self.model.explain("a", E)

    def predict(self, content: Any) -> dict[str, Any]:
        """Return the answer to a request for predictions."""
        texts, E = self._texts_and_embeddings(content, self.max_texts)
        if not texts:
            return {"predictions": []}
        labels, names = self.labels, self.label_names
        found: list[dict[str, Any]]
        if self.multilabel:
            eta = self.model.decision_function(texts, E)
            p, given = class_probabilities(eta, multilabel=True), eta > self.model.model._thresholds()
            found = [{"labels": [labels[k] for k in np.flatnonzero(row)]} for row in given]
        else:
            p = self.model.predict_proba(texts, E)
            found = [{"label": labels[best]} for best in p.argmax(axis=1).tolist()]
        max_error, sets = content.get("max_error", self.max_error), content.get("sets")
        if max_error is not None:
            answered = self.rule(check_share(max_error, "max_error")).answers(p).tolist()
            found = [
                one | {"open": False} if is_answered else {"label": None, "open": True}
                for one, is_answered in zip(found, answered, strict=True)
            ]
        if sets is not None:
            chosen = self.model._needed_evidence().label_sets(p, check_share(sets, "sets"))
            found = [one | {"set": [labels[k] for k in own]} for one, own in zip(found, chosen, strict=True)]
        predictions = [
            one | {"probabilities": dict(zip(names, row, strict=True))}
            for one, row in zip(found, p.tolist(), strict=True)
        ]
        return {"predictions": predictions, **self._warning(texts)}

    def _warning(self, texts: list[str]) -> dict[str, str]:
        """Return a warning if some of the texts, evenly spread, are unlike the training texts."""
        if len(texts) < FEWEST_COMPARED:
            return {}
        unlike = self.model.compare_with_training(texts[:: math.ceil(len(texts) / COMPARED)])
        return {} if unlike is None or not unlike.is_unusual else {"warning": unlike.warning()}

    def explain(self, content: Any) -> dict[str, Any]:
        """Return the answer to a request for explanations."""
        top = content.get("top", TOP) if isinstance(content, dict) else TOP
        if type(top) is not int or top < 0:
            raise HTTPException(422, '"top" must be a number of n-grams, 0 or more.')
        texts, E = self._texts_and_embeddings(content, min(self.max_texts, MAX_EXPLAINED), EXPLAIN)
        rows, label = [None] * len(texts) if E is None else E, content.get("label")
        return {
            "explanations": [
                self.model.explain(text, row, label=label).to_dict(top)
                for text, row in zip(texts, rows, strict=True)
            ]
        }

    def about(self) -> str:
        """Return a sentence about what the model predicts, and what it has learnt from."""
        column, learnt = self.model.label_column_, self.model.summary_
        what = f"Predicts the column {column}" if column else "A text classifier"
        if learnt is None:
            return f"{what}."
        several, n_unlabeled = (getattr(learnt, name, None) for name in ("several_labels", "unlabeled"))
        n = several["texts"] if several else sum(learnt.texts.values())
        more = f" and {n_unlabeled:,} unlabelled" if n_unlabeled else ""
        return f"{what}; it has learnt from {n:,} labelled{more} texts."

    def health(self) -> dict[str, Any]:
        """Return what is served."""
        return {
            "status": "ok",
            "model": self.name,
            "about": self.about(),
            "classes": self.labels,
            "embeddings": self.model.needs_embeddings,
            "version": dropglm.__version__,
            **({"multilabel": True} if self.multilabel else {}),
        }

    def routes(self) -> list[Route]:
        """Return the routes of the service and of its page."""

        async def health(request: Request) -> Response:
            return json_answer(self.health())

        return [
            Route("/predict", partial(self._answer, work=self.predict, small=SMALL), methods=["POST"]),
            Route("/explain", partial(self._answer, work=self.explain, small=0), methods=["POST"]),
            Route("/health", health, methods=["GET"]),
            *page_routes("serve"),
        ]

    async def _answer(self, request: Request, work: Callable[[Any], dict[str, Any]], small: int) -> Response:
        """Answer a request: a small one at once, any other on a thread while small ones are answered."""

        def answer(body: bytearray) -> Response:
            content = parse_json(body)
            try:
                content = work(content)
            except (InputError, InputTypeError) as error:  # about names and embeddings
                raise HTTPException(422, str(error)) from error
            return json_answer(content)

        async with self._bodies.read(request) as body:
            if self._size(request) <= small:
                return answer(body)
            async with self._large:
                return await on_thread(answer, body)

    def _size(self, request: Request) -> float:
        """Return the number of bytes of a request; infinity if it is not known, or does not tell the time."""
        size = request.headers.get("content-length")
        return math.inf if size is None or self.model.head is not None else int(size)

    def _texts_and_embeddings(
        self, content: Any, most: int, known: Mapping[str, None] = PREDICT
    ) -> tuple[list[str], Any]:
        """Return the texts of a request and their embeddings, which may be None."""
        if not isinstance(content, dict):
            raise HTTPException(422, 'The request must be an object such as {"texts": ["a text"]}.')
        for name in content:
            lookup(known, name, "The name")
        texts, E = content.get("texts"), content.get("embeddings")
        if not isinstance(texts, list):
            raise HTTPException(422, '"texts" must be a list of strings.')
        if len(texts) > most:
            raise HTTPException(413, f"The request has {len(texts):,} texts; at most {most:,} are allowed.")
        for number, text in enumerate(texts):
            if not isinstance(text, str):
                raise HTTPException(
                    422, f'"texts" must be a list of strings; entry {number} is not a string.'
                )
        if self.model.needs_embeddings and E is None:
            raise HTTPException(
                422, 'The model was trained with embeddings: give those of the texts as "embeddings".'
            )
        if E is not None:
            E = check_embeddings(E, len(texts))
        return texts, E
