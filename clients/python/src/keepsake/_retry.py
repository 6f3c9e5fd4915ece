"""Says how often and when calls are repeated."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass

from keepsake._errors import APIError, ConnectionFailedError, UnexpectedAnswerError
from keepsake._request import Request

FIRST_WAIT = 0.2
"""The longest first wait without Retry-After, in seconds. Each one after it is up to twice as long."""

LONGEST_WAIT = 5.0
"""The longest wait without Retry-After, in seconds."""

UNAVAILABLE = (502, 503, 504)


@dataclass(frozen=True)
class Retry:
    """When calls are repeated.

    Attributes:
        retries: How often a call is repeated. 0 means never.
        max_wait: The longest wait before one repetition, in seconds. If the server asks for more, the call raises its error.
        max_total_wait: The longest wait before all repetitions of a call, in seconds.
        clock: Returns the time in seconds since 1970. For tests.
        jitter: Returns the random part of a wait, from 0 to 1. For tests.
    """

    retries: int = 3
    max_wait: float = 60
    max_total_wait: float = 120
    clock: Callable[[], float] = time.time
    jitter: Callable[[], float] = random.random

    def backoff(self, n: int) -> float:
        """Returns how long to wait before repetition n, from 0: between half and all of a time that doubles."""
        longest = min(LONGEST_WAIT, FIRST_WAIT * 2.0 ** min(n, 5))
        return longest / 2 + self.jitter() * longest / 2


class Attempts:
    """The attempts of one call."""

    def __init__(self, retry: Retry, request: Request) -> None:
        self.retry = retry
        self.request = request
        self.made = 0
        self._repeated = 0  # without waits for an earlier attempt that still runs
        self._started = retry.clock()
        self._waited = 0.0

    def next(self, e: Exception) -> float | None:
        """Returns the seconds to wait before the call is repeated after e. None if it is not repeated."""
        self.made += 1
        if isinstance(e, APIError):
            e.attempts = self.made
        running = isinstance(e, APIError) and e.code == "idempotency_in_progress"
        if self.retry.retries == 0 or not self._repeatable(e) or (self._repeated >= self.retry.retries and not running):
            return None
        asked = e.retry_after if isinstance(e, (APIError, UnexpectedAnswerError)) else None
        wait = asked or self.retry.backoff(self.made - 1)
        if wait > self.retry.max_wait or self._waited + wait > self.retry.max_total_wait:
            return None
        within = self.request.within
        if within is not None and self.retry.clock() + wait - self._started > within and not had_no_effect(e):
            return None
        self._waited += wait
        self._repeated += 0 if running else 1
        return wait

    def _repeatable(self, e: Exception) -> bool:
        """Reports whether the call can succeed if it is repeated, without a second effect."""
        if had_no_effect(e):
            return True
        if isinstance(e, APIError) and e.code == "idempotency_in_progress":
            return self.request.key is not None
        if isinstance(e, APIError) and e.code == "unavailable" and self.request.once:
            return True  # the server's own answer, so none was lost
        if isinstance(e, (APIError, UnexpectedAnswerError)):
            return e.status in UNAVAILABLE and self.request.repeatable
        return isinstance(e, ConnectionFailedError) and e.temporary and self.request.repeatable


def had_no_effect(e: Exception) -> bool:
    """Reports whether the request was certainly not performed: it exceeded a limit, or there was no connection."""
    if isinstance(e, (APIError, UnexpectedAnswerError)):
        return e.status == 429
    return isinstance(e, ConnectionFailedError) and not e.sent and e.temporary
