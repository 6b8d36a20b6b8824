"""Connections of slow clients end after some time, whatever part of a request they keep waiting for."""

import asyncio
from collections.abc import Callable
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

# Seconds in which the headers of a request must arrive, and in which a client must read some of an answer.
HEADERS, ANSWER = 20.0, 20.0


class PatientProtocol(H11Protocol):
    """uvicorn's protocol, which waits for headers and for readers of answers only for a while.

    This is the one of its protocols that limits the size of headers. uvicorn itself has a limit for the time
    between two requests; the limit for bodies is in ``json_bodies``.
    """

    _deadline: asyncio.TimerHandle | None = None
    _unread = 0  # bytes of the answer that the client had not read when it was last looked at

    def connection_made(self, transport: Any) -> None:
        """Start to wait for the first request."""
        super().connection_made(transport)
        self._wait(HEADERS, self.transport.abort)

    def data_received(self, data: bytes) -> None:
        """Take the data; until they complete the headers, the time runs on."""
        super().data_received(data)
        if self.cycle is not None and not self.cycle.response_complete:
            self._stop_waiting()
        elif self._deadline is None:
            self._wait(HEADERS, self.transport.abort)

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection."""
        self._stop_waiting()
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        """Start to wait for a client that does not read."""
        super().pause_writing()
        self._stop_waiting()
        self._unread = self.transport.get_write_buffer_size()
        self._wait(ANSWER, self._look_at_reader)

    def resume_writing(self) -> None:
        """Continue, since the client has read."""
        self._stop_waiting()
        super().resume_writing()

    def _look_at_reader(self) -> None:
        """Wait on if the client has read some of the answer, which may be long, and else end."""
        unread = self.transport.get_write_buffer_size()
        if unread < self._unread:
            self._unread = unread
            self._wait(ANSWER, self._look_at_reader)
        else:
            self.transport.abort()

    def _wait(self, seconds: float, then: Callable[[], None]) -> None:
        self._deadline = self.loop.call_later(seconds, then)

    def _stop_waiting(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None
