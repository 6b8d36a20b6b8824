"""Names under which a server may be addressed.

A page of another site can give its own name the address of this computer (DNS rebinding) and then read our
answers as its own. Such requests have the name of that site in their Host header; these names are refused.
"""

import re
import socket
from collections.abc import Iterable
from ipaddress import ip_address

LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
HOST = re.compile(r"(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::\d{1,5})?", re.IGNORECASE)


class AllowedHosts:
    """The names that requests may give as their host.

    Parameters
    ----------
    host : str, default="127.0.0.1"
        The name or address that the server listens on. Loopback names are always allowed. If others can
        reach the server, its address in numbers and the name of the computer are allowed as well: nobody
        can give numbers another meaning.
    further : iterable of str, default=()
        More names, such as that of a proxy.

    Examples
    --------
    >>> hosts = AllowedHosts()
    >>> "localhost:8000" in hosts, "[::1]" in hosts, "example.com:8000" in hosts, "192.0.2.1" in hosts
    (True, True, False, False)
    >>> hosts = AllowedHosts("0.0.0.0", ["example.com"])
    >>> "192.0.2.1:8000" in hosts, "example.com" in hosts, "example.org" in hosts
    (True, True, False)
    """

    def __init__(self, host: str = "127.0.0.1", further: Iterable[str] = ()) -> None:
        self.names = {name.lower() for name in (*LOOPBACK, in_address(host), *further)}
        self.is_local = is_loopback(host)
        if not self.is_local:
            self.names |= {socket.gethostname().lower(), socket.getfqdn().lower()}

    def __contains__(self, header: str) -> bool:
        """Return whether a Host header, with or without a port, has an allowed name."""
        found = HOST.fullmatch(header)
        if found is None:
            return False
        name = found[1].lower()
        return name in self.names or (not self.is_local and _number(name) is not None)


def is_loopback(host: str) -> bool:
    """Return whether only this computer can reach a server on that host.

    Examples
    --------
    >>> [is_loopback(host) for host in ("localhost", "127.0.0.1", "::1", "0.0.0.0", "example.com")]
    [True, True, True, False, False]
    """
    address = _number(host)
    return host.lower() == "localhost" if address is None else address.is_loopback


def in_address(host: str) -> str:
    """Return a host as web addresses have it.

    Examples
    --------
    >>> in_address("localhost"), in_address("::1")
    ('localhost', '[::1]')
    """
    return f"[{host}]" if ":" in host else host


def _number(host: str):  # type: ignore[no-untyped-def]  # the type of addresses has no public name
    try:
        return ip_address(host.strip("[]"))
    except ValueError:
        return None
