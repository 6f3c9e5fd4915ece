"""The receiver's side of webhooks: verifies that a delivery comes from the server.

    event = webhooks.verify(request.body, request.headers, secret)

An event can arrive more than once, and in any order: remember `event.id`. The signatures are those of Standard Webhooks
(https://www.standardwebhooks.com).
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any

from pydantic import TypeAdapter, ValidationError

from keepsake._errors import InvalidSignatureError
from keepsake._model import Answer, read

__all__ = ["Event", "verify"]

PREFIX = "whsec_"


class Event(Answer):
    """What happened."""

    id: str
    """The ID of the event. The same event can be delivered more than once."""
    type: str
    """What happened, such as api_key.revoked."""
    timestamp: datetime
    """When it happened."""
    workspace_id: str
    """The ID of the workspace."""
    data: dict[str, Any]
    """IDs, numbers and times, by their names in JSON."""


_EVENT = TypeAdapter(Event)


def verify(
    body: bytes,
    headers: Mapping[str, str],
    secret: str | Sequence[str],
    *,
    tolerance: float = 300,
    clock: Callable[[], float] = time.time,
) -> Event:
    """Return the event of a delivery, if its signature is right. Otherwise raise InvalidSignatureError.

    Args:
        body: The body as it was received. A body that was decoded and encoded again has another signature.
        headers: The headers of the request. Their case does not matter.
        secret: The secret of the webhook, whsec_…, or several secrets of which one must have signed.
        tolerance: How many seconds the time of the delivery can differ from the time of this machine.
        clock: Returns the time in seconds since 1970. For tests.
    """
    keys = [_key(s) for s in ([secret] if isinstance(secret, str) else secret)]
    found = {name.lower(): value for name, value in headers.items()}
    try:
        delivery, sent, signatures = (found[f"webhook-{name}"] for name in ("id", "timestamp", "signature"))
    except KeyError as e:
        raise InvalidSignatureError(f"the delivery has no header {e.args[0]}") from None
    if not (sent.isascii() and sent.isdigit()):
        raise InvalidSignatureError("webhook-timestamp is not a number of seconds")
    if abs(clock() - int(sent)) > tolerance:
        raise InvalidSignatureError("the delivery is too old or too new: it was repeated, or a clock is wrong")
    signed = f"{delivery}.{sent}.".encode() + body
    expected = ["v1," + base64.b64encode(hmac.digest(key, signed, hashlib.sha256)).decode() for key in keys]
    given = signatures.split(" ")
    if not any(hmac.compare_digest(a.encode(), b.encode()) for a in expected for b in given):
        raise InvalidSignatureError("no signature of the delivery is that of the secret")
    try:
        event: Event = read(_EVENT, body)
        return event
    except ValidationError:
        raise InvalidSignatureError("the body of the delivery is not an event") from None


def _key(secret: str) -> bytes:
    """Returns the key in a secret."""
    try:
        key = base64.b64decode(secret.removeprefix(PREFIX), validate=True) if secret.startswith(PREFIX) else b""
    except binascii.Error:
        key = b""
    if not key:
        raise ValueError("the secret must be the whsec_… text that the webhook was created with")
    return key
