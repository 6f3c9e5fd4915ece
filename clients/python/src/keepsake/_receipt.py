"""Verifies receipts of erased subjects, without a server."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from keepsake._errors import InvalidSignatureError
from keepsake.models import Receipt, SigningKey

TYPE = "keepsake-receipt+jws"
"""Distinguishes the signature of a receipt from an access token, because one set contains both kinds of keys."""

NO_RECEIPT = "the signature is not that of a receipt"

SIGNED = {"receiptId", "memories", "erasedAt", "liveKeyDestroyed", "keyBackupsBefore", "workspaceId"}


@dataclass(frozen=True)
class ReceiptSigner:
    """The key (kid in the JWK set) and the workspace of a receipt."""

    key_id: str
    workspace_id: str


def verify_receipt(receipt: Receipt, keys: Sequence[SigningKey]) -> ReceiptSigner:
    """Check, without a server, that one of the keys signed a receipt and that it is unchanged.

    It needs the package cryptography: `pip install keepsake[receipts]`. InvalidSignatureError says why a receipt is invalid.

    Args:
        receipt: What `subjects.erase` returned.
        keys: What `auth.signing_keys` returned.
    """
    key_id, signed = _open(receipt.signature, keys)
    if signed.keys() - {"signature"} != SIGNED:
        raise InvalidSignatureError("the signed content is not a receipt that this release knows")
    given = receipt.model_dump(by_alias=True)
    for name in SIGNED - {"workspaceId"}:
        value = signed[name]
        if isinstance(given[name], datetime):
            value = datetime.fromisoformat(str(value).replace("Z", "+00:00"))
        if value != given[name]:
            raise InvalidSignatureError(f"{name} differs from the signed value")
    return ReceiptSigner(key_id, str(signed["workspaceId"]))


def _open(signature: str, keys: Sequence[SigningKey]) -> tuple[str, dict[str, Any]]:
    """Verifies a signature with one of keys. It returns the key's ID and the signed content."""
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    parts = signature.split(".")
    try:
        header, payload, proof = (_decode(part) for part in parts)
        kind = json.loads(header)
        signed = json.loads(payload)
    except (ValueError, binascii.Error):
        raise InvalidSignatureError(NO_RECEIPT) from None
    if not isinstance(kind, dict) or not isinstance(signed, dict) or (kind.get("alg"), kind.get("typ")) != ("EdDSA", TYPE):
        raise InvalidSignatureError(NO_RECEIPT)
    for key in keys:
        if key.kid != kind.get("kid") or (key.kty, key.crv) != ("OKP", "Ed25519"):
            continue
        try:
            Ed25519PublicKey.from_public_bytes(_decode(key.x)).verify(proof, f"{parts[0]}.{parts[1]}".encode())
        except InvalidSignature:
            raise InvalidSignatureError("the signature does not match the key: the receipt was changed") from None
        return key.kid, signed
    raise InvalidSignatureError(
        f"the key {kind.get('kid')!r} is not one of the given keys: another server signed the receipt, or it is forged"
    )


def _decode(text: str) -> bytes:
    """Decodes base64url without padding."""
    return base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
