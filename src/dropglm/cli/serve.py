"""``dropglm serve``: a model as a web service, with a page to try it."""

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import typer

from dropglm.cli import options, terminal
from dropglm.cli.files import model_and_embeddings
from dropglm.cli.options import OUTPUT, SERVER, with_options
from dropglm.tables.formats import check_file_exists
from dropglm.web import require_server

if TYPE_CHECKING:
    from starlette.types import ASGIApp


@dataclass(frozen=True)
class ServeOptions:
    """The arguments of ``dropglm serve``, in the order of its help."""

    model: options.ModelFile
    host: options.Host = "127.0.0.1"
    port: options.Port = None
    allow_host: list[str] | None = SERVER.field(
        "Further host name that requests may use, such as that of a proxy; may be repeated."
    )
    workers: int = SERVER.field("Number of processes, each with its own model.", default=1, min=1)
    max_error: options.MaxErrorOfService = None
    confidence: options.Confidence = 0.9
    max_texts: int = SERVER.field("Number of texts that a request may have.", default=10_000, min=1)
    max_megabytes: float = SERVER.field("Size that a request may have.", default=32, min=0.001)
    browser: bool = SERVER.field("Open the page in a browser.", "--browser", default=False)
    embedder: options.Embedder = None
    trust: options.Trust = False
    threads: options.Threads = -1
    quiet: bool = OUTPUT.field("Do not log requests.", "--quiet", "-q", default=False)


@with_options(ServeOptions)
def serve(_: typer.Context, chosen: ServeOptions) -> None:
    """Answer requests for predictions over HTTP, and show a page to try the model.

    POST /predict takes {"texts": [...]} and returns labels and probabilities; POST /explain returns the
    words behind them; GET / is the page and GET /health says that the service runs. Ctrl-C stops it. There is
    one line per request on standard error.
    """
    require_server("dropglm serve needs")
    from dropglm.web.running import address_of, end_if_computing, listen, open_browser, run, run_workers

    check_file_exists(chosen.model)
    app = application_of(chosen)  # an error in the model is reported first, and not by each process
    with listen(chosen.host, chosen.port) as listener:
        address = address_of(listener, chosen.host)
        terminal.message(f"serving {chosen.model.name} on {address} (Ctrl-C stops).")
        if chosen.browser:
            open_browser(address)
        if chosen.workers == 1:
            run(app, listener)
        else:
            del app
            run_workers(partial(application_of, chosen), listener, chosen.workers)
    terminal.message("stopped.")
    end_if_computing()


def application_of(chosen: ServeOptions) -> "ASGIApp":
    """Load the model, and return the application that serves it; each process calls this."""
    from dropglm.base import checks
    from dropglm.web.application import AllowedHosts, application
    from dropglm.web.serving import TextService

    model, _ = model_and_embeddings(chosen.model, None, chosen.embedder, trust=chosen.trust)
    model.n_jobs = checks.threads(chosen.threads)  # counted once, not for each request
    size, rule = round(chosen.max_megabytes * 1e6), (chosen.max_error, chosen.confidence)
    service = TextService(model, chosen.model.stem, chosen.max_texts, size, *rule)
    if chosen.max_error is not None:
        terminal.message(f"{'; '.join(str(service.rule(chosen.max_error)).splitlines())}.")
    service.warm_up()
    hosts = AllowedHosts(chosen.host, chosen.allow_host or ())
    return application(service.routes(), hosts, log=not chosen.quiet)
