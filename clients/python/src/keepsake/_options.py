"""Settings that a client can change for some calls."""

from __future__ import annotations

from dataclasses import dataclass, replace

import httpx

from keepsake._core import Core, Credentials
from keepsake._retry import Retry


@dataclass(frozen=True)
class Options:
    """What changes. None leaves a setting as it is."""

    api_key: str | None = None
    token: str | None = None
    timeout: float | httpx.Timeout | None = None
    retry: Retry | None = None

    def apply(self, core: Core) -> Core:
        """Returns the settings with the changes. What answers say about limits is the new client's own."""
        return replace(
            core,
            credentials=Credentials(
                api_key=core.credentials.api_key if self.api_key is None else self.api_key,
                token=core.credentials.token if self.token is None else self.token,
                secret=core.credentials.secret,
            ),
            timeout=core.timeout if self.timeout is None else httpx.Timeout(self.timeout),
            retry=self.retry or core.retry,
            state=core.state.copy(),
        )
