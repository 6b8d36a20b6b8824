"""Checks before each request, and headers of each response.

Other sites, which the user may have open in the same browser, can send requests to this computer. They must
neither read answers (``hosts``) nor cause anything: requests other than GET and HEAD need our own origin, if
they have one, and with a token every address contains it. Pages run our own scripts only, and load nothing
from elsewhere.
"""

from hmac import compare_digest
from typing import Any

from starlette.responses import RedirectResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from dropglm.web.hosts import AllowedHosts
from dropglm.web.json_answers import error_answer

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = [
    (name.encode(), value.encode())
    for name, value in {
        "content-security-policy": POLICY,
        "x-content-type-options": "nosniff",
        "x-frame-options": "DENY",
        "referrer-policy": "no-referrer",
        "cross-origin-resource-policy": "same-origin",
        "cache-control": "no-store",
    }.items()
]
READING = ("GET", "HEAD")


class Security:
    """Middleware that refuses requests of other sites, and adds the headers.

    Parameters
    ----------
    app : ASGI application
    hosts : AllowedHosts
    token : str or None, default=None
        If given, addresses start with it, as in ``/token/`` and ``/token/static/page.css``; the application
        sees them without.
    """

    def __init__(self, app: ASGIApp, hosts: AllowedHosts, token: str | None = None) -> None:
        self.app, self.hosts, self.token = app, hosts, token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Check the request and pass it on."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", ()), *HEADERS]
            await send(message)

        answer: ASGIApp | None = self._refusal(scope)
        if answer is None and self.token is not None:
            answer, scope = self._without_token(scope, self.token)
        await (answer or self.app)(scope, receive, send_with_headers)

    def _refusal(self, scope: Scope) -> ASGIApp | None:
        """Return the answer to a request that is refused."""
        headers: dict[bytes, bytes] = dict(scope["headers"])
        host = headers.get(b"host", b"").decode("latin-1")
        if host not in self.hosts:
            return error_answer(421, "This server does not answer to the host name of the request.")
        if scope["method"] in READING:
            return None
        origin = headers.get(b"origin")
        if origin is None:  # not a browser, or an old one
            is_own = headers.get(b"sec-fetch-site", b"none") in (b"none", b"same-origin")
        else:
            scheme, _, rest = origin.decode("latin-1").lower().partition("://")
            is_own = scheme in ("http", "https") and rest == host.lower()
        return None if is_own else error_answer(403, "Requests from pages of other sites are refused.")

    @staticmethod
    def _without_token(scope: Scope, token: str) -> tuple[ASGIApp | None, Scope]:
        """Return the request with the token taken from its address, or the answer if it has another."""
        path: str = scope["path"]
        given, slash, rest = path[1:].partition("/")
        if not compare_digest(given.encode(errors="replace"), token.encode()):
            return error_answer(
                403, "Open the address that the command has printed; it has a key in it."
            ), scope
        if not slash:  # the page's links are relative to its folder
            return RedirectResponse(f"{token}/"), scope
        changed: dict[str, Any] = {**scope, "path": f"/{rest}"}
        changed.pop("raw_path", None)
        return None, changed
