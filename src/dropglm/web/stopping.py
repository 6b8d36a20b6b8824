"""Requests that are still running when the server stops."""

import asyncio
import os
import sys
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, TypeVar

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from dropglm.web.json_answers import error_answer

Result = TypeVar("Result")
COMPUTING = "large request"  # name of the threads


class AnswersWhenStopped:
    """Middleware that answers requests which the server cancels because it stops, instead of failing.

    Parameters
    ----------
    app : ASGI application
    """

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on."""
        started = False

        async def noting_start(message: Message) -> None:
            nonlocal started
            started = started or message["type"] == "http.response.start"
            await send(message)

        try:
            await self.app(scope, receive, noting_start)
        except asyncio.CancelledError:
            if scope["type"] != "http":
                raise
            if not started:
                answer = error_answer(503, "The server is stopping.", {"connection": "close"})
                await answer(scope, receive, send)


async def on_thread(work: Callable[..., Result], *arguments: Any) -> Result:
    """Return ``work(*arguments)``, computed on a thread that a server does not wait for when it stops.

    The event loop would wait for the threads of ``asyncio.to_thread``.
    """
    done: Future[Result] = Future()
    done.set_running_or_notify_cancel()  # from now on it cannot be cancelled, only be left alone

    def run() -> None:
        try:
            done.set_result(work(*arguments))
        except BaseException as error:
            done.set_exception(error)

    threading.Thread(target=run, name=COMPUTING).start()
    return await asyncio.wrap_future(done)


def end_if_computing() -> None:
    """End the process if a request is still being computed, since Python would wait for its thread.

    Call this when the server has stopped: the request was answered with status 503.
    """
    if any(thread.name == COMPUTING for thread in threading.enumerate()):
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(0)
