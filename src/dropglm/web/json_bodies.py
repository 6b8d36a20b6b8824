"""Requests whose body is JSON, with limits on its size and on the time that it takes to arrive."""

import asyncio
import json
from typing import Any, NoReturn

from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request

MAX_BYTES = 32 << 20
MAX_SECONDS = 60.0


async def read_body(request: Request, max_bytes: int = MAX_BYTES, max_seconds: float = MAX_SECONDS) -> bytes:
    """Read the body of a request.

    Parameters
    ----------
    request : Request
    max_bytes : int
    max_seconds : float

    Raises
    ------
    HTTPException
        With status 413 if it is too large and 408 if it takes too long; 400 if the client goes away.
    """
    too_large = HTTPException(413, f"The request is larger than {max_bytes:,} bytes.")
    if int(request.headers.get("content-length", 0)) > max_bytes:  # digits, as the server has checked
        raise too_large
    body = bytearray()
    try:
        async with asyncio.timeout(max_seconds):
            async for part in request.stream():
                body += part
                if len(body) > max_bytes:
                    raise too_large
    except TimeoutError:
        sentence = f"The request did not arrive within {max_seconds:g} seconds."
        raise HTTPException(408, sentence, {"connection": "close"}) from None
    except ClientDisconnect:
        raise HTTPException(400, "The client closed the connection.") from None
    return bytes(body)


def parse_json(body: bytes) -> Any:
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
    """Read the body of a request, and return its content; see ``read_body`` and ``parse_json``."""
    return parse_json(await read_body(request, max_bytes, max_seconds))


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a value")


def _without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    content = dict(pairs)
    if len(content) < len(pairs):
        raise ValueError("a name occurs twice in an object")
    return content
