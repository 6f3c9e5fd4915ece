"""Receives events: a handler for any web framework, which gives it the body and the headers of a request."""

from collections.abc import Mapping

from keepsake import InvalidSignatureError, webhooks

seen: set[str] = set()


def receive(body: bytes, headers: Mapping[str, str], secret: str) -> int:
    """Return the status of the response."""
    try:
        event = webhooks.verify(body, headers, secret)
    except InvalidSignatureError:
        return 400
    if event.id not in seen:  # an event can arrive more than once
        seen.add(event.id)
        print(event.type, event.data)
    return 204


print(receive(b"{}", {}, "whsec_c2VjcmV0"))
