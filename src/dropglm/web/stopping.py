"""Requests that are still running when the server stops."""

import asyncio

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from dropglm.web.json_answers import error_answer


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
