"""One line for each request."""

import sys
import time
from urllib.parse import quote

from starlette.types import ASGIApp, Message, Receive, Scope, Send


class RequestLog:
    """Middleware that writes a line about each request to standard error.

    A line has the time, the client, the method, the path, the status of the answer and the time taken. If
    the client went away before the answer, there is a dash in place of the status.

    Parameters
    ----------
    app : ASGI application
    secret : str or None, default=None
        Part of the paths that is not written.
    """

    def __init__(self, app: ASGIApp, secret: str | None = None) -> None:
        self.app, self.secret = app, secret

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, and write the line when it has been answered."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        start, status = time.perf_counter(), "-"

        async def noting_status(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = str(message["status"])
            await send(message)

        try:
            await self.app(scope, receive, noting_status)
        finally:
            path = quote(scope["path"])[:200]  # without line ends
            if self.secret:
                path = path.replace(quote(self.secret), "…")
            client = scope["client"][0] if scope.get("client") else "-"
            took = 1e3 * (time.perf_counter() - start)
            line = f"{time.strftime('%H:%M:%S')} {client} {scope['method']} {path} {status} {took:.1f} ms\n"
            sys.stderr.write(line)
