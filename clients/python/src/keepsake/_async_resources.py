# Written by clients/python/tools/generate.py from openapi/v1.json. Run `make clients` instead of changing it.

"""The methods of the clients."""

from __future__ import annotations

import builtins
from collections.abc import AsyncIterator, Callable, Sequence
from datetime import datetime
from typing import Any, BinaryIO, Literal

from keepsake import models
from keepsake._async_transport import AsyncGroup, AsyncImportSource, AsyncTransport
from keepsake._request import NO_KEY, UNSET, Key, Metadata, Request, Unset, quote


class AsyncAPIKeys(AsyncGroup):
    """API keys."""

    async def list(
        self,
        *,
        state: Literal["active", "rotating", "expired", "disabled", "revoked"] | None = None,
        created_by: str | None = None,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> models.APIKeyPage:
        """List API keys, newest first.

        The list contains the keys of the caller's workspace, also those that expired or were revoked. A caller that is
        bound to a subject or agent sees only keys with the same binding.

        Args:
            state: List only keys in this state.
            created_by: List only keys created by the user or key with this ID, or by local.
            limit: The maximum number of items in the response.
            cursor: The nextCursor of the page before. Without it, the response is the first page. The other parameters
                must stay the same, except limit.
        """
        return await self._transport.send(
            Request(
                "listAPIKeys",
                "GET",
                "/api/v1/developer/api-keys",
                query={
                    "state": state,
                    "createdBy": created_by,
                    "limit": limit,
                    "cursor": cursor,
                },
            ),
            models.APIKeyPage,
        )

    async def each(
        self,
        *,
        state: Literal["active", "rotating", "expired", "disabled", "revoked"] | None = None,
        created_by: str | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[models.APIKey]:
        """Iterate over what all pages of `list` contain, which describes the parameters. `limit` is the size of a page. A
        page is read when it is needed."""
        cursor: str | None = None
        while True:
            page = await self.list(state=state, created_by=created_by, limit=limit, cursor=cursor)
            for item in page.items:
                yield item
            if page.next_cursor is None:
                return
            cursor = page.next_cursor

    async def create(
        self,
        *,
        name: str,
        scopes: Sequence[
            Literal["read", "write", "developer:manage", "analytics:read", "memory:read", "memory:write", "admin"]
        ],
        idempotency_key: str | None = None,
        agent_id: str | None = None,
        allowed_ips: Sequence[str] | None = None,
        expires_at: datetime | None = None,
        metadata: Metadata | None = None,
        quota: models.NewQuota | None = None,
        rate_limit: models.NewRateLimit | None = None,
        subject_id: str | None = None,
        workspace_id: str | None = None,
    ) -> models.CreatedAPIKey:
        """Create an API key.

        The response is the only one that contains the key. The key's scopes must be a subset of the caller's. A caller
        that is bound to a subject or agent creates keys with the same binding. A key can create keys within its own
        expiresAt, allowedIps, quota and rateLimit only, which also are the defaults. A wider value is refused with 403
        and named in details.field.

        Args:
            idempotency_key: A key that you stored before the call, so that you can repeat the call after a crash.
                Without it, the key is random.
            name: The display name.
            scopes: The scopes of the key. The caller must have each of them.
            agent_id: The agent that the key is bound to. This cannot be changed later.
            allowed_ips: The networks that the key can be used from. If the list is empty, the key can be used from
                anywhere.
            expires_at: The time at which the key expires, which must be in the future. If it is omitted, the key does
                not expire.
            metadata: Named values: strings of at most 1,024 characters, numbers or booleans.
            quota: The key's own quotas, which apply in addition to the workspace's.
            rate_limit: The key's own limit per minute, which cannot exceed the tier's. If it is omitted, the tier's
                limit applies, also after it changes.
            subject_id: The subject that the key is bound to. This cannot be changed later.
            workspace_id: The workspace of the new key. The default is the caller's workspace. Only operators can send
                it.
        """
        return await self._transport.send(
            Request(
                "createAPIKey",
                "POST",
                "/api/v1/developer/api-keys",
                body={  # NewAPIKey
                    "name": name,
                    "scopes": scopes,
                    "agentId": agent_id,
                    "allowedIps": allowed_ips,
                    "expiresAt": expires_at,
                    "metadata": metadata,
                    "quota": quota,
                    "rateLimit": rate_limit,
                    "subjectId": subject_id,
                    "workspaceId": workspace_id,
                },
                key=Key(idempotency_key),
            ),
            models.CreatedAPIKey,
        )

    async def get(self, id: str) -> models.APIKey:
        """Get an API key.

        The response contains the record of the key, never the text of the key. The record of a revoked key stays
        readable.

        Args:
            id: The ID of the API key.
        """
        return await self._transport.send(Request("getAPIKey", "GET", f"/api/v1/developer/api-keys/{quote(id)}"), models.APIKey)

    async def update(
        self,
        id: str,
        *,
        if_revision: int | None = None,
        allowed_ips: Sequence[str] | None | Unset = UNSET,
        disabled: bool | Unset = UNSET,
        expires_at: datetime | None | Unset = UNSET,
        metadata: Metadata | None | Unset = UNSET,
        name: str | Unset = UNSET,
        quota: models.NewQuota | None | Unset = UNSET,
        rate_limit: models.NewRateLimit | None | Unset = UNSET,
        scopes: Sequence[Literal["read", "write", "developer:manage", "analytics:read", "memory:read", "memory:write", "admin"]]
        | Unset = UNSET,
    ) -> models.APIKey:
        """Change an API key.

        Fields that are omitted do not change, nor do members of rateLimit, quota and metadata that are omitted. scopes
        and allowedIps replace the whole old list. A key that expired less than 30 days ago becomes active again if
        expiresAt is moved into the future. Revoked keys cannot be changed. A key can change keys, including itself,
        within its own scopes, expiresAt, allowedIps, quota and rateLimit only. A wider value is refused with 403 and
        named in details.field.

        Args:
            id: The ID of the API key.
            if_revision: Only do it if this is still the revision.
            allowed_ips: The networks that the key can be used from. None, like an empty list, means that the key can be
                used from anywhere.
            disabled: Whether the key is disabled. A disabled key is refused until it is enabled again.
            expires_at: The time at which the key expires. None means that it does not expire.
            metadata: The metadata to merge, name by name. A None value removes the entry. None instead of an object
                removes all entries.
            name: The display name of the key.
            quota: The key's own quotas. None means that it has none, and None for one of them removes that one.
            rate_limit: The key's own limit per minute. None means that the tier's limit applies, also after it changes.
            scopes: The new scopes of the key. They replace all old ones, and the caller must have each of them.
        """
        return await self._transport.send(
            Request(
                "changeAPIKey",
                "PATCH",
                f"/api/v1/developer/api-keys/{quote(id)}",
                body={  # ChangeAPIKeyBody
                    "allowedIps": allowed_ips,
                    "disabled": disabled,
                    "expiresAt": expires_at,
                    "metadata": metadata,
                    "name": name,
                    "quota": quota,
                    "rateLimit": rate_limit,
                    "scopes": scopes,
                },
                partial=True,
                if_revision=if_revision,
            ),
            models.APIKey,
        )

    async def delete(self, id: str, *, if_revision: int | None = None) -> None:
        """Revoke an API key and return nothing.

        Status 202 means that this instance refuses the key from now on but could not store the revocation yet, for
        example because its disk is full. It stores the revocation as soon as it can. Only then do other instances
        refuse the key.

        Args:
            id: The ID of the API key.
            if_revision: Only do it if this is still the revision.
        """
        return await self._transport.run(
            Request("deleteAPIKey", "DELETE", f"/api/v1/developer/api-keys/{quote(id)}", if_revision=if_revision)
        )

    async def rotate(
        self,
        id: str,
        *,
        if_revision: int | None = None,
        idempotency_key: str | None = None,
        force: bool | None = None,
        grace_seconds: int | None = None,
    ) -> models.CreatedAPIKey:
        """Rotate an API key.

        The response is the only one that contains the new key. The ID, limits and scopes do not change. The previous
        secret works for graceSeconds more, and responses to it have the header X-API-Key-Rotate-By. The key's scopes
        must be a subset of the caller's, and a key cannot rotate a key with wider limits than its own. A key that is
        disabled, expired or revoked is refused with 409. So is a key that is being rotated, unless force is True.

        Args:
            id: The ID of the API key.
            if_revision: Only do it if this is still the revision.
            idempotency_key: A key that you stored before the call, so that you can repeat the call after a crash.
                Without it, the key is random.
            force: Rotate even if a rotation is in progress. The older secret then stops working at once.
            grace_seconds: The number of seconds for which the previous secret still works. The default is one day.
        """
        return await self._transport.send(
            Request(
                "rotateAPIKey",
                "POST",
                f"/api/v1/developer/api-keys/{quote(id)}/rotate",
                body={  # RotateAPIKeyBody
                    "force": force,
                    "graceSeconds": grace_seconds,
                },
                if_revision=if_revision,
                key=Key(idempotency_key),
            ),
            models.CreatedAPIKey,
        )

    async def complete_rotation(
        self, id: str, *, if_revision: int | None = None, idempotency_key: str | None = None
    ) -> models.APIKey:
        """Complete the rotation of an API key.

        After this response only the newest secret works. If there is no older secret, nothing changes.

        Args:
            id: The ID of the API key.
            if_revision: Only do it if this is still the revision.
            idempotency_key: A key that you stored before the call, so that you can repeat the call after a crash.
                Without it, the key is random.
        """
        return await self._transport.send(
            Request(
                "completeAPIKeyRotation",
                "POST",
                f"/api/v1/developer/api-keys/{quote(id)}/complete-rotation",
                if_revision=if_revision,
                key=Key(idempotency_key),
            ),
            models.APIKey,
        )

    async def revoke(
        self, id: str, *, if_revision: int | None = None, idempotency_key: str | None = None, reason: str | None = None
    ) -> models.APIKey:
        """Revoke an API key.

        All later requests with the key are refused. Its record stays readable. Revoking a revoked key has no effect.
        Status 202 means that this instance refuses the key from now on but could not store the revocation yet, for
        example because its disk is full. It stores the revocation as soon as it can. Only then do other instances
        refuse the key.

        Args:
            id: The ID of the API key.
            if_revision: Only do it if this is still the revision.
            idempotency_key: A key that you stored before the call, so that you can repeat the call after a crash.
                Without it, the key is random.
            reason: The reason for the revocation, which is stored with the key.
        """
        return await self._transport.send(
            Request(
                "revokeAPIKey",
                "POST",
                f"/api/v1/developer/api-keys/{quote(id)}/revoke",
                body={  # RevokeAPIKeyBody
                    "reason": reason,
                },
                if_revision=if_revision,
                key=Key(idempotency_key),
            ),
            models.APIKey,
        )

    async def usage(self, id: str, *, window: Literal["1h", "24h", "7d", "30d"] | None = None) -> models.APIKeyUsage:
        """Get the usage of an API key over time.

        The response has a point for each interval of the window, also for intervals without requests.

        Args:
            id: The ID of the API key.
            window: The period to report. The intervals are minutes for an hour, hours for a day or a week, and days for
                thirty days.
        """
        return await self._transport.send(
            Request(
                "getAPIKeyUsage",
                "GET",
                f"/api/v1/developer/api-keys/{quote(id)}/usage",
                query={
                    "window": window,
                },
            ),
            models.APIKeyUsage,
        )

    async def limits(self, id: str) -> models.APIKeyLimits:
        """Get the limits of an API key.

        Reading the limits is not charged to the key.

        Args:
            id: The ID of the API key.
        """
        return await self._transport.send(
            Request("getAPIKeyLimits", "GET", f"/api/v1/developer/api-keys/{quote(id)}/limits"), models.APIKeyLimits
        )

    async def verify(
        self,
        key: str,
        *,
        consume: bool | None = None,
        cost: int | None = None,
        ip: str | None = None,
        required_scopes: Sequence[
            Literal["read", "write", "developer:manage", "analytics:read", "memory:read", "memory:write", "admin"]
        ]
        | None = None,
    ) -> models.Verification:
        """Verify an API key.

        The status is 200 whenever the request itself is valid, and code is the result. Only keys of the caller's
        workspace are known; other keys are INVALID. A request for an INVALID key costs the caller one request, and any
        other request costs the caller nothing. If code is VALID and consume is not False, the verified key and its
        workspace are charged cost once.

        Args:
            key: The key to verify.
            consume: Whether the verified key is charged. The default is True.
            cost: The number of requests to charge. The default is 1.
            ip: The IP address that the key was used from. Without it, the code of a key with allowedIps is
                IP_NOT_ALLOWED.
            required_scopes: The scopes that the key must have.
        """
        return await self._transport.send(
            Request(
                "verifyAPIKey",
                "POST",
                "/api/v1/developer/verify",
                body={  # VerifyAPIKeyBody
                    "key": key,
                    "consume": consume,
                    "cost": cost,
                    "ip": ip,
                    "requiredScopes": required_scopes,
                },
                safe=consume is False,
            ),
            models.Verification,
        )


class AsyncDocuments(AsyncGroup):
    """Documents."""

    async def list(
        self,
        *,
        collection: str | None = None,
        tag: Sequence[str] | None = None,
        filter: Sequence[str] | None = None,
        sort: Literal["id", "updatedAt", "-updatedAt"] | None = None,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> models.DocumentPage:
        """List documents.

        If filter is given, a page can have fewer items than limit, or none, although nextCursor is not None.

        Args:
            collection: List only documents of this collection.
            tag: The tags to match. All of them must match.
            filter: Comparisons of metadata, each in the form name:op:value, where op is eq, ne, lt, lte, gt or gte. All
                of them must match.
            sort: The order of the documents: id is by ID, updatedAt has the oldest change first, and -updatedAt the
                newest.
            limit: The maximum number of items in the response.
            cursor: The nextCursor of the page before. Without it, the response is the first page. The other parameters
                must stay the same, except limit.
        """
        return await self._transport.send(
            Request(
                "listDocuments",
                "GET",
                "/api/v1/documents",
                query={
                    "collection": collection,
                    "tag": tag,
                    "filter": filter,
                    "sort": sort,
                    "limit": limit,
                    "cursor": cursor,
                },
            ),
            models.DocumentPage,
        )

    async def each(
        self,
        *,
        collection: str | None = None,
        tag: Sequence[str] | None = None,
        filter: Sequence[str] | None = None,
        sort: Literal["id", "updatedAt", "-updatedAt"] | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[models.Document]:
        """Iterate over what all pages of `list` contain, which describes the parameters. `limit` is the size of a page. A
        page is read when it is needed."""
        cursor: str | None = None
        while True:
            page = await self.list(collection=collection, tag=tag, filter=filter, sort=sort, limit=limit, cursor=cursor)
            for item in page.items:
                yield item
            if page.next_cursor is None:
                return
            cursor = page.next_cursor

    async def create(
        self,
        *,
        idempotency_key: str | None = None,
        collection: str | None = None,
        id: str | None = None,
        language: str | None = None,
        metadata: Metadata | None = None,
        tags: Sequence[str] | None = None,
        text: str | None = None,
        title: str | None = None,
        url: str | None = None,
    ) -> models.Document:
        """Create a document.

        If the document has no ID, one is generated.

        Args:
            idempotency_key: A key that you stored before the call, so that you can repeat the call after a crash.
                Without it, the key is random.
            collection: The collection that the document belongs to. The default is the collection named default.
            id: The ID of the document. If it is omitted, one is generated. An integer is taken as its digits.
            language: The language of the document, as a code that GET /api/v1/languages lists. Without one, it is that
                of the collection's settings, or else that of the document's own words.
            metadata: Named values: strings of at most 1,024 characters, numbers, booleans, or arrays of at most 64 of
                these.
            tags: Words to select documents by, in lists and searches. Repeated ones are stored once.
            text: The text that search finds and shows in snippets. At least one of title and text must not be blank.
            title: The title. At least one of title and text must not be blank.
            url: The http or https URL of the original.
        """
        return await self._transport.send(
            Request(
                "createDocument",
                "POST",
                "/api/v1/documents",
                body={  # NewDocument
                    "collection": collection,
                    "id": id,
                    "language": language,
                    "metadata": metadata,
                    "tags": tags,
                    "text": text,
                    "title": title,
                    "url": url,
                },
                key=Key(idempotency_key),
            ),
            models.Document,
        )

    async def put(
        self,
        id: str,
        *,
        if_revision: int | None = None,
        collection: str | None = None,
        language: str | None = None,
        metadata: Metadata | None = None,
        tags: Sequence[str] | None = None,
        text: str | None = None,
        title: str | None = None,
        url: str | None = None,
    ) -> models.Document:
        """Create or replace a document.

        With If-None-Match: *, the operation creates a document and does not replace one.

        Args:
            id: The ID of the document, which the client chooses.
            if_revision: Only do it if this is still the revision.
            collection: The collection that the document belongs to. The default is the collection named default.
            language: The language of the document, as a code that GET /api/v1/languages lists. Without one, it is that
                of the collection's settings, or else that of the document's own words.
            metadata: Named values: strings of at most 1,024 characters, numbers, booleans, or arrays of at most 64 of
                these.
            tags: Words to select documents by, in lists and searches. Repeated ones are stored once.
            text: The text that search finds and shows in snippets. At least one of title and text must not be blank.
            title: The title. At least one of title and text must not be blank.
            url: The http or https URL of the original.
        """
        return await self._transport.send(
            Request(
                "putDocument",
                "PUT",
                f"/api/v1/documents/{quote(id)}",
                body={  # DocumentFields
                    "collection": collection,
                    "language": language,
                    "metadata": metadata,
                    "tags": tags,
                    "text": text,
                    "title": title,
                    "url": url,
                },
                if_revision=if_revision,
            ),
            models.Document,
        )

    async def get(self, id: str) -> models.Document:
        """Get a document.

        The response contains the whole document, whatever its collection.

        Args:
            id: The ID of the document.
        """
        return await self._transport.send(Request("getDocument", "GET", f"/api/v1/documents/{quote(id)}"), models.Document)

    async def update(
        self,
        id: str,
        *,
        if_revision: int | None = None,
        collection: str | None | Unset = UNSET,
        language: str | None | Unset = UNSET,
        metadata: Metadata | None | Unset = UNSET,
        tags: Sequence[str] | None | Unset = UNSET,
        text: str | None | Unset = UNSET,
        title: str | None | Unset = UNSET,
        url: str | None | Unset = UNSET,
    ) -> models.Document:
        """Change a document.

        The body is a merge patch. Fields that are omitted do not change, None removes a field, and metadata is merged
        name by name.

        Args:
            id: The ID of the document.
            if_revision: Only do it if this is still the revision.
            collection: The collection that the document belongs to. None stands for the collection named default.
            language: The language of the document, as a code that GET /api/v1/languages lists. None removes it.
            metadata: The metadata to merge, name by name. A None value removes the entry. None instead of an object
                removes all entries.
            tags: The new tags, which replace all old ones. None removes all of them.
            text: The text of the document. None removes it. At least one of title and text must not be blank.
            title: The title of the document. None removes it. At least one of title and text must not be blank.
            url: The http or https URL of the original. None removes it.
        """
        return await self._transport.send(
            Request(
                "changeDocument",
                "PATCH",
                f"/api/v1/documents/{quote(id)}",
                body={  # ChangeDocumentBody
                    "collection": collection,
                    "language": language,
                    "metadata": metadata,
                    "tags": tags,
                    "text": text,
                    "title": title,
                    "url": url,
                },
                partial=True,
                if_revision=if_revision,
            ),
            models.Document,
        )

    async def delete(self, id: str, *, if_revision: int | None = None) -> None:
        """Delete a document.

        The next search does not find the document. Its ID can be used again.

        Args:
            id: The ID of the document.
            if_revision: Only do it if this is still the revision.
        """
        return await self._transport.run(
            Request("deleteDocument", "DELETE", f"/api/v1/documents/{quote(id)}", if_revision=if_revision)
        )

    async def delete_many(
        self,
        *,
        idempotency_key: str | None = None,
        collection: str | None = None,
        dry_run: bool | None = None,
        filter: Sequence[str] | None = None,
        ids: Sequence[str] | None = None,
        tags: Sequence[str] | None = None,
    ) -> models.DeletedDocuments:
        """Delete documents by ID, or those that match a selection.

        With dryRun, which is the default, the operation only counts the documents that it would delete. Documents are
        deleted in parts, so if the request fails, some of them can be deleted already. It can then be repeated.

        Args:
            idempotency_key: A key that you stored before the call, so that you can repeat the call after a crash.
                Without it, the key is random.
            collection: Select documents of this collection.
            dry_run: Whether the documents are only counted, and none is deleted. The default is True.
            filter: Select documents whose metadata matches all of these comparisons, each in the form name:op:value.
            ids: The documents to delete. IDs cannot be combined with a selection.
            tags: Select documents with all of these tags.
        """
        return await self._transport.send(
            Request(
                "deleteDocuments",
                "POST",
                "/api/v1/documents/delete",
                body={  # DeleteDocumentsBody
                    "collection": collection,
                    "dryRun": dry_run,
                    "filter": filter,
                    "ids": ids,
                    "tags": tags,
                },
                key=Key(idempotency_key) if not (dry_run is True) else NO_KEY,
                safe=dry_run is True,
            ),
            models.DeletedDocuments,
        )

    async def import_(
        self,
        source: AsyncImportSource,
        *,
        idempotency_key: str | None = None,
        id: str | None = None,
        title: str | None = None,
        text: str | None = None,
        tags: str | None = None,
        url: str | None = None,
        collection: str | None = None,
        into: str | None = None,
        replace: bool | None = None,
        rest: Literal["metadata", "refuse", "drop"] | None = None,
        progress: Callable[[int], None] | None = None,
    ) -> models.Import:
        """Import documents from lines of JSON or a CSV.

        Each line is a document in the format of createDocument. A document whose ID exists is replaced. An invalid line
        does not affect the others. A line without an ID gets one that follows from its workspace, collection and
        content, so that importing it again replaces the document. The body can also be a JSON array of at most 8 MiB;
        line is then the position in the array, starting at 1. Or it is a CSV whose first row has the names of the
        columns; line is then the line on which a row begins. Rows of any form become documents if the parameters say
        which of their values are which fields. Values of nested objects have names with dots.

        Args:
            source: A file that was opened with `rb`, with one JSON object per line or a JSON array; or an iterable of
                lines, dictionaries or models. It can have any length: it is sent in parts of a few megabytes.
            idempotency_key: A key that you stored before the call, so that you can repeat the call after a crash.
                Without it, the key is random.
            id: The name of the value that is the ID. An integer is taken as its digits. The default is id.
            title: The name of the value that is the title. The default is title.
            text: The name of the value that is the text, or several names separated by commas, whose values are joined
                by blank lines. The default is text.
            tags: The name of the value that has the tags: an array, or a text in which they are parted by |. The
                default is tags.
            url: The name of the value that is the URL. The default is url.
            collection: The name of the value that is the collection. The default is collection.
            into: The collection of the rows that have none.
            replace: Whether the documents of the collection into that are not in the body are deleted, once all rows
                are stored and none failed.
            rest: What becomes of the other values of a row: with refuse the row is refused, with drop they are left
                out, and with metadata they become metadata, where texts of more than 1,024 characters are cut.
            progress: Called after each part with the number of bytes so far.
        """
        return await self._transport.import_lines(
            Request(
                "importDocuments",
                "POST",
                "/api/v1/documents/import",
                query={
                    "id": id,
                    "title": title,
                    "text": text,
                    "tags": tags,
                    "url": url,
                    "collection": collection,
                    "into": into,
                    "replace": replace,
                    "rest": rest,
                },
            ),
            source,
            models.Import,
            progress,
            idempotency_key,
        )

    def export(
        self, *, collection: str | None = None, progress: Callable[[int], None] | None = None
    ) -> AsyncIterator[models.PortableDocument]:
        """Export documents as lines of JSON.

        Each line is a document in the format of importDocuments, in the order of the IDs.

        Args:
            collection: The collection to export. Without it, all documents are exported.
            progress: Called after each part with the number of bytes so far.
        """
        return self._transport.items(
            Request(
                "exportDocuments",
                "GET",
                "/api/v1/documents/export",
                query={
                    "collection": collection,
                },
            ),
            models.PortableDocument,
            progress,
        )

    async def export_to(
        self, file: BinaryIO, *, collection: str | None = None, progress: Callable[[int], None] | None = None
    ) -> int:
        """Write what `export` returns to a file, as one JSON object per line, and return the number of bytes.

        Args:
            file: Where the lines are written: a file that was opened with `wb`.
            collection: The collection to export. Without it, all documents are exported.
            progress: Called after each part with the number of bytes so far.
        """
        return await self._transport.save(
            Request(
                "exportDocuments",
                "GET",
                "/api/v1/documents/export",
                query={
                    "collection": collection,
                },
            ),
            file,
            progress,
        )


class AsyncCollections(AsyncGroup):
    """Settings of the collections of documents."""

    async def list(self, *, limit: int | None = None, cursor: str | None = None) -> models.CollectionPage:
        """List the collections, by name.

        The list contains the collections that have documents, and those that have settings.

        Args:
            limit: The maximum number of items in the response.
            cursor: The nextCursor of the page before. Without it, the response is the first page. The other parameters
                must stay the same, except limit.
        """
        return await self._transport.send(
            Request(
                "listCollections",
                "GET",
                "/api/v1/collections",
                query={
                    "limit": limit,
                    "cursor": cursor,
                },
            ),
            models.CollectionPage,
        )

    async def each(self, *, limit: int | None = None) -> AsyncIterator[models.Collection]:
        """Iterate over what all pages of `list` contain, which describes the parameters. `limit` is the size of a page. A
        page is read when it is needed."""
        cursor: str | None = None
        while True:
            page = await self.list(limit=limit, cursor=cursor)
            for item in page.items:
                yield item
            if page.next_cursor is None:
                return
            cursor = page.next_cursor

    async def get(self, collection: str) -> models.Collection:
        """Get a collection and its settings.

        A collection without settings has the default ones. ETag is the revision of the settings: the number of
        documents changes without it.

        Args:
            collection: The name of the collection.
        """
        return await self._transport.send(
            Request("getCollection", "GET", f"/api/v1/collections/{quote(collection)}"), models.Collection
        )

    async def put(
        self,
        collection: str,
        *,
        if_revision: int | None = None,
        fields: Metadata | None = None,
        language: str | None = None,
        synonyms: Any | None = None,
    ) -> models.Collection:
        """Replace the settings of a collection.

        What is omitted gets its default. Synonyms and weights apply to the next search. A language, and fields that
        were not searched before, apply once the documents are indexed again, which begins at once; until then, searches
        use the index as it is. The collection need not have documents. With If-None-Match: *, settings are created and
        not replaced.

        Args:
            collection: The name of the collection, which the client chooses: at most 128 characters.
            if_revision: Only do it if this is still the revision.
            fields: The fields that are searched, with their weights, which are greater than 0 and at most 100: title,
                text, and at most 8 entries of metadata by names such as metadata.author. A word in a field of twice the
                weight counts twice. Without fields, title is searched with a weight of 2.5 and text with 1.
            language: The language of documents that have none of their own, as a code that GET /api/v1/languages lists.
                Without one, the words of each document decide.
            synonyms: A list of at most 1,000 rows. A row is an array of 2 to 10 words, each of which also finds the
                others; an object with from, a word, and to, an array of 1 to 10 words that it also finds; or "english"
                for the program's own list of related English words. A word has at most 128 characters, and can consist
                of several words, which are then a phrase. The string "english" in place of a list stands for that row
                alone, and None for none.
        """
        return await self._transport.send(
            Request(
                "putCollection",
                "PUT",
                f"/api/v1/collections/{quote(collection)}",
                body={  # CollectionSettings
                    "fields": fields,
                    "language": language,
                    "synonyms": synonyms,
                },
                if_revision=if_revision,
            ),
            models.Collection,
        )

    async def delete(self, collection: str, *, if_revision: int | None = None) -> None:
        """Remove the settings of a collection.

        The documents of the collection stay, and are searched with the default settings. To delete them, use POST
        /documents/delete.

        Args:
            collection: The name of the collection.
            if_revision: Only do it if this is still the revision.
        """
        return await self._transport.run(
            Request("deleteCollection", "DELETE", f"/api/v1/collections/{quote(collection)}", if_revision=if_revision)
        )


class AsyncLanguages(AsyncGroup):
    """Languages that search knows."""

    async def list(self, *, limit: int | None = None, cursor: str | None = None) -> models.LanguagePage:
        """List the languages of documents.

        A document, and the settings of a collection, can have one of these languages. It decides which words of a
        document are forms of one word.

        Args:
            limit: The maximum number of items in the response.
            cursor: The nextCursor of the page before. Without it, the response is the first page. The other parameters
                must stay the same, except limit.
        """
        return await self._transport.send(
            Request(
                "listLanguages",
                "GET",
                "/api/v1/languages",
                query={
                    "limit": limit,
                    "cursor": cursor,
                },
            ),
            models.LanguagePage,
        )

    async def each(self, *, limit: int | None = None) -> AsyncIterator[models.Language]:
        """Iterate over what all pages of `list` contain, which describes the parameters. `limit` is the size of a page. A
        page is read when it is needed."""
        cursor: str | None = None
        while True:
            page = await self.list(limit=limit, cursor=cursor)
            for item in page.items:
                yield item
            if page.next_cursor is None:
                return
            cursor = page.next_cursor


class AsyncMemories(AsyncGroup):
    """Memories."""

    async def list(
        self,
        *,
        subject_id: str | None = None,
        agent_id: str | None = None,
        session_id: str | None = None,
        kind: Literal["fact", "preference", "event", "instruction", "summary", "turn", "note"] | None = None,
        id: Sequence[str] | None = None,
        tag: Sequence[str] | None = None,
        from_: datetime | None = None,
        to: datetime | None = None,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> models.MemoryPage:
        """List memories, newest first.

        The parameters from and to apply to occurredAt or, without it, to createdAt. The parameter tag requires
        subjectId, because tags are encrypted for each subject.

        Args:
            subject_id: List only memories of this subject. The default is the subject that the API key is bound to, or
                else all subjects.
            agent_id: List only memories of this agent.
            session_id: List only memories of this conversation.
            kind: List only memories of this kind.
            id: The IDs of the memories to list. IDs that do not exist are ignored.
            tag: The tags to match. All of them must match.
            from_: Include only memories at or after this time.
            to: Include only memories before this time.
            limit: The maximum number of items in the response.
            cursor: The nextCursor of the page before. Without it, the response is the first page. The other parameters
                must stay the same, except limit.
        """
        return await self._transport.send(
            Request(
                "listMemories",
                "GET",
                "/api/v1/memories",
                query={
                    "subjectId": subject_id,
                    "agentId": agent_id,
                    "sessionId": session_id,
                    "kind": kind,
                    "id": id,
                    "tag": tag,
                    "from": from_,
                    "to": to,
                    "limit": limit,
                    "cursor": cursor,
                },
            ),
            models.MemoryPage,
        )

    async def each(
        self,
        *,
        subject_id: str | None = None,
        agent_id: str | None = None,
        session_id: str | None = None,
        kind: Literal["fact", "preference", "event", "instruction", "summary", "turn", "note"] | None = None,
        id: Sequence[str] | None = None,
        tag: Sequence[str] | None = None,
        from_: datetime | None = None,
        to: datetime | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[models.Memory]:
        """Iterate over what all pages of `list` contain, which describes the parameters. `limit` is the size of a page. A
        page is read when it is needed."""
        cursor: str | None = None
        while True:
            page = await self.list(
                subject_id=subject_id,
                agent_id=agent_id,
                session_id=session_id,
                kind=kind,
                id=id,
                tag=tag,
                from_=from_,
                to=to,
                limit=limit,
                cursor=cursor,
            )
            for item in page.items:
                yield item
            if page.next_cursor is None:
                return
            cursor = page.next_cursor

    async def create(
        self,
        text: str,
        *,
        idempotency_key: str | None = None,
        agent_id: str | None = None,
        allow_duplicate: bool | None = None,
        deduplicate: bool | None = None,
        expires_at: datetime | None = None,
        importance: float | None = None,
        key: str | None = None,
        kind: Literal["fact", "preference", "event", "instruction", "summary", "turn", "note"] | None = None,
        metadata: Metadata | None = None,
        occurred_at: datetime | None = None,
        pinned: bool | None = None,
        session_id: str | None = None,
        source: str | None = None,
        speaker: str | None = None,
        subject_id: str | None = None,
        tags: Sequence[str] | None = None,
        valid_from: datetime | None = None,
        valid_to: datetime | None = None,
    ) -> models.StoredMemory:
        """Create a memory.

        A memory with the same key and subject is replaced (200). Without a key, the operation looks for a memory with
        the same text, kind, agent, session, speaker, occurredAt, tags and metadata, and returns it instead of storing
        another one (200, deduplicated). Set allowDuplicate to store it all the same. Turns and events are compared only
        if deduplicate is True.

        Args:
            idempotency_key: A key that you stored before the call, so that you can repeat the call after a crash.
                Without it, the key is random.
            text: The text of the memory, which is stored verbatim.
            agent_id: The agent that the memory belongs to.
            allow_duplicate: Store the memory even if an equal one exists.
            deduplicate: Return an equal memory that exists instead of storing another one, also for turns and events.
            expires_at: The time at which the memory is erased.
            importance: The importance of the memory, which ranks memories that match a query equally well.
            key: A name for what the memory says about the subject. A later memory with the same key replaces this one.
            kind: The kind of the memory. The default is fact.
            metadata: Named values: strings of at most 1,024 characters, numbers or booleans.
            occurred_at: The time at which the event happened or the text was said.
            pinned: Whether the memory is ranked first among memories that match a query equally well.
            session_id: The conversation that the memory comes from.
            source: The source of the memory, such as a URL or the name of a form.
            speaker: The name of the speaker, such as Ada or assistant. If a query names the speaker, what that speaker
                said scores more.
            subject_id: The subject that the memory is about. Use a pseudonym, because the ID appears in URLs. It is
                required unless the API key is bound to a subject.
            tags: Words to select memories by, in lists and recalls. Repeated ones are stored once.
            valid_from: The time from which the memory is valid.
            valid_to: The time until which the memory is valid. After it, the memory is superseded.
        """
        return await self._transport.send(
            Request(
                "createMemory",
                "POST",
                "/api/v1/memories",
                body={  # NewMemory
                    "text": text,
                    "agentId": agent_id,
                    "allowDuplicate": allow_duplicate,
                    "deduplicate": deduplicate,
                    "expiresAt": expires_at,
                    "importance": importance,
                    "key": key,
                    "kind": kind,
                    "metadata": metadata,
                    "occurredAt": occurred_at,
                    "pinned": pinned,
                    "sessionId": session_id,
                    "source": source,
                    "speaker": speaker,
                    "subjectId": subject_id,
                    "tags": tags,
                    "validFrom": valid_from,
                    "validTo": valid_to,
                },
                key=Key(idempotency_key),
            ),
            models.StoredMemory,
        )

    async def create_many(
        self, items: Sequence[models.NewMemory], *, idempotency_key: str | None = None, atomic: bool | None = None
    ) -> builtins.list[models.BatchResult]:
        """Create up to 1,000 memories.

        Items are stored one after the other, and the results have the same order. An item that is refused does not
        affect the others. If atomic is True, it makes the whole request fail with 400, and nothing is stored.

        Args:
            idempotency_key: A key that you stored before the call, so that you can repeat the call after a crash.
                Without it, the key is random.
            items: The memories to store, each in the format of createMemory.
            atomic: Whether all items are stored or none.
        """
        return (
            await self._transport.send(
                Request(
                    "createMemories",
                    "POST",
                    "/api/v1/memories/batch",
                    body={  # CreateMemoriesBody
                        "items": items,
                        "atomic": atomic,
                    },
                    key=Key(idempotency_key),
                ),
                models.BatchResults,
            )
        ).results

    async def get(self, id: str) -> models.Memory:
        """Get a memory.

        The response contains the current revision of the memory. The request is in the subject's access log.

        Args:
            id: The ID of the memory.
        """
        return await self._transport.send(Request("getMemory", "GET", f"/api/v1/memories/{quote(id)}"), models.Memory)

    async def update(
        self,
        id: str,
        *,
        if_revision: int | None = None,
        expires_at: datetime | None | Unset = UNSET,
        importance: float | None | Unset = UNSET,
        key: str | None | Unset = UNSET,
        kind: Literal["fact", "preference", "event", "instruction", "summary", "turn", "note"] | None | Unset = UNSET,
        metadata: Metadata | None | Unset = UNSET,
        occurred_at: datetime | None | Unset = UNSET,
        pinned: bool | None | Unset = UNSET,
        source: str | None | Unset = UNSET,
        speaker: str | None | Unset = UNSET,
        tags: Sequence[str] | None | Unset = UNSET,
        text: str | Unset = UNSET,
        valid_from: datetime | None | Unset = UNSET,
        valid_to: datetime | None | Unset = UNSET,
    ) -> models.Memory:
        """Change a memory.

        The body is a merge patch, and the change creates a new revision. Fields that are omitted do not change, None
        removes a field, and metadata is merged name by name. The subject of a memory cannot be changed.

        Args:
            id: The ID of the memory.
            if_revision: Only do it if this is still the revision.
            expires_at: The time at which the memory is erased. None means that it is not erased by itself.
            importance: The importance of the memory, which ranks memories that match a query equally well. None removes
                it.
            key: The name for what the memory says about the subject, which only one of the subject's memories can have.
                None removes it.
            kind: The kind of the memory. None stands for fact.
            metadata: The metadata to merge, name by name. A None value removes the entry. None instead of an object
                removes all entries.
            occurred_at: The time at which the event happened or the text was said. None removes it.
            pinned: Whether the memory is pinned. None stands for False.
            source: The source of the memory. None removes it.
            speaker: The speaker of the text. None removes it.
            tags: The new tags, which replace all old ones. None removes all of them.
            text: The new text of the memory, which is stored verbatim.
            valid_from: The time from which the memory is valid. None removes it.
            valid_to: The time until which the memory is valid. None means that it stays valid.
        """
        return await self._transport.send(
            Request(
                "changeMemory",
                "PATCH",
                f"/api/v1/memories/{quote(id)}",
                body={  # ChangeMemoryBody
                    "expiresAt": expires_at,
                    "importance": importance,
                    "key": key,
                    "kind": kind,
                    "metadata": metadata,
                    "occurredAt": occurred_at,
                    "pinned": pinned,
                    "source": source,
                    "speaker": speaker,
                    "tags": tags,
                    "text": text,
                    "validFrom": valid_from,
                    "validTo": valid_to,
                },
                partial=True,
                if_revision=if_revision,
            ),
            models.Memory,
        )

    async def delete(self, id: str, *, if_revision: int | None = None) -> None:
        """Erase a memory and its history.

        The operation also erases all older revisions of the memory. It cannot be undone.

        Args:
            id: The ID of the memory.
            if_revision: Only do it if this is still the revision.
        """
        return await self._transport.run(
            Request("deleteMemory", "DELETE", f"/api/v1/memories/{quote(id)}", if_revision=if_revision)
        )

    async def history(self, id: str, *, limit: int | None = None, cursor: str | None = None) -> models.MemoryRevisionPage:
        """List the revisions of a memory, newest first.

        The ID of a memory begins with mem_. The path /memories/subjects/history therefore is the subject history, not a
        memory's history.

        Args:
            id: The ID of the memory.
            limit: The maximum number of items in the response.
            cursor: The nextCursor of the page before. Without it, the response is the first page. The other parameters
                must stay the same, except limit.
        """
        return await self._transport.send(
            Request(
                "getMemoryHistory",
                "GET",
                f"/api/v1/memories/{quote(id)}/history",
                query={
                    "limit": limit,
                    "cursor": cursor,
                },
            ),
            models.MemoryRevisionPage,
        )

    async def each_revision(self, id: str, *, limit: int | None = None) -> AsyncIterator[models.MemoryRevision]:
        """Iterate over what all pages of `history` contain, which describes the parameters. `limit` is the size of a page.
        A page is read when it is needed."""
        cursor: str | None = None
        while True:
            page = await self.history(id, limit=limit, cursor=cursor)
            for item in page.items:
                yield item
            if page.next_cursor is None:
                return
            cursor = page.next_cursor

    async def recall(
        self,
        query: str,
        *,
        agent_id: str | None = None,
        as_of: datetime | None = None,
        explain: bool | None = None,
        fill: Literal["none", "recent"] | None = None,
        from_: datetime | None = None,
        kinds: Sequence[Literal["fact", "preference", "event", "instruction", "summary", "turn", "note"]] | None = None,
        limit: int | None = None,
        min_score: float | None = None,
        session_id: str | None = None,
        subject_id: str | None = None,
        tags: Sequence[str] | None = None,
        time_zone: str | None = None,
        to: datetime | None = None,
    ) -> models.Recalled:
        """Recall memories of a subject.

        The response contains the memories of one subject that answer the query, best first. Filters apply before
        ranking. With fill, pinned memories and then the newest ones follow until there are limit results; their score
        is 0. Without asOf, only memories that are valid now are recalled. For an unknown subject the list is empty.

        Args:
            query: The question or message that the memories should answer.
            agent_id: Include only memories of this agent.
            as_of: Recall what was stored and valid at this time. The default is the current time.
            explain: Whether the response says what each signal added to the score.
            fill: What follows the memories that answer the query until there are limit results: nothing, or pinned
                memories and then the newest ones. The default is none.
            from_: Include only memories at or after this time. The time of a memory is occurredAt or, without it,
                createdAt.
            kinds: The kinds to include. A memory must have one of them.
            limit: The maximum number of results in the response. The default is 10.
            min_score: The lowest score to include. The default is every score above 0.
            session_id: Include only memories of this conversation.
            subject_id: The ID of the subject. It is required unless the API key is bound to a subject.
            tags: The tags to match. All of them must match.
            time_zone: The IANA name of the time zone of the days that the query names, such as yesterday, and of the
                days in a context. The default is UTC.
            to: Include only memories before this time.
        """
        return await self._transport.send(
            Request(
                "recall",
                "POST",
                "/api/v1/memories/recall",
                body={  # RecallBody
                    "query": query,
                    "agentId": agent_id,
                    "asOf": as_of,
                    "explain": explain,
                    "fill": fill,
                    "from": from_,
                    "kinds": kinds,
                    "limit": limit,
                    "minScore": min_score,
                    "sessionId": session_id,
                    "subjectId": subject_id,
                    "tags": tags,
                    "timeZone": time_zone,
                    "to": to,
                },
                safe=True,
            ),
            models.Recalled,
        )

    async def context(
        self,
        query: str | None = None,
        *,
        agent_id: str | None = None,
        as_of: datetime | None = None,
        from_: datetime | None = None,
        kinds: Sequence[Literal["fact", "preference", "event", "instruction", "summary", "turn", "note"]] | None = None,
        limit: int | None = None,
        max_characters: int | None = None,
        max_tokens: int | None = None,
        min_score: float | None = None,
        session_id: str | None = None,
        subject_id: str | None = None,
        tags: Sequence[str] | None = None,
        time_zone: str | None = None,
        to: datetime | None = None,
    ) -> models.PackedContext:
        """Build a text for a prompt from memories.

        The operation puts memories into one text with dates and speakers and without repetition: pinned ones first,
        then those that answer the query, then the newest ones until the text is full. The text has at most maxTokens or
        maxCharacters; without both, at most 1,000 tokens. A pinned memory or the best answer that does not fit is cut
        and marked with its ID.

        Args:
            query: The question or message that the memories should answer. Without it, the text has only pinned
                memories and the newest ones.
            agent_id: Include only memories of this agent.
            as_of: Recall what was stored and valid at this time. The default is the current time.
            from_: Include only memories at or after this time. The time of a memory is occurredAt or, without it,
                createdAt.
            kinds: The kinds to include. A memory must have one of them.
            limit: The maximum number of memories. The default is 50.
            max_characters: The maximum length of the text in code points.
            max_tokens: The maximum number of tokens in the text, as estimated. The default is 1,000 unless
                maxCharacters is given.
            min_score: The lowest score to include. The default is every score above 0.
            session_id: Include only memories of this conversation.
            subject_id: The ID of the subject. It is required unless the API key is bound to a subject.
            tags: The tags to match. All of them must match.
            time_zone: The IANA name of the time zone of the days that the query names, such as yesterday, and of the
                days in a context. The default is UTC.
            to: Include only memories before this time.
        """
        return await self._transport.send(
            Request(
                "recallContext",
                "POST",
                "/api/v1/memories/context",
                body={  # RecallContextBody
                    "query": query,
                    "agentId": agent_id,
                    "asOf": as_of,
                    "from": from_,
                    "kinds": kinds,
                    "limit": limit,
                    "maxCharacters": max_characters,
                    "maxTokens": max_tokens,
                    "minScore": min_score,
                    "sessionId": session_id,
                    "subjectId": subject_id,
                    "tags": tags,
                    "timeZone": time_zone,
                    "to": to,
                },
                safe=True,
            ),
            models.PackedContext,
        )

    async def plan_forget(
        self,
        *,
        filter: models.ForgetFilter | None = None,
        ids: Sequence[str] | None = None,
        query: str | None = None,
        subject_id: str | None = None,
    ) -> models.ForgetPlan:
        """Plan what to forget. Nothing is erased. Give the `plan_id` of the answer to `forget`.

        Args:
            filter: The filter that selects memories. A memory must match all of its conditions.
            ids: The IDs of the memories to forget. IDs that do not exist are ignored.
            query: The words that select memories. A memory must contain all of them.
            subject_id: The ID of the subject. It is required unless the API key is bound to a subject.
        """
        return await self._transport.send(
            Request(
                "forgetMemories",
                "POST",
                "/api/v1/memories/forget",
                body={  # ForgetMemoriesBody
                    "filter": filter,
                    "ids": ids,
                    "query": query,
                    "subjectId": subject_id,
                },
                safe=True,
            ),
            models.ForgetPlan,
        )

    async def forget(self, plan_id: str, *, idempotency_key: str | None = None, subject_id: str | None = None) -> int:
        """Erase exactly what a plan lists, and return the number of memories. A plan can be used once.

        Args:
            idempotency_key: A key that you stored before the call, so that you can repeat the call after a crash.
                Without it, the key is random.
            plan_id: The ID of the plan from a dry run. It is accepted only if dryRun is False.
            subject_id: The ID of the subject. It is required unless the API key is bound to a subject.
        """
        return (
            await self._transport.send(
                Request(
                    "forgetMemories",
                    "POST",
                    "/api/v1/memories/forget",
                    body={  # ForgetMemoriesBody
                        "planId": plan_id,
                        "subjectId": subject_id,
                        "dryRun": False,
                    },
                    key=Key(idempotency_key),
                ),
                models.Forgotten,
            )
        ).forgotten

    async def import_(
        self, source: AsyncImportSource, *, idempotency_key: str | None = None, progress: Callable[[int], None] | None = None
    ) -> models.MemoryImport:
        """Import memories from lines of JSON.

        Each line is a memory in the format of createMemory. It can also have an ID and, as in an export, its own times,
        authors, revision and history. They are taken from users and from keys that are not bound to a subject or an
        agent; lines of other keys are imported without them. importedBy of the memory is the credential of the import.
        A memory whose ID exists is replaced, unless it is equal. An invalid line does not affect the others, and
        neither does a line whose memory was erased. If the request has an Idempotency-Key, every line must have an ID.

        Args:
            source: A file that was opened with `rb`, with one JSON object per line or a JSON array; or an iterable of
                lines, dictionaries or models. It can have any length: it is sent in parts of a few megabytes.
            idempotency_key: A key that you stored before the call, so that you can repeat the call after a crash.
                Without it, the key is random.
            progress: Called after each part with the number of bytes so far.
        """
        return await self._transport.import_lines(
            Request("importMemories", "POST", "/api/v1/memories/import"), source, models.MemoryImport, progress, idempotency_key
        )


class AsyncSubjects(AsyncGroup):
    """Subjects, the people whom memories are about."""

    async def list(self, *, limit: int | None = None, cursor: str | None = None) -> models.SubjectPage:
        """List subjects, newest first.

        A subject is listed as soon as it has a memory, and no longer after it was erased. An API key that is bound to a
        subject sees only that one.

        Args:
            limit: The maximum number of items in the response.
            cursor: The nextCursor of the page before. Without it, the response is the first page. The other parameters
                must stay the same, except limit.
        """
        return await self._transport.send(
            Request(
                "listSubjects",
                "GET",
                "/api/v1/memories/subjects",
                query={
                    "limit": limit,
                    "cursor": cursor,
                },
            ),
            models.SubjectPage,
        )

    async def each(self, *, limit: int | None = None) -> AsyncIterator[models.Subject]:
        """Iterate over what all pages of `list` contain, which describes the parameters. `limit` is the size of a page. A
        page is read when it is needed."""
        cursor: str | None = None
        while True:
            page = await self.list(limit=limit, cursor=cursor)
            for item in page.items:
                yield item
            if page.next_cursor is None:
                return
            cursor = page.next_cursor

    async def get(self, subject_id: str) -> models.Subject:
        """Get statistics of a subject.

        The response contains numbers and times, and no text of a memory. An unknown or erased subject is 404.

        Args:
            subject_id: The ID of the subject.
        """
        return await self._transport.send(
            Request("getSubject", "GET", f"/api/v1/memories/subjects/{quote(subject_id)}"), models.Subject
        )

    async def erase(self, subject_id: str) -> models.Receipt:
        """Erase a subject.

        The operation first destroys the subject's data key, then everything that was encrypted with it, and returns a
        signed receipt. It cannot be undone. Backups of keys from before keyBackupsBefore can still decrypt older
        backups of data.

        Args:
            subject_id: The ID of the subject.
        """
        return await self._transport.send(
            Request("eraseSubject", "DELETE", f"/api/v1/memories/subjects/{quote(subject_id)}", once=True), models.Receipt
        )

    def export(self, subject_id: str, *, progress: Callable[[int], None] | None = None) -> AsyncIterator[models.PortableMemory]:
        """Export the memories of a subject.

        Each line is a memory with its older revisions, oldest memory first. This is the format of importMemories, on
        this instance or another one. An export of imported memories has the same bytes, except for importedBy.

        Args:
            subject_id: The ID of the subject.
            progress: Called after each part with the number of bytes so far.
        """
        return self._transport.items(
            Request("exportSubject", "GET", f"/api/v1/memories/subjects/{quote(subject_id)}/export"),
            models.PortableMemory,
            progress,
        )

    async def export_to(self, subject_id: str, file: BinaryIO, *, progress: Callable[[int], None] | None = None) -> int:
        """Write what `export` returns to a file, as one JSON object per line, and return the number of bytes.

        Args:
            file: Where the lines are written: a file that was opened with `wb`.
            subject_id: The ID of the subject.
            progress: Called after each part with the number of bytes so far.
        """
        return await self._transport.save(
            Request("exportSubject", "GET", f"/api/v1/memories/subjects/{quote(subject_id)}/export"), file, progress
        )

    async def access_log(self, subject_id: str, *, limit: int | None = None, cursor: str | None = None) -> models.AccessPage:
        """List accesses to a subject's memories, newest first.

        The log says who read or changed which memories, when and from which address. It contains no text of a memory.

        Args:
            subject_id: The ID of the subject.
            limit: The maximum number of items in the response.
            cursor: The nextCursor of the page before. Without it, the response is the first page. The other parameters
                must stay the same, except limit.
        """
        return await self._transport.send(
            Request(
                "listSubjectAccesses",
                "GET",
                f"/api/v1/memories/subjects/{quote(subject_id)}/access-log",
                query={
                    "limit": limit,
                    "cursor": cursor,
                },
            ),
            models.AccessPage,
        )

    async def each_access(self, subject_id: str, *, limit: int | None = None) -> AsyncIterator[models.AccessEntry]:
        """Iterate over what all pages of `access_log` contain, which describes the parameters. `limit` is the size of a
        page. A page is read when it is needed."""
        cursor: str | None = None
        while True:
            page = await self.access_log(subject_id, limit=limit, cursor=cursor)
            for item in page.items:
                yield item
            if page.next_cursor is None:
                return
            cursor = page.next_cursor


class AsyncAuth(AsyncGroup):
    """Login, tokens and signing keys."""

    async def login(self, email: str, password: str) -> models.Tokens:
        """Sign in with email and password.

        Send the access token as `Authorization: Bearer …`. When it has expired, use the refresh token to get a new
        pair. A wrong password and an unknown email get the same response. A successful login is charged to the user's
        workspace, a failed one to the client's address.

        Args:
            email: The email address of the user. Case and spaces around it do not matter.
            password: The password of the user.
        """
        return await self._transport.send(
            Request(
                "login",
                "POST",
                "/api/auth/login",
                body={  # LoginBody
                    "email": email,
                    "password": password,
                },
            ),
            models.Tokens,
        )

    async def refresh(self, refresh_token: str) -> models.Tokens:
        """Refresh the tokens.

        A refresh token works once and is replaced by the one in the response. Using it a second time ends the session,
        except within 10 seconds and before its successor was used: then the response contains the same successor. A
        session ends 90 days after its login, and no token outlives it.

        Args:
            refresh_token: The refresh token from the last login or refresh, which this request uses up.
        """
        return await self._transport.send(
            Request(
                "refreshToken",
                "POST",
                "/api/auth/refresh",
                body={  # RefreshTokenBody
                    "refreshToken": refresh_token,
                },
                safe=True,
                within=8,
            ),
            models.Tokens,
        )

    async def logout(self) -> None:
        """Sign out.

        The session of the access token ends, and neither this token nor the refresh token works afterwards."""
        return await self._transport.run(Request("logout", "POST", "/api/auth/logout", safe=True))

    async def change_password(self, *, current_password: str, new_password: str) -> None:
        """Change the password of the signed-in user.

        All other sessions of the user end.

        Args:
            current_password: The password that the user has now.
            new_password: The new password, which has 12 to 128 characters and is not one of the most common passwords.
        """
        return await self._transport.run(
            Request(
                "changePassword",
                "POST",
                "/api/auth/password",
                body={  # ChangePasswordBody
                    "currentPassword": current_password,
                    "newPassword": new_password,
                },
            )
        )

    async def signing_keys(self) -> builtins.list[models.SigningKey]:
        """Get the public keys for tokens and receipts.

        The response is a JWK set (RFC 7517). A key that signs tokens stays in the set as long as one of its tokens can
        be valid. The key that signs receipts is the last one and stays in the set forever."""
        return (await self._transport.send(Request("getSigningKeys", "GET", "/.well-known/jwks.json"), models.SigningKeys)).keys

    async def rotate_signing_key(self, *, idempotency_key: str | None = None) -> models.RotatedSigningKey:
        """Rotate the signing key of access tokens.

        Tokens that were issued before stay valid until they expire.

        Args:
            idempotency_key: A key that you stored before the call, so that you can repeat the call after a crash.
                Without it, the key is random.
        """
        return await self._transport.send(
            Request("rotateSigningKey", "POST", "/api/v1/admin/signing-keys/rotate", key=Key(idempotency_key)),
            models.RotatedSigningKey,
        )


class AsyncProfile(AsyncGroup):
    """The profile of the signed-in user."""

    async def get(self) -> models.Profile:
        """Get the profile of the signed-in user.

        The profile has the user's role and scopes as they are now, also if they have changed since the sign-in."""
        return await self._transport.send(Request("getProfile", "GET", "/api/v1/profile"), models.Profile)

    async def update(self, *, if_revision: int | None = None, name: str | None | Unset = UNSET) -> models.Profile:
        """Change the profile of the signed-in user.

        Users can change only their display name. Admins change roles, and changePassword the password.

        Args:
            if_revision: Only do it if this is still the revision.
            name: The display name. None removes it.
        """
        return await self._transport.send(
            Request(
                "changeProfile",
                "PATCH",
                "/api/v1/profile",
                body={  # ChangeProfileBody
                    "name": name,
                },
                partial=True,
                if_revision=if_revision,
            ),
            models.Profile,
        )


class AsyncUsers(AsyncGroup):
    """Users."""

    async def list(
        self,
        *,
        workspace: str | None = None,
        role: Literal["viewer", "member", "developer", "admin"] | None = None,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> models.UserPage:
        """List users, newest first.

        The list contains the users of the caller's workspace. Credentials of the operator workspace see the users of
        all workspaces, or of the one in the parameter workspace.

        Args:
            workspace: The ID of the workspace whose users are listed.
            role: List only users with this role.
            limit: The maximum number of items in the response.
            cursor: The nextCursor of the page before. Without it, the response is the first page. The other parameters
                must stay the same, except limit.
        """
        return await self._transport.send(
            Request(
                "listUsers",
                "GET",
                "/api/v1/admin/users",
                query={
                    "workspace": workspace,
                    "role": role,
                    "limit": limit,
                    "cursor": cursor,
                },
            ),
            models.UserPage,
        )

    async def each(
        self,
        *,
        workspace: str | None = None,
        role: Literal["viewer", "member", "developer", "admin"] | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[models.User]:
        """Iterate over what all pages of `list` contain, which describes the parameters. `limit` is the size of a page. A
        page is read when it is needed."""
        cursor: str | None = None
        while True:
            page = await self.list(workspace=workspace, role=role, limit=limit, cursor=cursor)
            for item in page.items:
                yield item
            if page.next_cursor is None:
                return
            cursor = page.next_cursor

    async def create(
        self,
        *,
        email: str,
        idempotency_key: str | None = None,
        name: str | None = None,
        password: str | None = None,
        role: Literal["viewer", "member", "developer", "admin"] | None = None,
        workspace_id: str | None = None,
    ) -> models.CreatedUser:
        """Create a user.

        If the request has no password, one is generated and returned in this response only. Only credentials of the
        operator workspace can create users in other workspaces.

        Args:
            idempotency_key: A key that you stored before the call, so that you can repeat the call after a crash.
                Without it, the key is random.
            email: The email address, which is stored trimmed and in lower case. It is unique within the instance.
            name: The display name of the user.
            password: The password of the new user: 12 to 128 characters, counted in NFC, and none of the most common
                passwords. If it is omitted, one is generated and shown once.
            role: The role of the new user, which sets the scopes. The default is member.
            workspace_id: The workspace of the new user. The default is the caller's workspace.
        """
        return await self._transport.send(
            Request(
                "createUser",
                "POST",
                "/api/v1/admin/users",
                body={  # CreateUserBody
                    "email": email,
                    "name": name,
                    "password": password,
                    "role": role,
                    "workspaceId": workspace_id,
                },
                key=Key(idempotency_key),
            ),
            models.CreatedUser,
        )

    async def get(self, id: str) -> models.User:
        """Get a user.

        Only credentials of the operator workspace can get users of other workspaces.

        Args:
            id: The ID of the user.
        """
        return await self._transport.send(Request("getUser", "GET", f"/api/v1/admin/users/{quote(id)}"), models.User)

    async def update(
        self,
        id: str,
        *,
        if_revision: int | None = None,
        disabled: bool | Unset = UNSET,
        name: str | None | Unset = UNSET,
        password: str | Unset = UNSET,
        role: Literal["viewer", "member", "developer", "admin"] | Unset = UNSET,
    ) -> models.User:
        """Change a user.

        Fields that are omitted do not change. A new role applies at once, also to tokens that were issued before. A
        user who is disabled or gets a new password is signed out everywhere. The last admin of a workspace cannot be
        removed, disabled or demoted.

        Args:
            id: The ID of the user.
            if_revision: Only do it if this is still the revision.
            disabled: Whether the user is disabled. A disabled user is signed out and cannot sign in.
            name: The display name. None removes it.
            password: The new password: 12 to 128 characters, counted in NFC, and none of the most common passwords.
            role: The new role of the user, which sets the scopes.
        """
        return await self._transport.send(
            Request(
                "changeUser",
                "PATCH",
                f"/api/v1/admin/users/{quote(id)}",
                body={  # ChangeUserBody
                    "disabled": disabled,
                    "name": name,
                    "password": password,
                    "role": role,
                },
                partial=True,
                if_revision=if_revision,
            ),
            models.User,
        )

    async def delete(self, id: str, *, if_revision: int | None = None) -> None:
        """Delete a user.

        The user's sessions end, and the email can be used again. API keys that the user created stay valid.

        Args:
            id: The ID of the user.
            if_revision: Only do it if this is still the revision.
        """
        return await self._transport.run(
            Request("deleteUser", "DELETE", f"/api/v1/admin/users/{quote(id)}", if_revision=if_revision)
        )

    async def create_setup_link(self, id: str, *, idempotency_key: str | None = None) -> models.SetupLink:
        """Create a link with which a user chooses a password.

        Send the link to a new user, or to one who forgot the password. It works once and for an hour, and no longer
        after the user signed in or was changed. Until it is used, the user's password and sessions stay valid. The
        first person who uses it chooses the password. The link is relative to the server's address unless publicUrl is
        set.

        Args:
            id: The ID of the user.
            idempotency_key: A key that you stored before the call, so that you can repeat the call after a crash.
                Without it, the key is random.
        """
        return await self._transport.send(
            Request("createSetupLink", "POST", f"/api/v1/admin/users/{quote(id)}/setup-link", key=Key(idempotency_key)),
            models.SetupLink,
        )


class AsyncWorkspaces(AsyncGroup):
    """Workspaces."""

    async def list(self, *, limit: int | None = None, cursor: str | None = None) -> models.WorkspacePage:
        """List workspaces, newest first.

        Only credentials of the operator workspace can call this operation.

        Args:
            limit: The maximum number of items in the response.
            cursor: The nextCursor of the page before. Without it, the response is the first page. The other parameters
                must stay the same, except limit.
        """
        return await self._transport.send(
            Request(
                "listWorkspaces",
                "GET",
                "/api/v1/admin/workspaces",
                query={
                    "limit": limit,
                    "cursor": cursor,
                },
            ),
            models.WorkspacePage,
        )

    async def each(self, *, limit: int | None = None) -> AsyncIterator[models.WorkspaceRecord]:
        """Iterate over what all pages of `list` contain, which describes the parameters. `limit` is the size of a page. A
        page is read when it is needed."""
        cursor: str | None = None
        while True:
            page = await self.list(limit=limit, cursor=cursor)
            for item in page.items:
                yield item
            if page.next_cursor is None:
                return
            cursor = page.next_cursor

    async def create(self, *, name: str, idempotency_key: str | None = None, tier: str | None = None) -> models.WorkspaceRecord:
        """Create a workspace.

        Only credentials of the operator workspace can call this operation.

        Args:
            idempotency_key: A key that you stored before the call, so that you can repeat the call after a crash.
                Without it, the key is random.
            name: The display name.
            tier: The name of a tier. The default is free.
        """
        return await self._transport.send(
            Request(
                "createWorkspace",
                "POST",
                "/api/v1/admin/workspaces",
                body={  # CreateWorkspaceBody
                    "name": name,
                    "tier": tier,
                },
                key=Key(idempotency_key),
            ),
            models.WorkspaceRecord,
        )

    async def get(self, id: str) -> models.WorkspaceRecord:
        """Get a workspace.

        Only credentials of the operator workspace can call this operation.

        Args:
            id: The ID of the workspace.
        """
        return await self._transport.send(
            Request("getWorkspace", "GET", f"/api/v1/admin/workspaces/{quote(id)}"), models.WorkspaceRecord
        )

    async def update(
        self,
        id: str,
        *,
        if_revision: int | None = None,
        embeddings: bool | Unset = UNSET,
        name: str | Unset = UNSET,
        search_engine: str | Unset = UNSET,
        suspended: bool | Unset = UNSET,
        tier: str | Unset = UNSET,
    ) -> models.WorkspaceRecord:
        """Change a workspace.

        Only credentials of the operator workspace can call this operation. Fields that are omitted do not change. All
        later requests with credentials of a suspended workspace are refused with 403 workspace_suspended. Changing the
        tier does not reset usage.

        Args:
            id: The ID of the workspace.
            if_revision: Only do it if this is still the revision.
            embeddings: Whether texts of memories, and of questions about them, are sent to the embeddings endpoint that
                is set for the instance. They then leave the machine. Without an endpoint it has no effect.
            name: The display name of the workspace.
            search_engine: The place for the search index: local, in each process, or opensearch, in the cluster that is
                set for the instance, which then stores the words, tags and metadata of the documents. The index is
                moved in the background, and the old one answers meanwhile.
            suspended: Whether the workspace is suspended, so that all requests with its credentials are refused.
            tier: The name of the workspace's new tier, whose limits apply at once.
        """
        return await self._transport.send(
            Request(
                "changeWorkspace",
                "PATCH",
                f"/api/v1/admin/workspaces/{quote(id)}",
                body={  # ChangeWorkspaceBody
                    "embeddings": embeddings,
                    "name": name,
                    "searchEngine": search_engine,
                    "suspended": suspended,
                    "tier": tier,
                },
                partial=True,
                if_revision=if_revision,
            ),
            models.WorkspaceRecord,
        )


class AsyncTiers(AsyncGroup):
    """Tiers."""

    async def list(self, *, limit: int | None = None, cursor: str | None = None) -> models.TierPage:
        """List the tiers.

        Only credentials of the operator workspace can call this operation.

        Args:
            limit: The maximum number of items in the response.
            cursor: The nextCursor of the page before. Without it, the response is the first page. The other parameters
                must stay the same, except limit.
        """
        return await self._transport.send(
            Request(
                "listTiers",
                "GET",
                "/api/v1/admin/tiers",
                query={
                    "limit": limit,
                    "cursor": cursor,
                },
            ),
            models.TierPage,
        )

    async def each(self, *, limit: int | None = None) -> AsyncIterator[models.Tier]:
        """Iterate over what all pages of `list` contain, which describes the parameters. `limit` is the size of a page. A
        page is read when it is needed."""
        cursor: str | None = None
        while True:
            page = await self.list(limit=limit, cursor=cursor)
            for item in page.items:
                yield item
            if page.next_cursor is None:
                return
            cursor = page.next_cursor

    async def put(
        self,
        name: str,
        *,
        daily: int,
        monthly: int,
        requests_per_minute: int,
        if_revision: int | None = None,
        documents: int | None = None,
        keys: int | None = None,
        memories: int | None = None,
        storage: int | None = None,
        users: int | None = None,
    ) -> models.Tier:
        """Change a tier.

        Only credentials of the operator workspace can call this operation. The new numbers apply to all later requests
        and replace the configured ones. What was already used stays used. A count that is omitted stays as it is; None
        means no limit, and 0 that a workspace can have none. Tiers are added and renamed in the configuration only.

        Args:
            name: The name of the tier.
            if_revision: Only do it if this is still the revision.
            daily: The number of requests allowed in a UTC day. It must not be above monthly.
            monthly: The number of requests allowed in a UTC month.
            requests_per_minute: The number of requests allowed in a minute, which all keys and users of a workspace
                share.
            documents: The number of documents. None means no limit, 0 means none.
            keys: The number of API keys that are neither revoked nor expired. None means no limit, 0 means none.
            memories: The number of memories. None means no limit, 0 means none.
            storage: The number of bytes that can be stored. None means no limit, 0 means that nothing can be stored.
            users: The number of users. None means no limit, 0 means none.
        """
        return await self._transport.send(
            Request(
                "changeTier",
                "PUT",
                f"/api/v1/admin/tiers/{quote(name)}",
                body={  # TierNumbers
                    "daily": daily,
                    "monthly": monthly,
                    "requestsPerMinute": requests_per_minute,
                    "documents": documents,
                    "keys": keys,
                    "memories": memories,
                    "storage": storage,
                    "users": users,
                },
                if_revision=if_revision,
            ),
            models.Tier,
        )


class AsyncAuditLog(AsyncGroup):
    """The audit log."""

    async def list(
        self,
        *,
        limit: int | None = None,
        cursor: str | None = None,
        workspace: str | None = None,
        actor: str | None = None,
        action: str | None = None,
        target: str | None = None,
        reads: bool | None = None,
        from_: datetime | None = None,
        to: datetime | None = None,
    ) -> models.AuditLogPage:
        """List audit log entries, newest first.

        Admins of the operator workspace see the entries of all workspaces and of the instance. Other admins see the
        entries of their own workspace. With Accept: application/x-ndjson the response contains all entries that match,
        one on each line, and limit is ignored.

        Args:
            limit: The maximum number of items in the response.
            cursor: The nextCursor of the page before. Without it, the response is the first page. The other parameters
                must stay the same, except limit.
            workspace: List only entries of this workspace.
            actor: List only entries of this key or user, or of local.
            action: List only entries of this action.
            target: List only entries whose target has this ID.
            reads: Whether reads of memories are included.
            from_: List only entries at or after this time.
            to: List only entries before this time.
        """
        return await self._transport.send(
            Request(
                "listAuditLog",
                "GET",
                "/api/v1/admin/audit-log",
                query={
                    "limit": limit,
                    "cursor": cursor,
                    "workspace": workspace,
                    "actor": actor,
                    "action": action,
                    "target": target,
                    "reads": reads,
                    "from": from_,
                    "to": to,
                },
            ),
            models.AuditLogPage,
        )

    async def each(
        self,
        *,
        limit: int | None = None,
        workspace: str | None = None,
        actor: str | None = None,
        action: str | None = None,
        target: str | None = None,
        reads: bool | None = None,
        from_: datetime | None = None,
        to: datetime | None = None,
    ) -> AsyncIterator[models.AuditEntry]:
        """Iterate over what all pages of `list` contain, which describes the parameters. `limit` is the size of a page. A
        page is read when it is needed."""
        cursor: str | None = None
        while True:
            page = await self.list(
                limit=limit,
                workspace=workspace,
                actor=actor,
                action=action,
                target=target,
                reads=reads,
                from_=from_,
                to=to,
                cursor=cursor,
            )
            for item in page.items:
                yield item
            if page.next_cursor is None:
                return
            cursor = page.next_cursor

    def export(
        self,
        *,
        workspace: str | None = None,
        actor: str | None = None,
        action: str | None = None,
        target: str | None = None,
        reads: bool | None = None,
        from_: datetime | None = None,
        to: datetime | None = None,
        progress: Callable[[int], None] | None = None,
    ) -> AsyncIterator[models.AuditEntry]:
        """List audit log entries, newest first.

        Admins of the operator workspace see the entries of all workspaces and of the instance. Other admins see the
        entries of their own workspace. With Accept: application/x-ndjson the response contains all entries that match,
        one on each line, and limit is ignored.

        Args:
            workspace: List only entries of this workspace.
            actor: List only entries of this key or user, or of local.
            action: List only entries of this action.
            target: List only entries whose target has this ID.
            reads: Whether reads of memories are included.
            from_: List only entries at or after this time.
            to: List only entries before this time.
            progress: Called after each part with the number of bytes so far.
        """
        return self._transport.items(
            Request(
                "listAuditLog",
                "GET",
                "/api/v1/admin/audit-log",
                query={
                    "workspace": workspace,
                    "actor": actor,
                    "action": action,
                    "target": target,
                    "reads": reads,
                    "from": from_,
                    "to": to,
                },
            ),
            models.AuditEntry,
            progress,
        )

    async def export_to(
        self,
        file: BinaryIO,
        *,
        workspace: str | None = None,
        actor: str | None = None,
        action: str | None = None,
        target: str | None = None,
        reads: bool | None = None,
        from_: datetime | None = None,
        to: datetime | None = None,
        progress: Callable[[int], None] | None = None,
    ) -> int:
        """Write what `export` returns to a file, as one JSON object per line, and return the number of bytes.

        Args:
            file: Where the lines are written: a file that was opened with `wb`.
            workspace: List only entries of this workspace.
            actor: List only entries of this key or user, or of local.
            action: List only entries of this action.
            target: List only entries whose target has this ID.
            reads: Whether reads of memories are included.
            from_: List only entries at or after this time.
            to: List only entries before this time.
            progress: Called after each part with the number of bytes so far.
        """
        return await self._transport.save(
            Request(
                "listAuditLog",
                "GET",
                "/api/v1/admin/audit-log",
                query={
                    "workspace": workspace,
                    "actor": actor,
                    "action": action,
                    "target": target,
                    "reads": reads,
                    "from": from_,
                    "to": to,
                },
            ),
            file,
            progress,
        )

    async def verify(self) -> models.AuditVerified:
        """Verify the audit log.

        Only credentials of the operator workspace can call this operation. The operation reads the whole log and its
        checkpoints and names the first entry of each chain that was changed, removed or cut off. Reads that were
        removed because of audit.readRetentionDays are on record and do not count as missing. The command keepsake audit
        verify does the same without the server."""
        return await self._transport.send(
            Request("verifyAuditLog", "GET", "/api/v1/admin/audit-log/verify"), models.AuditVerified
        )


class AsyncWebhooks(AsyncGroup):
    """Webhooks."""

    async def list(self, *, limit: int | None = None, cursor: str | None = None) -> models.WebhookPage:
        """List webhooks, newest first.

        The list contains the webhooks of the caller's workspace, also disabled ones. A workspace can have ten.

        Args:
            limit: The maximum number of items in the response.
            cursor: The nextCursor of the page before. Without it, the response is the first page. The other parameters
                must stay the same, except limit.
        """
        return await self._transport.send(
            Request(
                "listWebhooks",
                "GET",
                "/api/v1/admin/webhooks",
                query={
                    "limit": limit,
                    "cursor": cursor,
                },
            ),
            models.WebhookPage,
        )

    async def each(self, *, limit: int | None = None) -> AsyncIterator[models.Webhook]:
        """Iterate over what all pages of `list` contain, which describes the parameters. `limit` is the size of a page. A
        page is read when it is needed."""
        cursor: str | None = None
        while True:
            page = await self.list(limit=limit, cursor=cursor)
            for item in page.items:
                yield item
            if page.next_cursor is None:
                return
            cursor = page.next_cursor

    async def create(
        self,
        *,
        url: str,
        idempotency_key: str | None = None,
        description: str | None = None,
        events: Sequence[
            Literal[
                "api_key.created",
                "api_key.rotated",
                "api_key.rotation_completed",
                "api_key.disabled",
                "api_key.expiring",
                "api_key.expired",
                "api_key.revoked",
                "api_key.revoked_key_used",
                "quota.threshold_reached",
                "version.deprecated",
                "version.sunset_extended",
                "version.sunset",
                "version.retired",
                "memory.created",
                "memory.updated",
                "memory.imported",
                "memory.forgotten",
                "memory.expired",
                "document.imported",
                "document.deleted",
                "webhook.disabled",
                "subject.erased",
            ]
        ]
        | None = None,
    ) -> models.CreatedWebhook:
        """Create a webhook.

        Events are delivered as POST requests that are signed as Standard Webhooks describes. The response is the only
        one that contains the secret of the signatures. Every event whose cause begins after the response is delivered,
        at least once and in no particular order. Failed deliveries are repeated for three days. Addresses that are not
        on the public internet are refused when a delivery connects. Credentials that are bound to a subject or an agent
        cannot manage webhooks.

        Args:
            idempotency_key: A key that you stored before the call, so that you can repeat the call after a crash.
                Without it, the key is random.
            url: The http or https URL to which events are sent.
            description: A description for people, which has no effect.
            events: The events to deliver. If it is omitted, all events are delivered, also those of later releases.
        """
        return await self._transport.send(
            Request(
                "createWebhook",
                "POST",
                "/api/v1/admin/webhooks",
                body={  # CreateWebhookBody
                    "url": url,
                    "description": description,
                    "events": events,
                },
                key=Key(idempotency_key),
            ),
            models.CreatedWebhook,
        )

    async def get(self, id: str) -> models.Webhook:
        """Get a webhook.

        The response has the first characters of the webhook's secrets, never a whole secret.

        Args:
            id: The ID of the webhook.
        """
        return await self._transport.send(Request("getWebhook", "GET", f"/api/v1/admin/webhooks/{quote(id)}"), models.Webhook)

    async def update(
        self,
        id: str,
        *,
        if_revision: int | None = None,
        description: str | None | Unset = UNSET,
        disabled: bool | Unset = UNSET,
        events: Sequence[
            Literal[
                "api_key.created",
                "api_key.rotated",
                "api_key.rotation_completed",
                "api_key.disabled",
                "api_key.expiring",
                "api_key.expired",
                "api_key.revoked",
                "api_key.revoked_key_used",
                "quota.threshold_reached",
                "version.deprecated",
                "version.sunset_extended",
                "version.sunset",
                "version.retired",
                "memory.created",
                "memory.updated",
                "memory.imported",
                "memory.forgotten",
                "memory.expired",
                "document.imported",
                "document.deleted",
                "webhook.disabled",
                "subject.erased",
            ]
        ]
        | None
        | Unset = UNSET,
        url: str | Unset = UNSET,
    ) -> models.Webhook:
        """Change a webhook.

        Fields that are omitted do not change. A webhook that is enabled again also gets what was pending when it was
        disabled.

        Args:
            id: The ID of the webhook.
            if_revision: Only do it if this is still the revision.
            description: A description for people. None removes it.
            disabled: Whether nothing is delivered. Events that happen meanwhile are not recorded for the webhook.
            events: The events to deliver. None means all.
            url: The http or https URL to which events are sent from now on.
        """
        return await self._transport.send(
            Request(
                "changeWebhook",
                "PATCH",
                f"/api/v1/admin/webhooks/{quote(id)}",
                body={  # ChangeWebhookBody
                    "description": description,
                    "disabled": disabled,
                    "events": events,
                    "url": url,
                },
                partial=True,
                if_revision=if_revision,
            ),
            models.Webhook,
        )

    async def delete(self, id: str, *, if_revision: int | None = None) -> None:
        """Delete a webhook and its deliveries.

        Pending deliveries are dropped. To keep the webhook and its deliveries, disable it instead.

        Args:
            id: The ID of the webhook.
            if_revision: Only do it if this is still the revision.
        """
        return await self._transport.run(
            Request("deleteWebhook", "DELETE", f"/api/v1/admin/webhooks/{quote(id)}", if_revision=if_revision)
        )

    async def rotate_secret(
        self,
        id: str,
        *,
        if_revision: int | None = None,
        idempotency_key: str | None = None,
        force: bool | None = None,
        grace_seconds: int | None = None,
    ) -> models.CreatedWebhook:
        """Rotate the secret of a webhook.

        The response is the only one that contains the new secret. Deliveries are signed with both secrets for
        graceSeconds. A webhook that has two secrets is refused with 409, unless force is True.

        Args:
            id: The ID of the webhook.
            if_revision: Only do it if this is still the revision.
            idempotency_key: A key that you stored before the call, so that you can repeat the call after a crash.
                Without it, the key is random.
            force: Rotate even if there are two secrets. The older one then signs no more.
            grace_seconds: The number of seconds for which deliveries are also signed with the previous secret. The
                default is one day.
        """
        return await self._transport.send(
            Request(
                "rotateWebhookSecret",
                "POST",
                f"/api/v1/admin/webhooks/{quote(id)}/rotate",
                body={  # RotateWebhookSecretBody
                    "force": force,
                    "graceSeconds": grace_seconds,
                },
                if_revision=if_revision,
                key=Key(idempotency_key),
            ),
            models.CreatedWebhook,
        )

    async def ping(self, id: str, *, idempotency_key: str | None = None) -> models.Delivery:
        """Send a test event to a webhook.

        The event has the type webhook.ping. It is delivered like any other, so read the delivery to see the result. A
        disabled webhook is refused with 409.

        Args:
            id: The ID of the webhook.
            idempotency_key: A key that you stored before the call, so that you can repeat the call after a crash.
                Without it, the key is random.
        """
        return await self._transport.send(
            Request("pingWebhook", "POST", f"/api/v1/admin/webhooks/{quote(id)}/ping", key=Key(idempotency_key)),
            models.Delivery,
        )

    async def list_deliveries(
        self,
        id: str,
        *,
        state: Literal["pending", "delivered", "failed"] | None = None,
        event: Literal[
            "api_key.created",
            "api_key.rotated",
            "api_key.rotation_completed",
            "api_key.disabled",
            "api_key.expiring",
            "api_key.expired",
            "api_key.revoked",
            "api_key.revoked_key_used",
            "quota.threshold_reached",
            "version.deprecated",
            "version.sunset_extended",
            "version.sunset",
            "version.retired",
            "memory.created",
            "memory.updated",
            "memory.imported",
            "memory.forgotten",
            "memory.expired",
            "document.imported",
            "document.deleted",
            "webhook.disabled",
            "subject.erased",
            "webhook.ping",
        ]
        | None = None,
        event_id: str | None = None,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> models.WebhookDeliveryPage:
        """List the deliveries of a webhook, newest first.

        Deliveries are kept for 30 days, unless the setting webhooks.logDays says otherwise.

        Args:
            id: The ID of the webhook.
            state: List only deliveries in this state.
            event: List only deliveries of this event.
            event_id: List only deliveries of the event with this ID.
            limit: The maximum number of items in the response.
            cursor: The nextCursor of the page before. Without it, the response is the first page. The other parameters
                must stay the same, except limit.
        """
        return await self._transport.send(
            Request(
                "listWebhookDeliveries",
                "GET",
                f"/api/v1/admin/webhooks/{quote(id)}/deliveries",
                query={
                    "state": state,
                    "event": event,
                    "eventId": event_id,
                    "limit": limit,
                    "cursor": cursor,
                },
            ),
            models.WebhookDeliveryPage,
        )

    async def each_delivery(
        self,
        id: str,
        *,
        state: Literal["pending", "delivered", "failed"] | None = None,
        event: Literal[
            "api_key.created",
            "api_key.rotated",
            "api_key.rotation_completed",
            "api_key.disabled",
            "api_key.expiring",
            "api_key.expired",
            "api_key.revoked",
            "api_key.revoked_key_used",
            "quota.threshold_reached",
            "version.deprecated",
            "version.sunset_extended",
            "version.sunset",
            "version.retired",
            "memory.created",
            "memory.updated",
            "memory.imported",
            "memory.forgotten",
            "memory.expired",
            "document.imported",
            "document.deleted",
            "webhook.disabled",
            "subject.erased",
            "webhook.ping",
        ]
        | None = None,
        event_id: str | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[models.Delivery]:
        """Iterate over what all pages of `list_deliveries` contain, which describes the parameters. `limit` is the size of
        a page. A page is read when it is needed."""
        cursor: str | None = None
        while True:
            page = await self.list_deliveries(id, state=state, event=event, event_id=event_id, limit=limit, cursor=cursor)
            for item in page.items:
                yield item
            if page.next_cursor is None:
                return
            cursor = page.next_cursor

    async def get_delivery(self, id: str, delivery_id: str) -> models.Delivery:
        """Get a delivery of a webhook.

        The response contains the body that was sent, and the newest attempts with their results.

        Args:
            id: The ID of the webhook.
            delivery_id: The ID of the delivery.
        """
        return await self._transport.send(
            Request("getWebhookDelivery", "GET", f"/api/v1/admin/webhooks/{quote(id)}/deliveries/{quote(delivery_id)}"),
            models.Delivery,
        )

    async def replay_delivery(self, id: str, delivery_id: str, *, idempotency_key: str | None = None) -> models.Delivery:
        """Send a delivery of a webhook again.

        The event keeps its ID. A delivery that is being sent is refused with 409, and so is one of a disabled webhook.

        Args:
            id: The ID of the webhook.
            delivery_id: The ID of the delivery.
            idempotency_key: A key that you stored before the call, so that you can repeat the call after a crash.
                Without it, the key is random.
        """
        return await self._transport.send(
            Request(
                "replayWebhookDelivery",
                "POST",
                f"/api/v1/admin/webhooks/{quote(id)}/deliveries/{quote(delivery_id)}/replay",
                key=Key(idempotency_key),
            ),
            models.Delivery,
        )


class AsyncVersions(AsyncGroup):
    """Versions of the API."""

    async def list(self) -> builtins.list[models.Version]:
        """List the versions of the API.

        The operation needs no credential, so that clients with an outdated one can find out what to migrate to."""
        return (await self._transport.send(Request("listVersions", "GET", "/api/versions"), models.VersionPage)).items

    async def list_records(self, *, limit: int | None = None, cursor: str | None = None) -> models.VersionRecordPage:
        """List the versions of the API with their administrative details.

        The versions are listed oldest first, with their traffic checks and rehearsals.

        Args:
            limit: The maximum number of items in the response.
            cursor: The nextCursor of the page before. Without it, the response is the first page. The other parameters
                must stay the same, except limit.
        """
        return await self._transport.send(
            Request(
                "listVersionRecords",
                "GET",
                "/api/v1/admin/versions",
                query={
                    "limit": limit,
                    "cursor": cursor,
                },
            ),
            models.VersionRecordPage,
        )

    async def each_record(self, *, limit: int | None = None) -> AsyncIterator[models.VersionRecord]:
        """Iterate over what all pages of `list_records` contain, which describes the parameters. `limit` is the size of a
        page. A page is read when it is needed."""
        cursor: str | None = None
        while True:
            page = await self.list_records(limit=limit, cursor=cursor)
            for item in page.items:
                yield item
            if page.next_cursor is None:
                return
            cursor = page.next_cursor

    async def get_record(self, number: int | str) -> models.VersionRecord:
        """Get a version of the API.

        The response contains the version's traffic checks and rehearsals.

        Args:
            number: The number of the version.
        """
        return await self._transport.send(
            Request("getVersionRecord", "GET", f"/api/v1/admin/versions/{quote(number)}"), models.VersionRecord
        )

    async def release(
        self,
        *,
        version: int,
        idempotency_key: str | None = None,
        announced_at: datetime | None = None,
        guide_url: str | None = None,
        sunset_at: datetime | None = None,
    ) -> models.VersionRecord:
        """Release the next version of the API.

        Only credentials of the operator workspace can call this operation. The new version has every operation of its
        predecessor except those that the code changes. The predecessor is deprecated at announcedAt and sunset at
        sunsetAt. The default of sunsetAt is six calendar months after announcedAt or, if later, now.

        Args:
            idempotency_key: A key that you stored before the call, so that you can repeat the call after a crash.
                Without it, the key is random.
            version: The number of the new version, which is one more than the current version's.
            announced_at: The time at which the end of the predecessor was or will be announced. The default is the
                current time.
            guide_url: The URL of the migration guide, if it is published elsewhere.
            sunset_at: The time from which requests to the predecessor are refused with 410.
        """
        return await self._transport.send(
            Request(
                "releaseVersion",
                "POST",
                "/api/v1/admin/versions/release",
                body={  # ReleaseVersionBody
                    "version": version,
                    "announcedAt": announced_at,
                    "guideUrl": guide_url,
                    "sunsetAt": sunset_at,
                },
                key=Key(idempotency_key),
            ),
            models.VersionRecord,
        )

    async def update(
        self,
        number: int | str,
        *,
        if_revision: int | None = None,
        guide_url: str | None | Unset = UNSET,
        sunset_at: datetime | Unset = UNSET,
    ) -> models.VersionRecord:
        """Change the sunset or the migration guide of a version.

        Only credentials of the operator workspace can call this operation. Fields that are omitted do not change. The
        sunset can only be moved later.

        Args:
            number: The number of the version.
            if_revision: Only do it if this is still the revision.
            guide_url: The URL of the migration guide. None means the page of this instance.
            sunset_at: The new time of the sunset, which must be later than the present one.
        """
        return await self._transport.send(
            Request(
                "changeVersion",
                "PATCH",
                f"/api/v1/admin/versions/{quote(number)}",
                body={  # ChangeVersionBody
                    "guideUrl": guide_url,
                    "sunsetAt": sunset_at,
                },
                partial=True,
                if_revision=if_revision,
            ),
            models.VersionRecord,
        )

    async def rehearse_sunset(
        self, number: int | str, *, key_id: str, until: datetime, idempotency_key: str | None = None
    ) -> models.StartedRehearsal:
        """Rehearse the sunset of a version for one API key.

        Only credentials of the operator workspace can call this operation. Requests with the API key to this version
        are refused with 410 version_sunset until the given time. A second rehearsal for the same key replaces the first
        one.

        Args:
            number: The number of the version.
            idempotency_key: A key that you stored before the call, so that you can repeat the call after a crash.
                Without it, the key is random.
            key_id: The ID of the API key whose requests are refused.
            until: The time at which the rehearsal ends, which must be in the future.
        """
        return await self._transport.send(
            Request(
                "rehearseSunset",
                "POST",
                f"/api/v1/admin/versions/{quote(number)}/rehearse-sunset",
                body={  # RehearseSunsetBody
                    "keyId": key_id,
                    "until": until,
                },
                key=Key(idempotency_key),
            ),
            models.StartedRehearsal,
        )

    async def retire(self, number: int | str, *, idempotency_key: str | None = None) -> models.VersionRecord:
        """Remove the routes of a sunset version.

        Only credentials of the operator workspace can call this operation. Routes are removed automatically twelve
        months after the sunset. Before the sunset the request is refused with 409.

        Args:
            number: The number of the version.
            idempotency_key: A key that you stored before the call, so that you can repeat the call after a crash.
                Without it, the key is random.
        """
        return await self._transport.send(
            Request("retireVersion", "POST", f"/api/v1/admin/versions/{quote(number)}/retire", key=Key(idempotency_key)),
            models.VersionRecord,
        )

    async def list_callers(
        self,
        number: int | str,
        *,
        limit: int | None = None,
        cursor: str | None = None,
        from_: datetime | None = None,
        console: bool | None = None,
    ) -> models.VersionCallerPage:
        """List the callers of a version.

        The list has an item for each credential, route and client. Operators see the callers of all workspaces, other
        admins those of their own.

        Args:
            number: The number of the version.
            limit: The maximum number of items in the response.
            cursor: The nextCursor of the page before. Without it, the response is the first page. The other parameters
                must stay the same, except limit.
            from_: List only callers whose last request is at or after this time.
            console: Whether to list what the console has called for its pages. It always calls the current version.
        """
        return await self._transport.send(
            Request(
                "listVersionCallers",
                "GET",
                f"/api/v1/admin/versions/{quote(number)}/usage",
                query={
                    "limit": limit,
                    "cursor": cursor,
                    "from": from_,
                    "console": console,
                },
            ),
            models.VersionCallerPage,
        )

    async def each_caller(
        self, number: int | str, *, limit: int | None = None, from_: datetime | None = None, console: bool | None = None
    ) -> AsyncIterator[models.VersionCaller]:
        """Iterate over what all pages of `list_callers` contain, which describes the parameters. `limit` is the size of a
        page. A page is read when it is needed."""
        cursor: str | None = None
        while True:
            page = await self.list_callers(number, limit=limit, from_=from_, console=console, cursor=cursor)
            for item in page.items:
                yield item
            if page.next_cursor is None:
                return
            cursor = page.next_cursor


class AsyncAnalytics(AsyncGroup):
    """Usage."""

    async def summary(
        self,
        *,
        workspace: str | None = None,
        window: Literal["1h", "24h", "7d", "30d"] | None = None,
        from_: datetime | None = None,
        to: datetime | None = None,
        interval: Literal["minute", "hour", "day", "auto"] | None = None,
        group_by: Sequence[str] | None = None,
        filter: Sequence[str] | None = None,
        limit: int | None = None,
    ) -> models.UsageSummary:
        """Get the usage of a period.

        The operation accepts groupBy and limit, but they change nothing. With Accept: text/csv or format=csv, the
        response is a table.

        Args:
            workspace: The workspace, or all for the whole instance. The default is the caller's workspace. Only
                operators can name another one.
            window: The period that ends now. The default is 24h.
            from_: The start of the period, instead of window. It is moved back to the start of an interval. The default
                is 24 hours before to.
            to: The end of the period, which is moved to the end of an interval that has ended. The default is now.
            interval: The length of the intervals. Usage by minute is kept for 48 hours, by hour for 90 days, and by day
                for 25 months. A period has at most 3,000 intervals.
            group_by: Up to two dimensions, separated by commas: key, route, method, status, statusClass, version or
                surface.
            filter: A dimension and a value. Values of one dimension are alternatives; a request must match every
                dimension. With - before it, requests with the value are left out. The value none stands for requests
                without a key or a route.
            limit: The maximum number of items in the response.
        """
        return await self._transport.send(
            Request(
                "getUsageSummary",
                "GET",
                "/api/v1/analytics/summary",
                query={
                    "workspace": workspace,
                    "window": window,
                    "from": from_,
                    "to": to,
                    "interval": interval,
                    "groupBy": group_by,
                    "filter": filter,
                    "limit": limit,
                },
            ),
            models.UsageSummary,
        )

    async def summary_csv(
        self,
        *,
        workspace: str | None = None,
        window: Literal["1h", "24h", "7d", "30d"] | None = None,
        from_: datetime | None = None,
        to: datetime | None = None,
        interval: Literal["minute", "hour", "day", "auto"] | None = None,
        group_by: Sequence[str] | None = None,
        filter: Sequence[str] | None = None,
        limit: int | None = None,
    ) -> str:
        """Return what `summary` returns as a table in CSV. `summary` describes the parameters."""
        return await self._transport.text(
            Request(
                "getUsageSummary",
                "GET",
                "/api/v1/analytics/summary",
                query={
                    "workspace": workspace,
                    "window": window,
                    "from": from_,
                    "to": to,
                    "interval": interval,
                    "groupBy": group_by,
                    "filter": filter,
                    "limit": limit,
                    "format": "csv",
                },
            )
        )

    async def series(
        self,
        *,
        workspace: str | None = None,
        window: Literal["1h", "24h", "7d", "30d"] | None = None,
        from_: datetime | None = None,
        to: datetime | None = None,
        interval: Literal["minute", "hour", "day", "auto"] | None = None,
        group_by: Sequence[str] | None = None,
        filter: Sequence[str] | None = None,
        limit: int | None = None,
    ) -> models.UsageSeries:
        """Get the usage over time.

        Without groupBy, the response has one series of all requests. With groupBy, it has those with the most requests,
        at most limit. A series has a point for each interval. A response has at most 50,000 points. With Accept:
        text/csv or format=csv, the response is a table.

        Args:
            workspace: The workspace, or all for the whole instance. The default is the caller's workspace. Only
                operators can name another one.
            window: The period that ends now. The default is 24h.
            from_: The start of the period, instead of window. It is moved back to the start of an interval. The default
                is 24 hours before to.
            to: The end of the period, which is moved to the end of an interval that has ended. The default is now.
            interval: The length of the intervals. Usage by minute is kept for 48 hours, by hour for 90 days, and by day
                for 25 months. A period has at most 3,000 intervals.
            group_by: Up to two dimensions, separated by commas: key, route, method, status, statusClass, version or
                surface.
            filter: A dimension and a value. Values of one dimension are alternatives; a request must match every
                dimension. With - before it, requests with the value are left out. The value none stands for requests
                without a key or a route.
            limit: The maximum number of items in the response.
        """
        return await self._transport.send(
            Request(
                "getUsageSeries",
                "GET",
                "/api/v1/analytics/timeseries",
                query={
                    "workspace": workspace,
                    "window": window,
                    "from": from_,
                    "to": to,
                    "interval": interval,
                    "groupBy": group_by,
                    "filter": filter,
                    "limit": limit,
                },
            ),
            models.UsageSeries,
        )

    async def series_csv(
        self,
        *,
        workspace: str | None = None,
        window: Literal["1h", "24h", "7d", "30d"] | None = None,
        from_: datetime | None = None,
        to: datetime | None = None,
        interval: Literal["minute", "hour", "day", "auto"] | None = None,
        group_by: Sequence[str] | None = None,
        filter: Sequence[str] | None = None,
        limit: int | None = None,
    ) -> str:
        """Return what `series` returns as a table in CSV. `series` describes the parameters."""
        return await self._transport.text(
            Request(
                "getUsageSeries",
                "GET",
                "/api/v1/analytics/timeseries",
                query={
                    "workspace": workspace,
                    "window": window,
                    "from": from_,
                    "to": to,
                    "interval": interval,
                    "groupBy": group_by,
                    "filter": filter,
                    "limit": limit,
                    "format": "csv",
                },
            )
        )

    async def top(
        self,
        *,
        workspace: str | None = None,
        window: Literal["1h", "24h", "7d", "30d"] | None = None,
        from_: datetime | None = None,
        to: datetime | None = None,
        interval: Literal["minute", "hour", "day", "auto"] | None = None,
        group_by: Sequence[str] | None = None,
        filter: Sequence[str] | None = None,
        limit: int | None = None,
    ) -> builtins.list[models.RankedUsage]:
        """List the groups with the most requests.

        The default of groupBy is route. With Accept: text/csv or format=csv, the response is a table.

        Args:
            workspace: The workspace, or all for the whole instance. The default is the caller's workspace. Only
                operators can name another one.
            window: The period that ends now. The default is 24h.
            from_: The start of the period, instead of window. It is moved back to the start of an interval. The default
                is 24 hours before to.
            to: The end of the period, which is moved to the end of an interval that has ended. The default is now.
            interval: The length of the intervals. Usage by minute is kept for 48 hours, by hour for 90 days, and by day
                for 25 months. A period has at most 3,000 intervals.
            group_by: Up to two dimensions, separated by commas: key, route, method, status, statusClass, version or
                surface.
            filter: A dimension and a value. Values of one dimension are alternatives; a request must match every
                dimension. With - before it, requests with the value are left out. The value none stands for requests
                without a key or a route.
            limit: The maximum number of items in the response.
        """
        return (
            await self._transport.send(
                Request(
                    "getTopUsage",
                    "GET",
                    "/api/v1/analytics/top",
                    query={
                        "workspace": workspace,
                        "window": window,
                        "from": from_,
                        "to": to,
                        "interval": interval,
                        "groupBy": group_by,
                        "filter": filter,
                        "limit": limit,
                    },
                ),
                models.TopUsage,
            )
        ).items

    async def top_csv(
        self,
        *,
        workspace: str | None = None,
        window: Literal["1h", "24h", "7d", "30d"] | None = None,
        from_: datetime | None = None,
        to: datetime | None = None,
        interval: Literal["minute", "hour", "day", "auto"] | None = None,
        group_by: Sequence[str] | None = None,
        filter: Sequence[str] | None = None,
        limit: int | None = None,
    ) -> str:
        """Return what `top` returns as a table in CSV. `top` describes the parameters."""
        return await self._transport.text(
            Request(
                "getTopUsage",
                "GET",
                "/api/v1/analytics/top",
                query={
                    "workspace": workspace,
                    "window": window,
                    "from": from_,
                    "to": to,
                    "interval": interval,
                    "groupBy": group_by,
                    "filter": filter,
                    "limit": limit,
                    "format": "csv",
                },
            )
        )

    async def quotas(
        self,
        *,
        workspace: str | None = None,
        window: Literal["1h", "24h", "7d", "30d"] | None = None,
        from_: datetime | None = None,
        to: datetime | None = None,
        interval: Literal["minute", "hour", "day", "auto"] | None = None,
        group_by: Sequence[str] | None = None,
        filter: Sequence[str] | None = None,
        limit: int | None = None,
    ) -> models.QuotaUsage:
        """Get the use of the quotas.

        The numbers are those of the counters that enforce the quotas, and include this request. Of the parameters, only
        workspace, filter=key:, limit and format have an effect. With Accept: text/csv or format=csv, the response is a
        table.

        Args:
            workspace: The workspace, or all for the whole instance. The default is the caller's workspace. Only
                operators can name another one.
            window: The period that ends now. The default is 24h.
            from_: The start of the period, instead of window. It is moved back to the start of an interval. The default
                is 24 hours before to.
            to: The end of the period, which is moved to the end of an interval that has ended. The default is now.
            interval: The length of the intervals. Usage by minute is kept for 48 hours, by hour for 90 days, and by day
                for 25 months. A period has at most 3,000 intervals.
            group_by: Up to two dimensions, separated by commas: key, route, method, status, statusClass, version or
                surface.
            filter: A dimension and a value. Values of one dimension are alternatives; a request must match every
                dimension. With - before it, requests with the value are left out. The value none stands for requests
                without a key or a route.
            limit: The maximum number of items in the response.
        """
        return await self._transport.send(
            Request(
                "getQuotaUsage",
                "GET",
                "/api/v1/analytics/usage",
                query={
                    "workspace": workspace,
                    "window": window,
                    "from": from_,
                    "to": to,
                    "interval": interval,
                    "groupBy": group_by,
                    "filter": filter,
                    "limit": limit,
                },
            ),
            models.QuotaUsage,
        )

    async def quotas_csv(
        self,
        *,
        workspace: str | None = None,
        window: Literal["1h", "24h", "7d", "30d"] | None = None,
        from_: datetime | None = None,
        to: datetime | None = None,
        interval: Literal["minute", "hour", "day", "auto"] | None = None,
        group_by: Sequence[str] | None = None,
        filter: Sequence[str] | None = None,
        limit: int | None = None,
    ) -> str:
        """Return what `quotas` returns as a table in CSV. `quotas` describes the parameters."""
        return await self._transport.text(
            Request(
                "getQuotaUsage",
                "GET",
                "/api/v1/analytics/usage",
                query={
                    "workspace": workspace,
                    "window": window,
                    "from": from_,
                    "to": to,
                    "interval": interval,
                    "groupBy": group_by,
                    "filter": filter,
                    "limit": limit,
                    "format": "csv",
                },
            )
        )

    async def versions(
        self,
        *,
        workspace: str | None = None,
        window: Literal["1h", "24h", "7d", "30d"] | None = None,
        from_: datetime | None = None,
        to: datetime | None = None,
        interval: Literal["minute", "hour", "day", "auto"] | None = None,
        group_by: Sequence[str] | None = None,
        filter: Sequence[str] | None = None,
        limit: int | None = None,
    ) -> builtins.list[models.VersionUse]:
        """Get the usage of each version of the API.

        The operation accepts groupBy and limit, but they change nothing. With Accept: text/csv or format=csv, the
        response is a table.

        Args:
            workspace: The workspace, or all for the whole instance. The default is the caller's workspace. Only
                operators can name another one.
            window: The period that ends now. The default is 24h.
            from_: The start of the period, instead of window. It is moved back to the start of an interval. The default
                is 24 hours before to.
            to: The end of the period, which is moved to the end of an interval that has ended. The default is now.
            interval: The length of the intervals. Usage by minute is kept for 48 hours, by hour for 90 days, and by day
                for 25 months. A period has at most 3,000 intervals.
            group_by: Up to two dimensions, separated by commas: key, route, method, status, statusClass, version or
                surface.
            filter: A dimension and a value. Values of one dimension are alternatives; a request must match every
                dimension. With - before it, requests with the value are left out. The value none stands for requests
                without a key or a route.
            limit: The maximum number of items in the response.
        """
        return (
            await self._transport.send(
                Request(
                    "getVersionUsage",
                    "GET",
                    "/api/v1/analytics/versions",
                    query={
                        "workspace": workspace,
                        "window": window,
                        "from": from_,
                        "to": to,
                        "interval": interval,
                        "groupBy": group_by,
                        "filter": filter,
                        "limit": limit,
                    },
                ),
                models.VersionUsage,
            )
        ).items

    async def versions_csv(
        self,
        *,
        workspace: str | None = None,
        window: Literal["1h", "24h", "7d", "30d"] | None = None,
        from_: datetime | None = None,
        to: datetime | None = None,
        interval: Literal["minute", "hour", "day", "auto"] | None = None,
        group_by: Sequence[str] | None = None,
        filter: Sequence[str] | None = None,
        limit: int | None = None,
    ) -> str:
        """Return what `versions` returns as a table in CSV. `versions` describes the parameters."""
        return await self._transport.text(
            Request(
                "getVersionUsage",
                "GET",
                "/api/v1/analytics/versions",
                query={
                    "workspace": workspace,
                    "window": window,
                    "from": from_,
                    "to": to,
                    "interval": interval,
                    "groupBy": group_by,
                    "filter": filter,
                    "limit": limit,
                    "format": "csv",
                },
            )
        )

    async def errors(
        self,
        *,
        workspace: str | None = None,
        window: Literal["1h", "24h", "7d", "30d"] | None = None,
        from_: datetime | None = None,
        to: datetime | None = None,
        interval: Literal["minute", "hour", "day", "auto"] | None = None,
        group_by: Sequence[str] | None = None,
        filter: Sequence[str] | None = None,
        limit: int | None = None,
    ) -> builtins.list[models.ErrorCount]:
        """List the most frequent errors.

        The errors are responses with a status of 400 or more except 429, by route, status and code. They are kept for
        90 days. The operation accepts groupBy, but it changes nothing. With Accept: text/csv or format=csv, the
        response is a table.

        Args:
            workspace: The workspace, or all for the whole instance. The default is the caller's workspace. Only
                operators can name another one.
            window: The period that ends now. The default is 24h.
            from_: The start of the period, instead of window. It is moved back to the start of an interval. The default
                is 24 hours before to.
            to: The end of the period, which is moved to the end of an interval that has ended. The default is now.
            interval: The length of the intervals. Usage by minute is kept for 48 hours, by hour for 90 days, and by day
                for 25 months. A period has at most 3,000 intervals.
            group_by: Up to two dimensions, separated by commas: key, route, method, status, statusClass, version or
                surface.
            filter: A dimension and a value. Values of one dimension are alternatives; a request must match every
                dimension. With - before it, requests with the value are left out. The value none stands for requests
                without a key or a route.
            limit: The maximum number of items in the response.
        """
        return (
            await self._transport.send(
                Request(
                    "listErrors",
                    "GET",
                    "/api/v1/analytics/errors",
                    query={
                        "workspace": workspace,
                        "window": window,
                        "from": from_,
                        "to": to,
                        "interval": interval,
                        "groupBy": group_by,
                        "filter": filter,
                        "limit": limit,
                    },
                ),
                models.ErrorCounts,
            )
        ).items

    async def errors_csv(
        self,
        *,
        workspace: str | None = None,
        window: Literal["1h", "24h", "7d", "30d"] | None = None,
        from_: datetime | None = None,
        to: datetime | None = None,
        interval: Literal["minute", "hour", "day", "auto"] | None = None,
        group_by: Sequence[str] | None = None,
        filter: Sequence[str] | None = None,
        limit: int | None = None,
    ) -> str:
        """Return what `errors` returns as a table in CSV. `errors` describes the parameters."""
        return await self._transport.text(
            Request(
                "listErrors",
                "GET",
                "/api/v1/analytics/errors",
                query={
                    "workspace": workspace,
                    "window": window,
                    "from": from_,
                    "to": to,
                    "interval": interval,
                    "groupBy": group_by,
                    "filter": filter,
                    "limit": limit,
                    "format": "csv",
                },
            )
        )

    async def requests(
        self,
        *,
        workspace: str | None = None,
        window: Literal["1h", "24h", "7d", "30d"] | None = None,
        from_: datetime | None = None,
        to: datetime | None = None,
        interval: Literal["minute", "hour", "day", "auto"] | None = None,
        group_by: Sequence[str] | None = None,
        filter: Sequence[str] | None = None,
        limit: int | None = None,
        cursor: str | None = None,
        request_id: str | None = None,
    ) -> models.RequestPage:
        """List single requests, newest first.

        The log has at most 200 requests of each second and process, errors first, and keeps them for the number of days
        in the setting analytics.requestLogDays. A page can have fewer items than limit although nextCursor is not None.
        As CSV, the cursor is in the header X-Next-Cursor. The operation accepts groupBy and interval, but they change
        nothing. With Accept: text/csv or format=csv, the response is a table.

        Args:
            workspace: The workspace, or all for the whole instance. The default is the caller's workspace. Only
                operators can name another one.
            window: The period that ends now. The default is 24h.
            from_: The start of the period, instead of window. It is moved back to the start of an interval. The default
                is 24 hours before to.
            to: The end of the period, which is moved to the end of an interval that has ended. The default is now.
            interval: The length of the intervals. Usage by minute is kept for 48 hours, by hour for 90 days, and by day
                for 25 months. A period has at most 3,000 intervals.
            group_by: Up to two dimensions, separated by commas: key, route, method, status, statusClass, version or
                surface.
            filter: A dimension and a value. Values of one dimension are alternatives; a request must match every
                dimension. With - before it, requests with the value are left out. The value none stands for requests
                without a key or a route.
            limit: The maximum number of items in the response.
            cursor: The nextCursor of the page before. Without it, the response is the first page. The other parameters
                must stay the same, except limit.
            request_id: List only requests with this ID. Without a period, all requests are searched.
        """
        return await self._transport.send(
            Request(
                "listRequests",
                "GET",
                "/api/v1/analytics/requests",
                query={
                    "workspace": workspace,
                    "window": window,
                    "from": from_,
                    "to": to,
                    "interval": interval,
                    "groupBy": group_by,
                    "filter": filter,
                    "limit": limit,
                    "cursor": cursor,
                    "requestId": request_id,
                },
            ),
            models.RequestPage,
        )

    async def each_request(
        self,
        *,
        workspace: str | None = None,
        window: Literal["1h", "24h", "7d", "30d"] | None = None,
        from_: datetime | None = None,
        to: datetime | None = None,
        interval: Literal["minute", "hour", "day", "auto"] | None = None,
        group_by: Sequence[str] | None = None,
        filter: Sequence[str] | None = None,
        limit: int | None = None,
        request_id: str | None = None,
    ) -> AsyncIterator[models.LoggedRequest]:
        """Iterate over what all pages of `requests` contain, which describes the parameters. `limit` is the size of a
        page. A page is read when it is needed."""
        cursor: str | None = None
        while True:
            page = await self.requests(
                workspace=workspace,
                window=window,
                from_=from_,
                to=to,
                interval=interval,
                group_by=group_by,
                filter=filter,
                limit=limit,
                request_id=request_id,
                cursor=cursor,
            )
            for item in page.items:
                yield item
            if page.next_cursor is None:
                return
            cursor = page.next_cursor

    async def requests_csv(
        self,
        *,
        workspace: str | None = None,
        window: Literal["1h", "24h", "7d", "30d"] | None = None,
        from_: datetime | None = None,
        to: datetime | None = None,
        interval: Literal["minute", "hour", "day", "auto"] | None = None,
        group_by: Sequence[str] | None = None,
        filter: Sequence[str] | None = None,
        limit: int | None = None,
        request_id: str | None = None,
    ) -> str:
        """Return what `requests` returns as a table in CSV. `requests` describes the parameters."""
        return await self._transport.text(
            Request(
                "listRequests",
                "GET",
                "/api/v1/analytics/requests",
                query={
                    "workspace": workspace,
                    "window": window,
                    "from": from_,
                    "to": to,
                    "interval": interval,
                    "groupBy": group_by,
                    "filter": filter,
                    "limit": limit,
                    "requestId": request_id,
                    "format": "csv",
                },
            )
        )


class AsyncClientMethods(AsyncGroup):
    """The client itself."""

    async def whoami(self) -> models.Whoami:
        """Get the calling API key and its scopes.

        Every valid API key can call this operation, whatever its scopes. The request is charged like any other."""
        return await self._transport.send(Request("whoami", "GET", "/api/v1/developer/whoami"), models.Whoami)

    async def search(
        self,
        q: str,
        *,
        collection: str | None = None,
        cursor: str | None = None,
        facets: Sequence[str] | None = None,
        filter: Sequence[str] | None = None,
        fuzzy: Literal["auto", "off"] | None = None,
        highlight: bool | None = None,
        limit: int | None = None,
        passages: int | None = None,
        prefix: bool | Literal["auto", "true", "false"] | None = None,
        sort: Literal["relevance", "-updatedAt", "updatedAt"] | None = None,
        tag: Sequence[str] | None = None,
    ) -> models.Found:
        """Search documents with parameters in the body.

        A document matches if it contains any of the words in `q`, and documents with more of them rank higher. `"Quoted
        phrases"` must all occur, and `-excluded` words must not. A phrase is compared by its first 32 words. There is
        no other syntax in `q`, except that `*` alone finds every document. Words that are written together, apart, or
        with `- / . ' _` find each other: `wi-fi`, `wifi` and `wi fi`. A word that no document has is replaced by up to
        three similar words, unless `fuzzy` is `off`; `suggestion` is then the query with the closest of them. Send a
        cursor with the same parameters as before; only `limit` can change.

        Args:
            q: The words to search for, in the syntax that the operation describes.
            collection: Search only documents of this collection.
            cursor: The nextCursor of the page before. Without it, the response is the first page.
            facets: Names: collection, tag, or metadata entries. The matching documents are counted for each value.
            filter: Comparisons of metadata, each in the form name:op:value, where op is eq, ne, lt, lte, gt or gte. All
                of them must match.
            fuzzy: Whether words that no document has are replaced by similar ones: with one edit for 4 to 7 letters,
                two for more; an edit of the first letter counts as two. off also means that parts of words do not
                count. The default is auto.
            highlight: Whether the response says where words of the query are in snippets and titles. The default is
                True.
            limit: The maximum number of results in the response. The default is 10.
            passages: The number of passages of each text in the response, at most: whole sentences for a prompt.
            prefix: Whether the last word also matches words that begin with it, for search while typing. auto, the
                default, means only if no document has it as a word.
            sort: The order of the results: relevance has the best match first, updatedAt the oldest change, and
                -updatedAt the newest. The default is relevance.
            tag: The tags to match. All of them must match.
        """
        return await self._transport.send(
            Request(
                "searchPost",
                "POST",
                "/api/v1/search",
                body={  # SearchParameters
                    "q": q,
                    "collection": collection,
                    "cursor": cursor,
                    "facets": facets,
                    "filter": filter,
                    "fuzzy": fuzzy,
                    "highlight": highlight,
                    "limit": limit,
                    "passages": passages,
                    "prefix": prefix,
                    "sort": sort,
                    "tag": tag,
                },
                safe=True,
            ),
            models.Found,
        )

    async def each_result(
        self,
        q: str,
        *,
        collection: str | None = None,
        facets: Sequence[str] | None = None,
        filter: Sequence[str] | None = None,
        fuzzy: Literal["auto", "off"] | None = None,
        highlight: bool | None = None,
        limit: int | None = None,
        passages: int | None = None,
        prefix: bool | Literal["auto", "true", "false"] | None = None,
        sort: Literal["relevance", "-updatedAt", "updatedAt"] | None = None,
        tag: Sequence[str] | None = None,
    ) -> AsyncIterator[models.SearchResult]:
        """Iterate over what all pages of `search` contain, which describes the parameters. `limit` is the size of a page.
        A page is read when it is needed."""
        cursor: str | None = None
        while True:
            page = await self.search(
                q,
                collection=collection,
                facets=facets,
                filter=filter,
                fuzzy=fuzzy,
                highlight=highlight,
                limit=limit,
                passages=passages,
                prefix=prefix,
                sort=sort,
                tag=tag,
                cursor=cursor,
            )
            for item in page.results:
                yield item
            if page.next_cursor is None:
                return
            cursor = page.next_cursor

    async def search_many(
        self, searches: Sequence[models.Query]
    ) -> builtins.list[models.Found | models.ErrorBody | models.RateLimitBody]:
        """Run up to 20 searches.

        The searches run one after the other, and the results have the same order. Each search counts as one request
        towards rate limits and quotas. A search that fails does not affect the others: its result is the body of the
        error that it would have alone. So is that of a search for which no requests are left; if not even the first one
        can run, the response is 429.

        Args:
            searches: The searches, each in the format of searchPost.
        """
        return (
            await self._transport.send(
                Request(
                    "searchMulti",
                    "POST",
                    "/api/v1/search/multi",
                    body={  # SearchMultiBody
                        "searches": searches,
                    },
                    safe=True,
                ),
                models.ManyFound,
            )
        ).results

    async def cache_stats(self) -> models.CacheStats:
        """Get the statistics of the caches.

        Only credentials of the operator workspace can call this operation."""
        return await self._transport.send(Request("cacheStats", "GET", "/api/v1/admin/cache-stats"), models.CacheStats)

    async def health(self) -> models.Health:
        """Check the health of the service.

        The status is `degraded` if a part is missing, such as free disk space, but requests are still handled."""
        return await self._transport.send(Request("health", "GET", "/api/v1/health"), models.Health)


class AsyncAgentMethods(AsyncGroup):
    """The client itself."""

    async def remember(
        self,
        text: str,
        *,
        idempotency_key: str | None = None,
        agent_id: str | None = None,
        allow_duplicate: bool | None = None,
        deduplicate: bool | None = None,
        expires_at: datetime | None = None,
        importance: float | None = None,
        key: str | None = None,
        kind: Literal["fact", "preference", "event", "instruction", "summary", "turn", "note"] | None = None,
        metadata: Metadata | None = None,
        occurred_at: datetime | None = None,
        pinned: bool | None = None,
        session_id: str | None = None,
        source: str | None = None,
        speaker: str | None = None,
        subject_id: str | None = None,
        tags: Sequence[str] | None = None,
        valid_from: datetime | None = None,
        valid_to: datetime | None = None,
    ) -> models.StoredMemory:
        """Create a memory.

        A memory with the same key and subject is replaced (200). Without a key, the operation looks for a memory with
        the same text, kind, agent, session, speaker, occurredAt, tags and metadata, and returns it instead of storing
        another one (200, deduplicated). Set allowDuplicate to store it all the same. Turns and events are compared only
        if deduplicate is True.

        Args:
            idempotency_key: A key that you stored before the call, so that you can repeat the call after a crash.
                Without it, the key is random.
            text: The text of the memory, which is stored verbatim.
            agent_id: The agent that the memory belongs to.
            allow_duplicate: Store the memory even if an equal one exists.
            deduplicate: Return an equal memory that exists instead of storing another one, also for turns and events.
            expires_at: The time at which the memory is erased.
            importance: The importance of the memory, which ranks memories that match a query equally well.
            key: A name for what the memory says about the subject. A later memory with the same key replaces this one.
            kind: The kind of the memory. The default is fact.
            metadata: Named values: strings of at most 1,024 characters, numbers or booleans.
            occurred_at: The time at which the event happened or the text was said.
            pinned: Whether the memory is ranked first among memories that match a query equally well.
            session_id: The conversation that the memory comes from.
            source: The source of the memory, such as a URL or the name of a form.
            speaker: The name of the speaker, such as Ada or assistant. If a query names the speaker, what that speaker
                said scores more.
            subject_id: The subject that the memory is about. Use a pseudonym, because the ID appears in URLs. It is
                required unless the API key is bound to a subject.
            tags: Words to select memories by, in lists and recalls. Repeated ones are stored once.
            valid_from: The time from which the memory is valid.
            valid_to: The time until which the memory is valid. After it, the memory is superseded.
        """
        return await self._transport.send(
            Request(
                "aiCreateMemory",
                "POST",
                "/ai/remember",
                body={  # NewMemory
                    "text": text,
                    "agentId": agent_id,
                    "allowDuplicate": allow_duplicate,
                    "deduplicate": deduplicate,
                    "expiresAt": expires_at,
                    "importance": importance,
                    "key": key,
                    "kind": kind,
                    "metadata": metadata,
                    "occurredAt": occurred_at,
                    "pinned": pinned,
                    "sessionId": session_id,
                    "source": source,
                    "speaker": speaker,
                    "subjectId": subject_id,
                    "tags": tags,
                    "validFrom": valid_from,
                    "validTo": valid_to,
                },
                key=Key(idempotency_key),
                versioned=True,
            ),
            models.StoredMemory,
        )

    async def recall(
        self,
        query: str,
        *,
        agent_id: str | None = None,
        as_of: datetime | None = None,
        explain: bool | None = None,
        fill: Literal["none", "recent"] | None = None,
        from_: datetime | None = None,
        kinds: Sequence[Literal["fact", "preference", "event", "instruction", "summary", "turn", "note"]] | None = None,
        limit: int | None = None,
        min_score: float | None = None,
        session_id: str | None = None,
        subject_id: str | None = None,
        tags: Sequence[str] | None = None,
        time_zone: str | None = None,
        to: datetime | None = None,
    ) -> models.Recalled:
        """Recall memories of a subject.

        The response contains the memories of one subject that answer the query, best first. Filters apply before
        ranking. With fill, pinned memories and then the newest ones follow until there are limit results; their score
        is 0. Without asOf, only memories that are valid now are recalled. For an unknown subject the list is empty.

        Args:
            query: The question or message that the memories should answer.
            agent_id: Include only memories of this agent.
            as_of: Recall what was stored and valid at this time. The default is the current time.
            explain: Whether the response says what each signal added to the score.
            fill: What follows the memories that answer the query until there are limit results: nothing, or pinned
                memories and then the newest ones. The default is none.
            from_: Include only memories at or after this time. The time of a memory is occurredAt or, without it,
                createdAt.
            kinds: The kinds to include. A memory must have one of them.
            limit: The maximum number of results in the response. The default is 10.
            min_score: The lowest score to include. The default is every score above 0.
            session_id: Include only memories of this conversation.
            subject_id: The ID of the subject. It is required unless the API key is bound to a subject.
            tags: The tags to match. All of them must match.
            time_zone: The IANA name of the time zone of the days that the query names, such as yesterday, and of the
                days in a context. The default is UTC.
            to: Include only memories before this time.
        """
        return await self._transport.send(
            Request(
                "aiRecall",
                "POST",
                "/ai/recall",
                body={  # RecallBody
                    "query": query,
                    "agentId": agent_id,
                    "asOf": as_of,
                    "explain": explain,
                    "fill": fill,
                    "from": from_,
                    "kinds": kinds,
                    "limit": limit,
                    "minScore": min_score,
                    "sessionId": session_id,
                    "subjectId": subject_id,
                    "tags": tags,
                    "timeZone": time_zone,
                    "to": to,
                },
                safe=True,
                versioned=True,
            ),
            models.Recalled,
        )

    async def context(
        self,
        query: str | None = None,
        *,
        agent_id: str | None = None,
        as_of: datetime | None = None,
        from_: datetime | None = None,
        kinds: Sequence[Literal["fact", "preference", "event", "instruction", "summary", "turn", "note"]] | None = None,
        limit: int | None = None,
        max_characters: int | None = None,
        max_tokens: int | None = None,
        min_score: float | None = None,
        session_id: str | None = None,
        subject_id: str | None = None,
        tags: Sequence[str] | None = None,
        time_zone: str | None = None,
        to: datetime | None = None,
    ) -> models.PackedContext:
        """Build a text for a prompt from memories.

        The operation puts memories into one text with dates and speakers and without repetition: pinned ones first,
        then those that answer the query, then the newest ones until the text is full. The text has at most maxTokens or
        maxCharacters; without both, at most 1,000 tokens. A pinned memory or the best answer that does not fit is cut
        and marked with its ID.

        Args:
            query: The question or message that the memories should answer. Without it, the text has only pinned
                memories and the newest ones.
            agent_id: Include only memories of this agent.
            as_of: Recall what was stored and valid at this time. The default is the current time.
            from_: Include only memories at or after this time. The time of a memory is occurredAt or, without it,
                createdAt.
            kinds: The kinds to include. A memory must have one of them.
            limit: The maximum number of memories. The default is 50.
            max_characters: The maximum length of the text in code points.
            max_tokens: The maximum number of tokens in the text, as estimated. The default is 1,000 unless
                maxCharacters is given.
            min_score: The lowest score to include. The default is every score above 0.
            session_id: Include only memories of this conversation.
            subject_id: The ID of the subject. It is required unless the API key is bound to a subject.
            tags: The tags to match. All of them must match.
            time_zone: The IANA name of the time zone of the days that the query names, such as yesterday, and of the
                days in a context. The default is UTC.
            to: Include only memories before this time.
        """
        return await self._transport.send(
            Request(
                "aiRecallContext",
                "POST",
                "/ai/context",
                body={  # RecallContextBody
                    "query": query,
                    "agentId": agent_id,
                    "asOf": as_of,
                    "from": from_,
                    "kinds": kinds,
                    "limit": limit,
                    "maxCharacters": max_characters,
                    "maxTokens": max_tokens,
                    "minScore": min_score,
                    "sessionId": session_id,
                    "subjectId": subject_id,
                    "tags": tags,
                    "timeZone": time_zone,
                    "to": to,
                },
                safe=True,
                versioned=True,
            ),
            models.PackedContext,
        )


class AsyncBackendMethods(AsyncGroup):
    """The client itself."""

    async def verify_api_key(
        self,
        key: str,
        *,
        consume: bool | None = None,
        cost: int | None = None,
        ip: str | None = None,
        required_scopes: Sequence[
            Literal["read", "write", "developer:manage", "analytics:read", "memory:read", "memory:write", "admin"]
        ]
        | None = None,
    ) -> models.Verification:
        """Verify an API key.

        The operation is that of the API. With the backend secret it knows the keys of all workspaces; with an API key,
        those of the caller's workspace.

        Args:
            key: The key to verify.
            consume: Whether the verified key is charged. The default is True.
            cost: The number of requests to charge. The default is 1.
            ip: The IP address that the key was used from. Without it, the code of a key with allowedIps is
                IP_NOT_ALLOWED.
            required_scopes: The scopes that the key must have.
        """
        return await self._transport.send(
            Request(
                "backendVerifyAPIKey",
                "POST",
                "/verify",
                body={  # VerifyAPIKeyBody
                    "key": key,
                    "consume": consume,
                    "cost": cost,
                    "ip": ip,
                    "requiredScopes": required_scopes,
                },
                safe=consume is False,
                versioned=True,
            ),
            models.Verification,
        )

    async def report_usage(self, items: Sequence[models.ServedRequests]) -> models.UsageReceipt:
        """Report requests that another service has served.

        The requests are charged to the quotas of their API keys and workspaces, on the day of the report, and none is
        refused because a quota is used up. An item that is invalid does not affect the others.

        Args:
            items: The requests to report, each item for requests with the same key, route and status.
        """
        return await self._transport.send(
            Request(
                "backendReportUsage",
                "POST",
                "/usage",
                body={  # ReportUsageBody
                    "items": items,
                },
                safe=True,
                versioned=True,
            ),
            models.UsageReceipt,
        )


class AsyncGroups(AsyncClientMethods):
    """The methods of the client, with the groups."""

    def __init__(self, transport: AsyncTransport) -> None:
        super().__init__(transport)
        self.api_keys = AsyncAPIKeys(transport)
        self.documents = AsyncDocuments(transport)
        self.collections = AsyncCollections(transport)
        self.languages = AsyncLanguages(transport)
        self.memories = AsyncMemories(transport)
        self.subjects = AsyncSubjects(transport)
        self.auth = AsyncAuth(transport)
        self.profile = AsyncProfile(transport)
        self.users = AsyncUsers(transport)
        self.workspaces = AsyncWorkspaces(transport)
        self.tiers = AsyncTiers(transport)
        self.audit_log = AsyncAuditLog(transport)
        self.webhooks = AsyncWebhooks(transport)
        self.versions = AsyncVersions(transport)
        self.analytics = AsyncAnalytics(transport)
