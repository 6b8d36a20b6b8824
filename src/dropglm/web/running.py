"""Running an application: the port, the browser, processes, slow clients, and an end within seconds."""

import asyncio
import errno
import logging
import multiprocessing
import os
import signal
import socket
import sys
import threading
import time
import webbrowser
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from functools import partial
from multiprocessing.connection import wait
from multiprocessing.context import SpawnProcess
from types import FrameType
from typing import Any, TypeVar

import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

from dropglm.base.errors import InputError
from dropglm.web.application import in_address

FIRST_PORT, PORTS = 8000, 20  # tried in turn if no port is given
MAX_CONNECTIONS = 500
# Addresses for documentation, which nobody has, by the name of all addresses of a family.
FAR = {"0.0.0.0": "192.0.2.1", "::": "2001:db8::1"}
KEEP_ALIVE = 60  # seconds between two requests
LAST_REQUESTS = 1  # seconds for requests that are running when the server is told to stop
# Looks at all connections for a last request, and seconds between two of them. A connection that was waiting
# to be accepted takes three rounds of the event loop until its request is read, and a look takes two.
LAST_LOOKS, BETWEEN_LOOKS = 5, 0.02
# Seconds in which the headers of a request must arrive, and in which a client must read some of an answer.
FOR_HEADERS, FOR_READING = 20.0, 20.0
Result = TypeVar("Result")
COMPUTING = "large request"  # name of the threads
SECONDS_TO_START = 5.0  # a worker that ends sooner would end again
SECONDS_TO_STOP = 5.0  # a worker takes about 1.5; killing it sooner could lose requests


def listen(host: str = "127.0.0.1", port: int | None = None) -> socket.socket:
    """Return a socket that listens.

    Parameters
    ----------
    host : str
        Name or address to listen on.
    port : int or None
        0 is any free port, and None the first one from 8000 on that is free.

    Raises
    ------
    ValueError
        If the host is not an address of this computer, or if the port is taken.

    Examples
    --------
    >>> with listen(port=0) as listener:
    ...     address_of(listener, "127.0.0.1").startswith("http://127.0.0.1:")
    True
    """
    if not host.strip():
        raise InputError("The host must be a name or an address, such as 127.0.0.1; it is blank.")
    tried = [*range(FIRST_PORT, FIRST_PORT + PORTS), 0] if port is None else [port]
    for number in tried:
        try:
            return _bound(host, number)
        except OSError as error:
            if error.errno != errno.EADDRINUSE:
                reason = error.strerror or error
                raise InputError(f"Cannot listen on {host}, port {number}: {reason}.") from None
        except UnicodeError:
            raise InputError(f"Cannot listen on {host!r}: this is not the name of a host.") from None
    raise InputError(
        f"Port {tried[-1]} is in use; choose another one with --port, or leave it out to take the next free "
        "one."
    )


def _bound(host: str, port: int) -> socket.socket:
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    family, kind, protocol, _, address = min(found, key=lambda each: each[0] != socket.AF_INET)
    listener = socket.socket(family, kind, protocol)
    try:
        if os.name == "posix":  # elsewhere, it would allow two servers on one port
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(2048)
    except BaseException:
        listener.close()
        raise
    return listener


def address_of(listener: socket.socket, host: str, token: str | None = None) -> str:
    """Return the web address of a server; if it listens on all addresses, one that others can open."""
    name = in_address(_own_number(host) if host in FAR else host)
    return f"http://{name}:{listener.getsockname()[1]}/" + (f"{token}/" if token else "")


def _own_number(host: str) -> str:
    """Return an address of this computer in its network; without a network, the computer's name.

    Other devices, such as phones, often cannot find computers by name.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.connect((FAR[host], 9))  # chooses the address to send from; nothing is sent
            return str(probe.getsockname()[0])
    except OSError:
        return socket.gethostname()


def open_browser(address: str) -> None:
    """Open a page in the user's browser, without waiting for it."""
    threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()


