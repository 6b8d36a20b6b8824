"""Applications: routes behind the checks that all of them need."""

from collections.abc import Sequence
from typing import Any

from starlette.applications import Starlette
from starlette.routing import BaseRoute
from starlette.types import ASGIApp

from dropglm.web.hosts import AllowedHosts
from dropglm.web.json_answers import HANDLERS
from dropglm.web.request_log import RequestLog
from dropglm.web.security import Security
from dropglm.web.stopping import AnswersWhenStopped


def application(
    routes: Sequence[BaseRoute],
    hosts: AllowedHosts | None = None,
    *,
    token: str | None = None,
    log: bool = True,
    **settings: Any,
) -> ASGIApp:
    """Return an application that refuses requests of other sites and says in JSON what is wrong.

    Parameters
    ----------
    routes : sequence of routes
    hosts : AllowedHosts, default=None
        Names under which the server may be addressed; None means those of this computer only.
    token : str or None, default=None
        A secret with which all addresses start; see ``Security``.
    log : bool, default=True
        Write one line per request to standard error.
    **settings
        Passed to ``Starlette``, such as ``lifespan``.

    Examples
    --------
    >>> from urllib.request import urlopen
    >>> from starlette.routing import Route
    >>> from dropglm.web.json_answers import json_answer
    >>> from dropglm.web.running import serving
    >>> async def health(request):
    ...     return json_answer({"status": "ok"})
    >>> with serving(application([Route("/health", health)], log=False)) as address:
    ...     urlopen(f"{address}health").read()
    b'{"status":"ok"}'
    """
    # Around the application, not its middleware: answers to errors of ours must have the headers as well.
    app: ASGIApp = Starlette(routes=routes, exception_handlers=HANDLERS, **settings)
    app = Security(AnswersWhenStopped(app), hosts or AllowedHosts(), token)
    return RequestLog(app, token) if log else app
