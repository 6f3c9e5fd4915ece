"""The Python client of Keepsake.

from keepsake import Client

client = Client("https://search.example.org", os.environ["KEEPSAKE_KEY"])
found = client.search("refund policy")
"""

from keepsake import models, webhooks
from keepsake._answer import KeyRateLimits, RateLimits
from keepsake._async_client import AsyncAgent, AsyncBackend, AsyncClient
from keepsake._client import Agent, Backend, Client
from keepsake._errors import (
    APIError,
    AuthenticationError,
    BadRequestError,
    ConflictError,
    ConnectionFailedError,
    DeprecatedVersionWarning,
    ImportInterruptedError,
    ImportTooLargeError,
    InvalidSignatureError,
    KeepsakeError,
    LineTooLongError,
    NotFoundError,
    PermissionDeniedError,
    RateLimitError,
    RedirectError,
    RevisionMismatchError,
    ServerError,
    TimedOutError,
    UnexpectedAnswerError,
    VersionEndedError,
)
from keepsake._receipt import ReceiptSigner, verify_receipt
from keepsake._request import UNSET, Unset
from keepsake._retry import Retry
from keepsake._version import VERSION as __version__

__all__ = [
    "UNSET",
    "APIError",
    "Agent",
    "AsyncAgent",
    "AsyncBackend",
    "AsyncClient",
    "AuthenticationError",
    "Backend",
    "BadRequestError",
    "Client",
    "ConflictError",
    "ConnectionFailedError",
    "DeprecatedVersionWarning",
    "ImportInterruptedError",
    "ImportTooLargeError",
    "InvalidSignatureError",
    "KeepsakeError",
    "KeyRateLimits",
    "LineTooLongError",
    "NotFoundError",
    "PermissionDeniedError",
    "RateLimitError",
    "RateLimits",
    "ReceiptSigner",
    "RedirectError",
    "Retry",
    "RevisionMismatchError",
    "ServerError",
    "TimedOutError",
    "UnexpectedAnswerError",
    "Unset",
    "VersionEndedError",
    "__version__",
    "models",
    "verify_receipt",
    "webhooks",
]
