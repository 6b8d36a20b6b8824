"""``dropglm serve``: a model as a web service, with a page to try it."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from dropglm.cli import options, terminal
from dropglm.cli.embeddings import load_with_embedder
from dropglm.cli.inputs_outputs import need_server
from dropglm.tables.source import check_file_exists

if TYPE_CHECKING:
    from starlette.types import ASGIApp


def serve(
    model: options.ModelFile,
    host: options.Host = "127.0.0.1",
    port: options.Port = None,
    allow_host: Annotated[
        list[str] | None,
        options.option(
            options.SERVER,
            "Further host name that requests may use, such as that of a proxy; may be repeated.",
        ),
    ] = None,
    workers: Annotated[
        int, options.option(options.SERVER, "Number of processes, each with its own model.", min=1)
    ] = 1,
    max_texts: Annotated[
        int, options.option(options.SERVER, "Number of texts that a request may have.", min=1)
    ] = 10_000,
    max_megabytes: Annotated[
        float, options.option(options.SERVER, "Size that a request may have.", min=0.001)
    ] = 32,
    browser: Annotated[
        bool, options.option(options.SERVER, "Open the page in a browser.", "--browser")
    ] = False,
    embedder: options.Embedder = None,
    trust: options.Trust = False,
    threads: options.Threads = -1,
    quiet: Annotated[bool, options.option(options.OUTPUT, "Do not log requests.", "--quiet", "-q")] = False,
) -> None:
    """Answer requests for predictions over HTTP, and show a page to try the model.

    POST /predict takes {"texts": [...]} and returns labels and probabilities; POST /explain returns the
    words behind them; GET / is the page and GET /health says that the service runs. Ctrl-C stops it. There is
    one line per request on standard error.
    """
    need_server("dropglm serve needs")
    from dropglm.web.running import address_of, end_if_computing, listen, open_browser, run, run_workers

    served = ServedModel(
        model,
        embedder,
        trust,
        threads,
        host,
        tuple(allow_host or ()),
        max_texts,
        round(max_megabytes * 1e6),
        quiet,
    )
    check_file_exists(model)
    app = served()  # an error in the model is reported first, and not by each process
    with listen(host, port) as listener:
        address = address_of(listener, host)
        terminal.message(f"serving {model.name} on {address} (Ctrl-C stops).")
        if browser:
            open_browser(address)
        if workers == 1:
            run(app, listener)
        else:
            del app
            run_workers(served, listener, workers)
    terminal.message("stopped.")
    end_if_computing()


@dataclass(frozen=True)
class ServedModel:
    """What a process needs to make the application."""

    model: Path
    embedder: Path | None
    trust: bool
    threads: int
    host: str
    allow_host: tuple[str, ...]
    max_texts: int
    max_bytes: int
    quiet: bool

    def __call__(self) -> "ASGIApp":
        """Load the model, and return the application."""
        from dropglm import checks
        from dropglm.web.application import application
        from dropglm.web.security import AllowedHosts
        from dropglm.web.serving import TextService

        model = load_with_embedder(self.model, self.embedder, trust=self.trust)
        model.n_jobs = checks.threads(self.threads)  # counted once, not for each request
        service = TextService(model, self.model.stem, self.max_texts, self.max_bytes)
        service.warm_up()
        return application(service.routes(), AllowedHosts(self.host, self.allow_host), log=not self.quiet)