class Server(uvicorn.Server):
    """uvicorn's server, which also answers every request that was sent before the signal to stop.

    uvicorn resets connections that wait to be accepted, and closes those between two requests, also if the
    next one has arrived.
    """

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Accept the connections that wait, listen no longer, and answer what was sent."""
        # Clients must not send another request on a connection that is about to be closed.
        self.server_state.default_headers.append((b"connection", b"close"))
        waiting = [connection for listener in sockets or () for connection in _waiting(listener)]
        for each in self.servers:
            each.close()
        protocol = partial(TimeoutProtocol, self.config, self.server_state, self.lifespan.state)
        for connection in waiting:
            await asyncio.get_running_loop().connect_accepted_socket(protocol, connection)
        for _ in range(LAST_LOOKS):
            await asyncio.sleep(BETWEEN_LOOKS)
        await super().shutdown(sockets)


def _waiting(listener: socket.socket) -> Iterator[socket.socket]:
    """Accept the connections that wait at a socket, until there are none."""
    try:
        while True:
            yield listener.accept()[0]
    except OSError:  # it would block
        return


def server(app: ASGIApp) -> Server:
    """Return a server that is not running yet; its attribute ``should_exit`` ends it."""
    log = logging.getLogger("uvicorn.error")
    log.setLevel(logging.ERROR)  # warnings are about requests of others
    log.addFilter(_is_news)
    return Server(
        uvicorn.Config(
            app,
            http=TimeoutProtocol,
            ws="none",
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,
            limit_concurrency=MAX_CONNECTIONS,
            timeout_keep_alive=KEEP_ALIVE,
            timeout_graceful_shutdown=LAST_REQUESTS,
        )
    )


def _is_news(record: logging.LogRecord) -> bool:
    """Return whether a message is more than that requests were cancelled, which get an answer."""
    return not record.msg.startswith("Cancel ")


def run(app: ASGIApp, listener: socket.socket) -> None:
    """Serve an application until Ctrl-C or SIGTERM; this returns when the last requests have ended.

    Parameters
    ----------
    app : ASGI application
    listener : socket
        From ``listen``. Clients can connect from then on, so the address may be shown before this is called.
    """
    running = server(app)

    def stop(*_: Any) -> None:
        running.should_exit = True

    with _handling_signals(stop):  # uvicorn has its own handlers, and sends the signal again at its end
        running.run(sockets=[listener])


@contextmanager
def _handling_signals(handler: Callable[[int, FrameType | None], None]) -> Iterator[None]:
    """Call a function on Ctrl-C and SIGTERM."""
    before = {number: signal.signal(number, handler) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, old in before.items():
            signal.signal(number, old)


@contextmanager
def serving(app: ASGIApp, token: str | None = None) -> Iterator[str]:
    """Serve an application on a thread, on any free port of this computer.

    Parameters
    ----------
    app : ASGI application
    token : str or None, default=None
        The token of the application.

    Yields
    ------
    str
        The address.
    """
    with listen(port=0) as listener:
        running = server(app)
        thread = threading.Thread(target=running.run, kwargs={"sockets": [listener]}, daemon=True)
        thread.start()
        try:
            yield address_of(listener, "127.0.0.1", token)
        finally:
            running.should_exit = True
            thread.join()


class TimeoutProtocol(H11Protocol):
    """uvicorn's protocol, which waits for headers and for readers of answers only for a while.

    So connections of slow clients end, whatever part of a request they keep waiting for.

    This is the one of its protocols that limits the size of headers. uvicorn itself has a limit for the time
    between two requests; the limit for bodies is in ``RequestBodies``.
    """

    _deadline: asyncio.TimerHandle | None = None
    _unread = 0  # bytes of the answer that the client had not read when it was last looked at

    def connection_made(self, transport: Any) -> None:
        """Start to wait for the first request."""
        super().connection_made(transport)
        self._wait(FOR_HEADERS, self.transport.abort)

    def data_received(self, data: bytes) -> None:
        """Take the data; until they complete the headers, the time runs on."""
        super().data_received(data)
        if self.cycle is not None and not self.cycle.response_complete:
            self._stop_waiting()
        elif self._deadline is None:
            self._wait(FOR_HEADERS, self.transport.abort)

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection."""
        self._stop_waiting()
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        """Start to wait for a client that does not read."""
        super().pause_writing()
        self._unread = self.transport.get_write_buffer_size()
        self._wait(FOR_READING, self._look_at_reader)

    def resume_writing(self) -> None:
        """Continue, since the client has read."""
        self._stop_waiting()
        super().resume_writing()

    def _look_at_reader(self) -> None:
        """Wait on if the client has read some of the answer, which may be long, and else end."""
        unread = self.transport.get_write_buffer_size()
        if unread < self._unread:
            self._unread = unread
            self._wait(FOR_READING, self._look_at_reader)
        else:
            self.transport.abort()

    def _wait(self, seconds: float, then: Callable[[], None]) -> None:
        self._stop_waiting()
        self._deadline = self.loop.call_later(seconds, then)

    def _stop_waiting(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None


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


def run_workers(make_app: Callable[[], ASGIApp], listener: socket.socket, workers: int) -> None:
    """Serve an application in several processes until Ctrl-C or SIGTERM.

    A process that dies is replaced, and a line on standard error says so.

    Parameters
    ----------
    make_app : callable
        Returns the application; each process calls it. It must be possible to pickle it.
    listener : socket
        From ``listen``.
    workers : int
        Number of processes.

    Raises
    ------
    RuntimeError
        If a process ends soon after its start.
    """
    with _handling_signals(signal.default_int_handler):
        started: dict[SpawnProcess, float] = {}
        try:
            for _ in range(workers):
                started[_started(make_app, listener)] = time.monotonic()
            while True:
                wait([process.sentinel for process in started])
                for process in [process for process in started if not process.is_alive()]:
                    seconds = time.monotonic() - started.pop(process)
                    if seconds < SECONDS_TO_START and (process.exitcode or 0) >= 0:  # not killed from outside
                        raise RuntimeError("A worker ended soon after its start; its messages say why.")
                    new = _started(make_app, listener)
                    started[new] = time.monotonic()
                    code = process.exitcode or 0
                    how = f"was ended by signal {-code}" if code < 0 else f"ended with status {code}"
                    line = f"worker {process.pid} {how} and is replaced by {new.pid}"
                    sys.stderr.write(f"{time.strftime('%H:%M:%S')} {line}\n")
        except KeyboardInterrupt:  # Ctrl-C or SIGTERM
            pass
        finally:
            for number in (signal.SIGINT, signal.SIGTERM):
                signal.signal(number, signal.SIG_IGN)  # once is enough
            listener.close()  # the last worker to stop refuses connections, which nobody would accept
            for process in started:
                process.terminate()
            deadline = time.monotonic() + SECONDS_TO_STOP
            for process in started:
                process.join(max(0.0, deadline - time.monotonic()))
                process.kill()


def _started(make_app: Callable[[], ASGIApp], listener: socket.socket) -> SpawnProcess:
    """Start a worker that leaves Ctrl-C, which reaches all processes of a terminal, to this process."""
    # Not forked: threads of libraries would be missing in the copy.
    process = multiprocessing.get_context("spawn").Process(
        target=_work, args=(make_app, listener), daemon=True
    )
    handler = signal.signal(signal.SIGINT, signal.SIG_IGN)  # inherited
    try:
        process.start()
    finally:
        signal.signal(signal.SIGINT, handler)
    return process


def _work(make_app: Callable[[], ASGIApp], listener: socket.socket) -> None:
    # Until the server runs, SIGTERM ends the process at once: clients would wait for it in vain.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    run(make_app(), listener)
    end_if_computing()


def _end_with_parent() -> None:
    """Stop this worker if the process that started it has been killed."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(SECONDS_TO_STOP)
    os._exit(0)
