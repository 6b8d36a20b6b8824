"""Requests and answers whose body is JSON.

There are limits on the size of a request and on the time that it takes to arrive. Errors are
``{"error": "One sentence."}`` with their HTTP status.
"""

import asyncio
import json
import math
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, NoReturn

from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from dropglm.base.errors import InputError

SENTENCES = {404: "There is nothing at this address.", 405: "This address does not take such requests."}
MAX_BYTES = 32 << 20
MAX_SECONDS = 60.0


def json_answer(content: Any, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    r"""Return a response in JSON.

    It is written in ASCII: texts may contain halves of a surrogate pair, which UTF-8 cannot express.

    Examples
    --------
    >>> json_answer({"text": "\ud800"}).body
    b'{"text":"\\ud800"}'
    """
    body = json.dumps(content, allow_nan=False, separators=(",", ":")).encode()
    return Response(body, status, headers, "application/json")


def error_answer(status: int, sentence: str, headers: dict[str, str] | None = None) -> Response:
    """Return a response that says what is wrong."""
    return json_answer({"error": sentence}, status, headers)


def refused(request: Request, error: Exception) -> Response:
    """Return the response to an error that the application raised as an ``HTTPException``."""
    assert isinstance(error, HTTPException)
    sentence = SENTENCES.get(error.status_code, error.detail)
    return error_answer(error.status_code, sentence, dict(error.headers or {}))


def failed(request: Request, error: Exception) -> Response:
    """Return the response to a mistake of ours; the log has its traceback."""
    return error_answer(500, "Internal error; the log of the server says more.")


HANDLERS: dict[Any, Any] = {HTTPException: refused, Exception: failed}


class Bodies:
    """Bodies of requests that together take at most so many bytes of memory.

    If a body needs more, the one that has been arriving for longest is given up: clients that send slowly, or
    stop in the middle, must not keep others waiting.

    Parameters
    ----------
    max_bytes : int
        Size that a body may have.
    max_total : float, default=inf
        Size that all bodies may have together that are arriving or in use.
    """

    def __init__(self, max_bytes: int = MAX_BYTES, max_total: float = math.inf) -> None:
        self.max_bytes, self.max_total = max_bytes, max_total
        self._total = 0
        self._arriving: dict[asyncio.Timeout, bytearray] = {}  # the oldest first

    @asynccontextmanager
    async def read(self, request: Request, max_seconds: float = MAX_SECONDS) -> AsyncIterator[bytearray]:
        """Read the body of a request, which is in use until the context ends.

        Raises
        ------
        HTTPException
            With status 413 if it is too large, 408 if it takes too long and 503 if it is given up; 400 if the
            client goes away.
        """
        body = bytearray()
        try:
            await self._receive(request, body, max_seconds)
            yield body
        finally:
            self._total -= len(body)

    async def _receive(self, request: Request, body: bytearray, max_seconds: float) -> None:
        too_large = HTTPException(413, f"The request is larger than {self.max_bytes:,} bytes.")
        if (
            int(request.headers.get("content-length", 0)) > self.max_bytes
        ):  # digits, as the server has checked
            raise too_large
        patience = asyncio.timeout(max_seconds)
        self._arriving[patience] = body
        is_late = False
        try:
            async with patience:
                async for part in request.stream():
                    body += part
                    self._total += len(part)
                    if len(body) > self.max_bytes:
                        raise too_large
                    self._make_room()
        except TimeoutError:
            is_late = True
        except ClientDisconnect:
            raise HTTPException(400, "The client closed the connection.") from None
        finally:
            is_given_up = self._arriving.pop(patience, None) is None
        if is_given_up:
            sentence = "The server has too many large requests at the moment; send this one again later."
            raise HTTPException(503, sentence, {"connection": "close"})
        if is_late:
            sentence = f"The request did not arrive within {max_seconds:g} seconds."
            raise HTTPException(408, sentence, {"connection": "close"})

    def _make_room(self) -> None:
        while self._total > self.max_total and self._arriving:
            patience = next(iter(self._arriving))
            body = self._arriving.pop(patience)
            self._total -= len(body)
            body.clear()
            if not patience.expired():
                patience.reschedule(0.0)  # ends its reading


def parse_json(body: bytes | bytearray) -> Any:
    """Return the content of a body that is JSON as RFC 8259 has it.

    ``NaN`` and ``Infinity`` are refused, and so are names that occur twice in an object, of which parsers
    keep different ones.

    Raises
    ------
    HTTPException
        With status 400 if it is not JSON.

    Examples
    --------
    >>> parse_json(b'{"texts": ["a"]}')
    {'texts': ['a']}
    >>> parse_json(b'{"texts": NaN}')
    Traceback (most recent call last):
    starlette.exceptions.HTTPException: 400: The request is not valid JSON: NaN is not a value.
    """
    try:
        return json.loads(body, parse_constant=_refuse_constant, object_pairs_hook=_without_duplicates)
    except UnicodeDecodeError:
        raise HTTPException(400, "The request is not valid JSON: it is not UTF-8.") from None
    except RecursionError:
        raise HTTPException(400, "The request is not valid JSON: it is nested too deeply.") from None
    except ValueError as error:
        raise HTTPException(400, f"The request is not valid JSON: {error}.") from None


async def read_json(request: Request, max_bytes: int = MAX_BYTES, max_seconds: float = MAX_SECONDS) -> Any:
    """Read the body of a request, and return its content; see ``Bodies`` and ``parse_json``."""
    async with Bodies(max_bytes).read(request, max_seconds) as body:
        return parse_json(body)


def _refuse_constant(name: str) -> NoReturn:
    raise InputError(f"{name} is not a value")


def _without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    content = dict(pairs)
    if len(content) < len(pairs):
        raise InputError("a name occurs twice in an object")
    return content
