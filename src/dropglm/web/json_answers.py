"""Answers in JSON; errors are ``{"error": "One sentence."}`` with their HTTP status."""

import json
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

SENTENCES = {404: "There is nothing at this address.", 405: "This address does not take such requests."}


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
