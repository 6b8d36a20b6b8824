"""Running an application: the port, the browser, and an end within a second or two."""

import asyncio
import errno
import logging
import os
import signal
import socket
import threading
import webbrowser
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import uvicorn
from starlette.types import ASGIApp

from dropglm.errors import InputError
from dropglm.web.hosts import in_address
from dropglm.web.patience import PatientProtocol

FIRST_PORT, PORTS = 8000, 20  # tried in turn if no port is given
MAX_CONNECTIONS = 500
# Addresses for documentation, which nobody has, by the name of all addresses of a family.
FAR = {"0.0.0.0": "192.0.2.1", "::": "2001:db8::1"}
KEEP_ALIVE = 60  # seconds between two requests
LAST_REQUESTS = 1  # seconds for requests that are running when the server is told to stop
# Looks at all connections for a last request, and seconds between two of them. A connection that was waiting
# to be accepted takes three rounds of the event loop until its request is read, and a look takes two.
LAST_LOOKS, BETWEEN_LOOKS = 5, 0.02


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
            if error.errno == errno.EADDRINUSE and number != tried[-1]:
                continue
            if error.errno == errno.EADDRINUSE:
                raise InputError(
                    f"Port {number} is in use; choose another one with --port, or leave it out to take the "
                    "next free one."
                ) from None
            raise InputError(f"Cannot listen on {host}, port {number}: {error.strerror or error}.") from None
        except UnicodeError:
            raise InputError(f"Cannot listen on {host!r}: this is not the name of a host.") from None
    raise AssertionError("unreachable")


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
        protocol = partial(PatientProtocol, self.config, self.server_state, self.lifespan.state)
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


def server(app: ASGIApp | Any, **settings: Any) -> Server:
    """Return a server that is not running yet; its attribute ``should_exit`` ends it."""
    log = logging.getLogger("uvicorn.error")
    log.setLevel(logging.ERROR)  # warnings are about requests of others
    log.addFilter(_is_news)
    return Server(
        uvicorn.Config(
            app,
            http=PatientProtocol,
            ws="none",
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,
            limit_concurrency=MAX_CONNECTIONS,
            timeout_keep_alive=KEEP_ALIVE,
            timeout_graceful_shutdown=LAST_REQUESTS,
            **settings,
        )
    )


def _is_news(record: logging.LogRecord) -> bool:
    """Return whether a message is more than that requests were cancelled, which ``stopping`` answers."""
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

    # uvicorn has its own handlers, and sends the signal once more when it has finished.
    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        running.run(sockets=[listener])
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


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
