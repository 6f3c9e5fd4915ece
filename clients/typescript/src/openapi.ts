// Generated from openapi/v1.json by `make clients`. Do not edit it.
// SHA-256 of openapi/v1.json: bd9c19d2f3aa721c2d8c44ec8e1b01a82cf271d023c539d2a26508ef5c529447

export interface paths {
    "/.well-known/jwks.json": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get the public keys for tokens and receipts
         * @description The response is a JWK set (RFC 7517). A key that signs tokens stays in the set as long as one of its tokens can be valid. The key that signs receipts is the last one and stays in the set forever.
         */
        get: operations["getSigningKeys"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/.well-known/oauth-protected-resource/ai/mcp": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get the metadata of the tools' endpoint
         * @description The metadata of a protected resource (RFC 9728). It names no authorization server, because credentials are API keys.
         */
        get: operations["aiGetToolsMetadata"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/ai/context": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Build a text for a prompt from memories
         * @description The operation puts memories into one text with dates and speakers and without repetition: pinned ones first, then those that answer the query, then the newest ones until the text is full. The text has at most maxTokens or maxCharacters; without both, at most 1,000 tokens. A pinned memory or the best answer that does not fit is cut and marked with its ID.
         */
        post: operations["aiRecallContext"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/ai/mcp": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Send a message of the Model Context Protocol
         * @description The response of a request is 200 with a JSON-RPC response; a tool that fails says so in its result. Notifications are 202. A call of a tool that the scopes of the credential do not allow is 403.
         */
        post: operations["aiCallTools"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/ai/recall": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Recall memories of a subject
         * @description The response contains the memories of one subject that answer the query, best first. Filters apply before ranking. With fill, pinned memories and then the newest ones follow until there are limit results; their score is 0. Without asOf, only memories that are valid now are recalled. For an unknown subject the list is empty.
         */
        post: operations["aiRecall"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/ai/remember": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Create a memory
         * @description A memory with the same key and subject is replaced (200). Without a key, the operation looks for a memory with the same text, kind, agent, session, speaker, occurredAt, tags and metadata, and returns it instead of storing another one (200, deduplicated). Set allowDuplicate to store it all the same. Turns and events are compared only if deduplicate is true.
         */
        post: operations["aiCreateMemory"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/auth/login": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Sign in with email and password
         * @description Send the access token as `Authorization: Bearer …`. When it has expired, use the refresh token to get a new pair. A wrong password and an unknown email get the same response. A successful login is charged to the user's workspace, a failed one to the client's address.
         */
        post: operations["login"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/auth/logout": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Sign out
         * @description The session of the access token ends, and neither this token nor the refresh token works afterwards.
         */
        post: operations["logout"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/auth/password": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Change the password of the signed-in user
         * @description All other sessions of the user end.
         */
        post: operations["changePassword"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/auth/refresh": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Refresh the tokens
         * @description A refresh token works once and is replaced by the one in the response. Using it a second time ends the session, except within 10 seconds and before its successor was used: then the response contains the same successor. A session ends 90 days after its login, and no token outlives it.
         */
        post: operations["refreshToken"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/audit-log": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List audit log entries, newest first
         * @description Admins of the operator workspace see the entries of all workspaces and of the instance. Other admins see the entries of their own workspace. With Accept: application/x-ndjson the response contains all entries that match, one on each line, and limit is ignored.
         */
        get: operations["listAuditLog"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/audit-log/verify": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Verify the audit log
         * @description Only credentials of the operator workspace can call this operation. The operation reads the whole log and its checkpoints and names the first entry of each chain that was changed, removed or cut off. Reads that were removed because of audit.readRetentionDays are on record and do not count as missing. The command keepsake audit verify does the same without the server.
         */
        get: operations["verifyAuditLog"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/cache-stats": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get the statistics of the caches
         * @description Only credentials of the operator workspace can call this operation.
         */
        get: operations["cacheStats"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/signing-keys/rotate": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Rotate the signing key of access tokens
         * @description Tokens that were issued before stay valid until they expire.
         */
        post: operations["rotateSigningKey"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/tiers": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the tiers
         * @description Only credentials of the operator workspace can call this operation.
         */
        get: operations["listTiers"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/tiers/{name}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        /**
         * Change a tier
         * @description Only credentials of the operator workspace can call this operation. The new numbers apply to all later requests and replace the configured ones. What was already used stays used. A count that is omitted stays as it is; null means no limit, and 0 that a workspace can have none. Tiers are added and renamed in the configuration only.
         */
        put: operations["changeTier"];
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/users": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List users, newest first
         * @description The list contains the users of the caller's workspace. Credentials of the operator workspace see the users of all workspaces, or of the one in the parameter workspace.
         */
        get: operations["listUsers"];
        put?: never;
        /**
         * Create a user
         * @description If the request has no password, one is generated and returned in this response only. Only credentials of the operator workspace can create users in other workspaces.
         */
        post: operations["createUser"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/users/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get a user
         * @description Only credentials of the operator workspace can get users of other workspaces.
         */
        get: operations["getUser"];
        put?: never;
        post?: never;
        /**
         * Delete a user
         * @description The user's sessions end, and the email can be used again. API keys that the user created stay valid.
         */
        delete: operations["deleteUser"];
        options?: never;
        head?: never;
        /**
         * Change a user
         * @description Fields that are omitted do not change. A new role applies at once, also to tokens that were issued before. A user who is disabled or gets a new password is signed out everywhere. The last admin of a workspace cannot be removed, disabled or demoted.
         */
        patch: operations["changeUser"];
        trace?: never;
    };
    "/api/v1/admin/users/{id}/setup-link": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Create a link with which a user chooses a password
         * @description Send the link to a new user, or to one who forgot the password. It works once and for an hour, and no longer after the user signed in or was changed. Until it is used, the user's password and sessions stay valid. The first person who uses it chooses the password. The link is relative to the server's address unless publicUrl is set.
         */
        post: operations["createSetupLink"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/versions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the versions of the API with their administrative details
         * @description The versions are listed oldest first, with their traffic checks and rehearsals.
         */
        get: operations["listVersionRecords"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/versions/release": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Release the next version of the API
         * @description Only credentials of the operator workspace can call this operation. The new version has every operation of its predecessor except those that the code changes. The predecessor is deprecated at announcedAt and sunset at sunsetAt. The default of sunsetAt is six calendar months after announcedAt or, if later, now.
         */
        post: operations["releaseVersion"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/versions/{n}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get a version of the API
         * @description The response contains the version's traffic checks and rehearsals.
         */
        get: operations["getVersionRecord"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        /**
         * Change the sunset or the migration guide of a version
         * @description Only credentials of the operator workspace can call this operation. Fields that are omitted do not change. The sunset can only be moved later.
         */
        patch: operations["changeVersion"];
        trace?: never;
    };
    "/api/v1/admin/versions/{n}/rehearse-sunset": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Rehearse the sunset of a version for one API key
         * @description Only credentials of the operator workspace can call this operation. Requests with the API key to this version are refused with 410 version_sunset until the given time. A second rehearsal for the same key replaces the first one.
         */
        post: operations["rehearseSunset"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/versions/{n}/retire": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Remove the routes of a sunset version
         * @description Only credentials of the operator workspace can call this operation. Routes are removed automatically twelve months after the sunset. Before the sunset the request is refused with 409.
         */
        post: operations["retireVersion"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/versions/{n}/usage": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the callers of a version
         * @description The list has an item for each credential, route and client. Operators see the callers of all workspaces, other admins those of their own.
         */
        get: operations["listVersionCallers"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/webhooks": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List webhooks, newest first
         * @description The list contains the webhooks of the caller's workspace, also disabled ones. A workspace can have ten.
         */
        get: operations["listWebhooks"];
        put?: never;
        /**
         * Create a webhook
         * @description Events are delivered as POST requests that are signed as Standard Webhooks describes. The response is the only one that contains the secret of the signatures. Every event whose cause begins after the response is delivered, at least once and in no particular order. Failed deliveries are repeated for three days. Addresses that are not on the public internet are refused when a delivery connects. Credentials that are bound to a subject or an agent cannot manage webhooks.
         */
        post: operations["createWebhook"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/webhooks/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get a webhook
         * @description The response has the first characters of the webhook's secrets, never a whole secret.
         */
        get: operations["getWebhook"];
        put?: never;
        post?: never;
        /**
         * Delete a webhook and its deliveries
         * @description Pending deliveries are dropped. To keep the webhook and its deliveries, disable it instead.
         */
        delete: operations["deleteWebhook"];
        options?: never;
        head?: never;
        /**
         * Change a webhook
         * @description Fields that are omitted do not change. A webhook that is enabled again also gets what was pending when it was disabled.
         */
        patch: operations["changeWebhook"];
        trace?: never;
    };
    "/api/v1/admin/webhooks/{id}/deliveries": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the deliveries of a webhook, newest first
         * @description Deliveries are kept for 30 days, unless the setting webhooks.logDays says otherwise.
         */
        get: operations["listWebhookDeliveries"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/webhooks/{id}/deliveries/{deliveryId}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get a delivery of a webhook
         * @description The response contains the body that was sent, and the newest attempts with their results.
         */
        get: operations["getWebhookDelivery"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/webhooks/{id}/deliveries/{deliveryId}/replay": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Send a delivery of a webhook again
         * @description The event keeps its ID. A delivery that is being sent is refused with 409, and so is one of a disabled webhook.
         */
        post: operations["replayWebhookDelivery"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/webhooks/{id}/ping": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Send a test event to a webhook
         * @description The event has the type webhook.ping. It is delivered like any other, so read the delivery to see the result. A disabled webhook is refused with 409.
         */
        post: operations["pingWebhook"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/webhooks/{id}/rotate": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Rotate the secret of a webhook
         * @description The response is the only one that contains the new secret. Deliveries are signed with both secrets for graceSeconds. A webhook that has two secrets is refused with 409, unless force is true.
         */
        post: operations["rotateWebhookSecret"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/workspaces": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List workspaces, newest first
         * @description Only credentials of the operator workspace can call this operation.
         */
        get: operations["listWorkspaces"];
        put?: never;
        /**
         * Create a workspace
         * @description Only credentials of the operator workspace can call this operation.
         */
        post: operations["createWorkspace"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/workspaces/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get a workspace
         * @description Only credentials of the operator workspace can call this operation.
         */
        get: operations["getWorkspace"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        /**
         * Change a workspace
         * @description Only credentials of the operator workspace can call this operation. Fields that are omitted do not change. All later requests with credentials of a suspended workspace are refused with 403 workspace_suspended. Changing the tier does not reset usage.
         */
        patch: operations["changeWorkspace"];
        trace?: never;
    };
    "/api/v1/analytics/errors": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the most frequent errors
         * @description The errors are responses with a status of 400 or more except 429, by route, status and code. They are kept for 90 days. The operation accepts groupBy, but it changes nothing. With Accept: text/csv or format=csv, the response is a table.
         */
        get: operations["listErrors"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/analytics/requests": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List single requests, newest first
         * @description The log has at most 200 requests of each second and process, errors first, and keeps them for the number of days in the setting analytics.requestLogDays. A page can have fewer items than limit although nextCursor is not null. As CSV, the cursor is in the header X-Next-Cursor. The operation accepts groupBy and interval, but they change nothing. With Accept: text/csv or format=csv, the response is a table.
         */
        get: operations["listRequests"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/analytics/summary": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get the usage of a period
         * @description The operation accepts groupBy and limit, but they change nothing. With Accept: text/csv or format=csv, the response is a table.
         */
        get: operations["getUsageSummary"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/analytics/timeseries": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get the usage over time
         * @description Without groupBy, the response has one series of all requests. With groupBy, it has those with the most requests, at most limit. A series has a point for each interval. A response has at most 50,000 points. With Accept: text/csv or format=csv, the response is a table.
         */
        get: operations["getUsageSeries"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/analytics/top": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the groups with the most requests
         * @description The default of groupBy is route. With Accept: text/csv or format=csv, the response is a table.
         */
        get: operations["getTopUsage"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/analytics/usage": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get the use of the quotas
         * @description The numbers are those of the counters that enforce the quotas, and include this request. Of the parameters, only workspace, filter=key:, limit and format have an effect. With Accept: text/csv or format=csv, the response is a table.
         */
        get: operations["getQuotaUsage"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/analytics/versions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get the usage of each version of the API
         * @description The operation accepts groupBy and limit, but they change nothing. With Accept: text/csv or format=csv, the response is a table.
         */
        get: operations["getVersionUsage"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/collections": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the collections, by name
         * @description The list contains the collections that have documents, and those that have settings.
         */
        get: operations["listCollections"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/collections/{collection}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get a collection and its settings
         * @description A collection without settings has the default ones. ETag is the revision of the settings: the number of documents changes without it.
         */
        get: operations["getCollection"];
        /**
         * Replace the settings of a collection
         * @description What is omitted gets its default. Synonyms and weights apply to the next search. A language, and fields that were not searched before, apply once the documents are indexed again, which begins at once; until then, searches use the index as it is. The collection need not have documents. With If-None-Match: *, settings are created and not replaced.
         */
        put: operations["putCollection"];
        post?: never;
        /**
         * Remove the settings of a collection
         * @description The documents of the collection stay, and are searched with the default settings. To delete them, use POST /documents/delete.
         */
        delete: operations["deleteCollection"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/developer/api-keys": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List API keys, newest first
         * @description The list contains the keys of the caller's workspace, also those that expired or were revoked. A caller that is bound to a subject or agent sees only keys with the same binding.
         */
        get: operations["listAPIKeys"];
        put?: never;
        /**
         * Create an API key
         * @description The response is the only one that contains the key. The key's scopes must be a subset of the caller's. A caller that is bound to a subject or agent creates keys with the same binding. A key can create keys within its own expiresAt, allowedIps, quota and rateLimit only, which also are the defaults. A wider value is refused with 403 and named in details.field.
         */
        post: operations["createAPIKey"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/developer/api-keys/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get an API key
         * @description The response contains the record of the key, never the text of the key. The record of a revoked key stays readable.
         */
        get: operations["getAPIKey"];
        put?: never;
        post?: never;
        /**
         * Revoke an API key and return nothing
         * @description Status 202 means that this instance refuses the key from now on but could not store the revocation yet, for example because its disk is full. It stores the revocation as soon as it can. Only then do other instances refuse the key.
         */
        delete: operations["deleteAPIKey"];
        options?: never;
        head?: never;
        /**
         * Change an API key
         * @description Fields that are omitted do not change, nor do members of rateLimit, quota and metadata that are omitted. scopes and allowedIps replace the whole old list. A key that expired less than 30 days ago becomes active again if expiresAt is moved into the future. Revoked keys cannot be changed. A key can change keys, including itself, within its own scopes, expiresAt, allowedIps, quota and rateLimit only. A wider value is refused with 403 and named in details.field.
         */
        patch: operations["changeAPIKey"];
        trace?: never;
    };
    "/api/v1/developer/api-keys/{id}/complete-rotation": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Complete the rotation of an API key
         * @description After this response only the newest secret works. If there is no older secret, nothing changes.
         */
        post: operations["completeAPIKeyRotation"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/developer/api-keys/{id}/limits": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get the limits of an API key
         * @description Reading the limits is not charged to the key.
         */
        get: operations["getAPIKeyLimits"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/developer/api-keys/{id}/revoke": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Revoke an API key
         * @description All later requests with the key are refused. Its record stays readable. Revoking a revoked key has no effect. Status 202 means that this instance refuses the key from now on but could not store the revocation yet, for example because its disk is full. It stores the revocation as soon as it can. Only then do other instances refuse the key.
         */
        post: operations["revokeAPIKey"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/developer/api-keys/{id}/rotate": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Rotate an API key
         * @description The response is the only one that contains the new key. The ID, limits and scopes do not change. The previous secret works for graceSeconds more, and responses to it have the header X-API-Key-Rotate-By. The key's scopes must be a subset of the caller's, and a key cannot rotate a key with wider limits than its own. A key that is disabled, expired or revoked is refused with 409. So is a key that is being rotated, unless force is true.
         */
        post: operations["rotateAPIKey"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/developer/api-keys/{id}/usage": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get the usage of an API key over time
         * @description The response has a point for each interval of the window, also for intervals without requests.
         */
        get: operations["getAPIKeyUsage"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/developer/verify": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Verify an API key
         * @description The status is 200 whenever the request itself is valid, and code is the result. Only keys of the caller's workspace are known; other keys are INVALID. A request for an INVALID key costs the caller one request, and any other request costs the caller nothing. If code is VALID and consume is not false, the verified key and its workspace are charged cost once.
         */
        post: operations["verifyAPIKey"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/developer/whoami": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get the calling API key and its scopes
         * @description Every valid API key can call this operation, whatever its scopes. The request is charged like any other.
         */
        get: operations["whoami"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/documents": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List documents
         * @description If filter is given, a page can have fewer items than limit, or none, although nextCursor is not null.
         */
        get: operations["listDocuments"];
        put?: never;
        /**
         * Create a document
         * @description If the document has no ID, one is generated.
         */
        post: operations["createDocument"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/documents/delete": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Delete documents by ID, or those that match a selection
         * @description With dryRun, which is the default, the operation only counts the documents that it would delete. Documents are deleted in parts, so if the request fails, some of them can be deleted already. It can then be repeated.
         */
        post: operations["deleteDocuments"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/documents/export": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Export documents as lines of JSON
         * @description Each line is a document in the format of importDocuments, in the order of the IDs.
         */
        get: operations["exportDocuments"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/documents/import": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Import documents from lines of JSON or a CSV
         * @description Each line is a document in the format of createDocument. A document whose ID exists is replaced. An invalid line does not affect the others. A line without an ID gets one that follows from its workspace, collection and content, so that importing it again replaces the document. The body can also be a JSON array of at most 8 MiB; line is then the position in the array, starting at 1. Or it is a CSV whose first row has the names of the columns; line is then the line on which a row begins. Rows of any form become documents if the parameters say which of their values are which fields. Values of nested objects have names with dots.
         */
        post: operations["importDocuments"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/documents/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get a document
         * @description The response contains the whole document, whatever its collection.
         */
        get: operations["getDocument"];
        /**
         * Create or replace a document
         * @description With If-None-Match: *, the operation creates a document and does not replace one.
         */
        put: operations["putDocument"];
        post?: never;
        /**
         * Delete a document
         * @description The next search does not find the document. Its ID can be used again.
         */
        delete: operations["deleteDocument"];
        options?: never;
        head?: never;
        /**
         * Change a document
         * @description The body is a merge patch. Fields that are omitted do not change, null removes a field, and metadata is merged name by name.
         */
        patch: operations["changeDocument"];
        trace?: never;
    };
    "/api/v1/health": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Check the health of the service
         * @description The status is `degraded` if a part is missing, such as free disk space, but requests are still handled.
         */
        get: operations["health"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/languages": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the languages of documents
         * @description A document, and the settings of a collection, can have one of these languages. It decides which words of a document are forms of one word.
         */
        get: operations["listLanguages"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/memories": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List memories, newest first
         * @description The parameters from and to apply to occurredAt or, without it, to createdAt. The parameter tag requires subjectId, because tags are encrypted for each subject.
         */
        get: operations["listMemories"];
        put?: never;
        /**
         * Create a memory
         * @description A memory with the same key and subject is replaced (200). Without a key, the operation looks for a memory with the same text, kind, agent, session, speaker, occurredAt, tags and metadata, and returns it instead of storing another one (200, deduplicated). Set allowDuplicate to store it all the same. Turns and events are compared only if deduplicate is true.
         */
        post: operations["createMemory"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/memories/batch": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Create up to 1,000 memories
         * @description Items are stored one after the other, and the results have the same order. An item that is refused does not affect the others. If atomic is true, it makes the whole request fail with 400, and nothing is stored.
         */
        post: operations["createMemories"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/memories/context": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Build a text for a prompt from memories
         * @description The operation puts memories into one text with dates and speakers and without repetition: pinned ones first, then those that answer the query, then the newest ones until the text is full. The text has at most maxTokens or maxCharacters; without both, at most 1,000 tokens. A pinned memory or the best answer that does not fit is cut and marked with its ID.
         */
        post: operations["recallContext"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/memories/forget": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Forget memories of a subject
         * @description The default is a dry run: it lists the memories that ids, filter or query select, erases nothing and returns a plan that is valid for an hour. A request with the plan and with dryRun false erases exactly these memories. A plan can be used once, by the caller that created it. A dry run ignores Idempotency-Key.
         */
        post: operations["forgetMemories"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/memories/import": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Import memories from lines of JSON
         * @description Each line is a memory in the format of createMemory. It can also have an ID and, as in an export, its own times, authors, revision and history. They are taken from users and from keys that are not bound to a subject or an agent; lines of other keys are imported without them. importedBy of the memory is the credential of the import. A memory whose ID exists is replaced, unless it is equal. An invalid line does not affect the others, and neither does a line whose memory was erased. If the request has an Idempotency-Key, every line must have an ID.
         */
        post: operations["importMemories"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/memories/recall": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Recall memories of a subject
         * @description The response contains the memories of one subject that answer the query, best first. Filters apply before ranking. With fill, pinned memories and then the newest ones follow until there are limit results; their score is 0. Without asOf, only memories that are valid now are recalled. For an unknown subject the list is empty.
         */
        post: operations["recall"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/memories/subjects": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List subjects, newest first
         * @description A subject is listed as soon as it has a memory, and no longer after it was erased. An API key that is bound to a subject sees only that one.
         */
        get: operations["listSubjects"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/memories/subjects/{subjectId}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get statistics of a subject
         * @description The response contains numbers and times, and no text of a memory. An unknown or erased subject is 404.
         */
        get: operations["getSubject"];
        put?: never;
        post?: never;
        /**
         * Erase a subject
         * @description The operation first destroys the subject's data key, then everything that was encrypted with it, and returns a signed receipt. It cannot be undone. Backups of keys from before keyBackupsBefore can still decrypt older backups of data.
         */
        delete: operations["eraseSubject"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/memories/subjects/{subjectId}/access-log": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List accesses to a subject's memories, newest first
         * @description The log says who read or changed which memories, when and from which address. It contains no text of a memory.
         */
        get: operations["listSubjectAccesses"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/memories/subjects/{subjectId}/export": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Export the memories of a subject
         * @description Each line is a memory with its older revisions, oldest memory first. This is the format of importMemories, on this instance or another one. An export of imported memories has the same bytes, except for importedBy.
         */
        get: operations["exportSubject"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/memories/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get a memory
         * @description The response contains the current revision of the memory. The request is in the subject's access log.
         */
        get: operations["getMemory"];
        put?: never;
        post?: never;
        /**
         * Erase a memory and its history
         * @description The operation also erases all older revisions of the memory. It cannot be undone.
         */
        delete: operations["deleteMemory"];
        options?: never;
        head?: never;
        /**
         * Change a memory
         * @description The body is a merge patch, and the change creates a new revision. Fields that are omitted do not change, null removes a field, and metadata is merged name by name. The subject of a memory cannot be changed.
         */
        patch: operations["changeMemory"];
        trace?: never;
    };
    "/api/v1/memories/{id}/history": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the revisions of a memory, newest first
         * @description The ID of a memory begins with mem_. The path /memories/subjects/history therefore is the subject history, not a memory's history.
         */
        get: operations["getMemoryHistory"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/profile": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get the profile of the signed-in user
         * @description The profile has the user's role and scopes as they are now, also if they have changed since the sign-in.
         */
        get: operations["getProfile"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        /**
         * Change the profile of the signed-in user
         * @description Users can change only their display name. Admins change roles, and changePassword the password.
         */
        patch: operations["changeProfile"];
        trace?: never;
    };
    "/api/v1/search": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Search documents
         * @description A document matches if it contains any of the words in `q`, and documents with more of them rank higher. `"Quoted phrases"` must all occur, and `-excluded` words must not. A phrase is compared by its first 32 words. There is no other syntax in `q`, except that `*` alone finds every document. Words that are written together, apart, or with `- / . ' _` find each other: `wi-fi`, `wifi` and `wi fi`. A word that no document has is replaced by up to three similar words, unless `fuzzy` is `off`; `suggestion` is then the query with the closest of them. Send a cursor with the same parameters as before; only `limit` can change.
         */
        get: operations["search"];
        put?: never;
        /**
         * Search documents with parameters in the body
         * @description A document matches if it contains any of the words in `q`, and documents with more of them rank higher. `"Quoted phrases"` must all occur, and `-excluded` words must not. A phrase is compared by its first 32 words. There is no other syntax in `q`, except that `*` alone finds every document. Words that are written together, apart, or with `- / . ' _` find each other: `wi-fi`, `wifi` and `wi fi`. A word that no document has is replaced by up to three similar words, unless `fuzzy` is `off`; `suggestion` is then the query with the closest of them. Send a cursor with the same parameters as before; only `limit` can change.
         */
        post: operations["searchPost"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/search/multi": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Run up to 20 searches
         * @description The searches run one after the other, and the results have the same order. Each search counts as one request towards rate limits and quotas. A search that fails does not affect the others: its result is the body of the error that it would have alone. So is that of a search for which no requests are left; if not even the first one can run, the response is 429.
         */
        post: operations["searchMulti"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/versions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the versions of the API
         * @description The operation needs no credential, so that clients with an outdated one can find out what to migrate to.
         */
        get: operations["listVersions"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/forward-auth": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Judge the credential of a request to another service
         * @description The credential is an API key in X-API-Key or Authorization: Bearer, or an access token in Authorization: Bearer. If it is valid, has the scopes and has enough requests left, it is charged cost, and headers of the response say whose it is.
         */
        get: operations["backendForwardAuth"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/livez": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Check whether the process is alive
         * @description The process answers as long as it runs, whatever the state of its parts. If it does not answer, restart it.
         */
        get: operations["backendLivez"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/metrics": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get the metrics of this process
         * @description The response is in the text format of Prometheus. Each process reports its own metrics.
         */
        get: operations["backendMetrics"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/readyz": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Check whether the process can serve requests
         * @description If a part that requests need does not work, or the process is shutting down, the response is 503.
         */
        get: operations["backendReadyz"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/usage": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Report requests that another service has served
         * @description The requests are charged to the quotas of their API keys and workspaces, on the day of the report, and none is refused because a quota is used up. An item that is invalid does not affect the others.
         */
        post: operations["backendReportUsage"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/verify": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Verify an API key
         * @description The operation is that of the API. With the backend secret it knows the keys of all workspaces; with an API key, those of the caller's workspace.
         */
        post: operations["backendVerifyAPIKey"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
}
export type webhooks = Record<string, never>;
export interface components {
    schemas: {
        AccessView: {
            /**
             * @description The action, such as memory.read, memory.recalled or memory.created.
             * @example memory.recalled
             */
            action: string;
            /** @description The ID of the key or user that acted, or local. It is null if the actor is unknown. */
            actor: string | null;
            /** @description The IP address of the client. It is null if there is none. */
            address: string | null;
            /**
             * Format: date-time
             * @description The time of the access.
             */
            at: string;
            /**
             * Format: int64
             * @description The number of memories that were read or changed, even if memoryIds does not list all of them.
             */
            count: number;
            /**
             * @description The ID of the entry, which begins with aud_.
             * @example aud_01kakakakafkhvayayayayayay
             */
            id: string;
            /** @description The IDs of the memories that were read or changed. */
            memoryIds: string[];
            /**
             * @description Whether the action was done, was refused, or failed.
             * @enum {string}
             */
            outcome: "done" | "refused" | "failed";
            /** @description The ID of the request, as in X-Request-Id. It is null if the action has no request. */
            requestId: string | null;
        };
        ApiKeyView: {
            /** @description The ID of the agent that the key is bound to. It is null if the key is not bound to one. */
            agentId: string | null;
            /** @description The networks that the key can be used from, in CIDR notation. An empty list means any address. */
            allowedIps: string[];
            /**
             * Format: date-time
             * @description The time of creation. Later changes do not move it.
             */
            createdAt: string;
            /** @description The ID of the user or key that created the key, or local. */
            createdBy: string;
            /**
             * Format: date-time
             * @description The time at which the key expires. It is null if the key does not expire.
             */
            expiresAt: string | null;
            /**
             * @description The first characters of the key, which help people to tell keys apart.
             * @example kpsk_7Hq2
             */
            hint: string;
            /**
             * @description The ID of the key, which begins with key_. A rotation keeps it.
             * @example key_01kakakakafkhvayayayayayay
             */
            id: string;
            /**
             * Format: date-time
             * @description The time of the last request with any secret of the key. It is null if there was none.
             */
            lastUsedAt: string | null;
            /** @description The metadata that was stored with the key: strings, numbers or booleans by name. */
            metadata: {
                [key: string]: string | number | boolean;
            };
            /**
             * @description The display name of the key.
             * @example crawler
             */
            name: string;
            /** @description The key's own quotas. It is null if only the workspace's quotas apply. */
            quota: components["schemas"]["QuotaView"] | null;
            /** @description The limit of the key per minute, which applies in addition to the workspace's. */
            rateLimit: components["schemas"]["RateLimitView"];
            /**
             * Format: int64
             * @description The number of the revision, which grows with every change. ETag and If-Match have it in quotes.
             */
            revision: number;
            /** @description The reason that was given for the revocation. It is null if there was none. */
            revokeReason: string | null;
            /**
             * Format: date-time
             * @description The time at which the key was revoked. It is null if the key is not revoked.
             */
            revokedAt: string | null;
            /** @description The scopes of the key, which say what requests with it can do. */
            scopes: string[];
            /** @description The secrets of the key, newest first. A key that is being rotated has two. */
            secrets: components["schemas"]["SecretView"][];
            /**
             * @description The state of the key. While it is rotating, two secrets work. Only active and rotating keys are accepted.
             * @enum {string}
             */
            state: "active" | "rotating" | "expired" | "disabled" | "revoked";
            /** @description The ID of the subject that the key is bound to. It is null if the key is not bound to one. */
            subjectId: string | null;
            /**
             * Format: date-time
             * @description The time of the last change, or of creation if there was none.
             */
            updatedAt: string;
        };
        AttemptView: {
            /**
             * Format: date-time
             * @description The time at which the attempt began.
             */
            at: string;
            /**
             * @description Why the attempt failed. It is null if it succeeded. connection_failed also means that the address is not on the public internet.
             * @enum {string|null}
             */
            error: "connection_failed" | "timeout" | "bad_status" | "redirect" | null;
            /**
             * Format: double
             * @description The duration of the attempt in milliseconds.
             */
            ms: number;
            /**
             * Format: int64
             * @description The status of the response. It is null if there was none.
             */
            status: number | null;
        };
        AuditBreakView: {
            /** @description The name of the chain of entries. */
            chain: string;
            /** @description The ID of the entry. It is null if the entry is missing. */
            id: string | null;
            /** @description The damage in words for people. */
            message: string;
            /**
             * @description The kind of damage. Entries were changed or removed, or a checkpoint or record does not match them.
             * @enum {string}
             */
            reason: "changed" | "missing" | "unlinked" | "cut_off" | "rewritten" | "head_wrong" | "checkpoint_forged" | "checkpoints_unreadable" | "record_missing" | "record_forged" | "checkpoints_missing";
            /**
             * Format: int64
             * @description The number of the entry in its chain, starting at 1.
             */
            sequence: number;
        };
        AuditChainView: {
            /** @description The name of the chain of entries. Each process of the instance writes one. */
            chain: string;
            /** @description The keyed hash of the entry and of the hash before it. */
            hash: string;
            /** @description The hash of the previous entry. */
            previous: string;
            /**
             * Format: int64
             * @description The number of the entry in its chain, starting at 1.
             */
            sequence: number;
        };
        AuditEntryView: {
            /**
             * @description The action: what it was about, and what was done.
             * @example api_key.revoked
             */
            action: string;
            /** @description The ID of the key or user that acted, or local. It is null if the actor is unknown. */
            actor: string | null;
            /** @description The IP address of the client. It is null if there is none. */
            address: string | null;
            /**
             * Format: date-time
             * @description The time of the action.
             */
            at: string;
            /**
             * Format: int64
             * @description The number of times the action happened since at, or the number of memories it concerns.
             */
            count: number;
            /** @description The values that were set. The value changed stands for a value that the log does not contain. A limit that was changed is also there as it was before, such as quota.daily.before; none means no limit of its own. */
            details: {
                [key: string]: string | number | boolean;
            };
            /**
             * @description The ID of the entry, which begins with aud_.
             * @example aud_01kakakakafkhvayayayayayay
             */
            id: string;
            /** @description The entry's place in the log. It is null unless the caller is an admin of the operator workspace. */
            link: components["schemas"]["AuditChainView"] | null;
            /**
             * @description Whether the action was done, was refused, or failed.
             * @enum {string}
             */
            outcome: "done" | "refused" | "failed";
            /** @description The ID of the request, as in X-Request-Id. It is null if the action has no request. */
            requestId: string | null;
            /** @description The ID of the target of the action. For a person it is a keyed hash. It is null if the action has no target. */
            target: string | null;
            /** @description The ID of the workspace. It is null for entries about the instance. */
            workspaceId: string | null;
        };
        AuditHeadView: {
            /** @description The name of the chain of entries. */
            chain: string;
            /** @description The hash of the last entry. Store a copy of it elsewhere. */
            hash: string;
            /**
             * Format: int64
             * @description The number of the last verified entry in the chain, which counts from 1.
             */
            rows: number;
        };
        BudgetPair: {
            /** @description The quota of the UTC day. It is null if there is none. */
            daily: components["schemas"]["BudgetView"] | null;
            /** @description The quota of the UTC month. It is null if there is none. */
            monthly: components["schemas"]["BudgetView"] | null;
        };
        BudgetView: {
            /**
             * Format: int64
             * @description The number of requests that are allowed until the reset.
             */
            limit: number;
            /**
             * Format: int64
             * @description The number of requests left until the reset.
             */
            remaining: number;
            /**
             * Format: date-time
             * @description The time at which remaining is limit again.
             */
            resetsAt: string;
            /**
             * Format: int64
             * @description The number of requests that were charged since the last reset.
             */
            used: number;
        };
        CacheStatsAnswer: {
            /** @description The caches of the process that answered the request. */
            caches: components["schemas"]["CacheView"][];
            /**
             * @description Whether this process has its own database, or several processes can share one.
             * @enum {string}
             */
            database: "embedded" | "shared";
            /** @description The state of the embeddings endpoint, and what was sent to it. */
            embeddings: components["schemas"]["EmbeddingsView"];
            /** @description The way in which requests are counted for rate limits and quotas. */
            limiter: components["schemas"]["LimiterView"];
            /**
             * Format: int64
             * @description The number of processes of the instance that respond, with this one.
             */
            members: number;
            /** @description The indexes in OpenSearch, as this process knows them. It is absent without a cluster (search.opensearch.url). */
            openSearch?: components["schemas"]["OpenSearchView"];
            /** @description The parts of the process that answered the request. The readiness check lists the same parts. */
            parts: components["schemas"]["PartView"][];
            /** @description The ID of the request, as in X-Request-Id. */
            requestId: string;
            /** @description The search indexes that this process holds, of all workspaces together. */
            searchIndexes: components["schemas"]["SearchIndexesView"];
            /**
             * Format: int64
             * @description The number of seconds since the process started.
             */
            uptimeSeconds: number;
        };
        CacheView: {
            /**
             * Format: int64
             * @description The estimated memory use in bytes.
             */
            bytes: number;
            /**
             * Format: int64
             * @description The maximum number of entries. 0 means that the cache has no limit.
             */
            capacity: number;
            /**
             * Format: int64
             * @description The number of entries that are in the cache now.
             */
            entries: number;
            /**
             * Format: int64
             * @description The number of entries that were removed to make room, since the start of the process.
             */
            evictions: number;
            /**
             * Format: double
             * @description The hits as a fraction of all look-ups. It is 0 before the first one.
             */
            hitRatio: number;
            /**
             * Format: int64
             * @description The number of look-ups that found an entry, since the start of the process.
             */
            hits: number;
            /**
             * Format: int64
             * @description The number of look-ups that found none, since the start of the process.
             */
            misses: number;
            /** @description The name of the cache, such as apiKeys or recallIndexes. */
            name: string;
        };
        ChangeAPIKeyBody: {
            /** @description The networks that the key can be used from. null, like an empty list, means that the key can be used from anywhere. */
            allowedIps?: string[] | null;
            /** @description Whether the key is disabled. A disabled key is refused until it is enabled again. */
            disabled?: boolean;
            /**
             * Format: date-time
             * @description The time at which the key expires. null means that it does not expire.
             */
            expiresAt?: string | null;
            /** @description The metadata to merge, name by name. A null value removes the entry. null instead of an object removes all entries. */
            metadata?: {
                [key: string]: string | number | boolean | null;
            } | null;
            /** @description The display name of the key. */
            name?: string;
            /** @description The key's own quotas. null means that it has none, and null for one of them removes that one. */
            quota?: components["schemas"]["QuotaPart"] | null;
            /** @description The key's own limit per minute. null means that the tier's limit applies, also after it changes. */
            rateLimit?: components["schemas"]["RateLimitPart"] | null;
            /** @description The new scopes of the key. They replace all old ones, and the caller must have each of them. */
            scopes?: ("read" | "write" | "developer:manage" | "analytics:read" | "memory:read" | "memory:write" | "admin")[];
        };
        ChangeDocumentBody: {
            /** @description The collection that the document belongs to. null stands for the collection named default. */
            collection?: string | null;
            /** @description The language of the document, as a code that GET /api/v1/languages lists. null removes it. */
            language?: string | null;
            /** @description The metadata to merge, name by name. A null value removes the entry. null instead of an object removes all entries. */
            metadata?: {
                [key: string]: string | number | boolean | (string | number | boolean)[] | null;
            } | null;
            /** @description The new tags, which replace all old ones. null removes all of them. */
            tags?: string[] | null;
            /** @description The text of the document. null removes it. At least one of title and text must not be blank. */
            text?: string | null;
            /** @description The title of the document. null removes it. At least one of title and text must not be blank. */
            title?: string | null;
            /**
             * Format: uri
             * @description The http or https URL of the original. null removes it.
             */
            url?: string | null;
        };
        ChangeMemoryBody: {
            /**
             * Format: date-time
             * @description The time at which the memory is erased. null means that it is not erased by itself.
             */
            expiresAt?: string | null;
            /**
             * Format: double
             * @description The importance of the memory, which ranks memories that match a query equally well. null removes it.
             */
            importance?: number | null;
            /** @description The name for what the memory says about the subject, which only one of the subject's memories can have. null removes it. */
            key?: string | null;
            /**
             * @description The kind of the memory. null stands for fact.
             * @enum {string|null}
             */
            kind?: "fact" | "preference" | "event" | "instruction" | "summary" | "turn" | "note" | null;
            /** @description The metadata to merge, name by name. A null value removes the entry. null instead of an object removes all entries. */
            metadata?: {
                [key: string]: string | number | boolean | null;
            } | null;
            /**
             * Format: date-time
             * @description The time at which the event happened or the text was said. null removes it.
             */
            occurredAt?: string | null;
            /** @description Whether the memory is pinned. null stands for false. */
            pinned?: boolean | null;
            /** @description The source of the memory. null removes it. */
            source?: string | null;
            /** @description The speaker of the text. null removes it. */
            speaker?: string | null;
            /** @description The new tags, which replace all old ones. null removes all of them. */
            tags?: string[] | null;
            /** @description The new text of the memory, which is stored verbatim. */
            text?: string;
            /**
             * Format: date-time
             * @description The time from which the memory is valid. null removes it.
             */
            validFrom?: string | null;
            /**
             * Format: date-time
             * @description The time until which the memory is valid. null means that it stays valid.
             */
            validTo?: string | null;
        };
        ChangePasswordBody: {
            /** @description The password that the user has now. */
            currentPassword: string;
            /** @description The new password, which has 12 to 128 characters and is not one of the most common passwords. */
            newPassword: string;
        };
        ChangeProfileBody: {
            /** @description The display name. null removes it. */
            name?: string | null;
        };
        ChangeUserBody: {
            /** @description Whether the user is disabled. A disabled user is signed out and cannot sign in. */
            disabled?: boolean;
            /** @description The display name. null removes it. */
            name?: string | null;
            /** @description The new password: 12 to 128 characters, counted in NFC, and none of the most common passwords. */
            password?: string;
            /**
             * @description The new role of the user, which sets the scopes.
             * @enum {string}
             */
            role?: "viewer" | "member" | "developer" | "admin";
        };
        ChangeVersionBody: {
            /**
             * Format: uri
             * @description The URL of the migration guide. null means the page of this instance.
             */
            guideUrl?: string | null;
            /**
             * Format: date-time
             * @description The new time of the sunset, which must be later than the present one.
             */
            sunsetAt?: string;
        };
        ChangeWebhookBody: {
            /** @description A description for people. null removes it. */
            description?: string | null;
            /** @description Whether nothing is delivered. Events that happen meanwhile are not recorded for the webhook. */
            disabled?: boolean;
            /** @description The events to deliver. null means all. */
            events?: ("api_key.created" | "api_key.rotated" | "api_key.rotation_completed" | "api_key.disabled" | "api_key.expiring" | "api_key.expired" | "api_key.revoked" | "api_key.revoked_key_used" | "quota.threshold_reached" | "version.deprecated" | "version.sunset_extended" | "version.sunset" | "version.retired" | "memory.created" | "memory.updated" | "memory.imported" | "memory.forgotten" | "memory.expired" | "document.imported" | "document.deleted" | "webhook.disabled" | "subject.erased")[] | null;
            /** @description The http or https URL to which events are sent from now on. */
            url?: string;
        };
        ChangeWorkspaceBody: {
            /** @description Whether texts of memories, and of questions about them, are sent to the embeddings endpoint that is set for the instance. They then leave the machine. Without an endpoint it has no effect. */
            embeddings?: boolean;
            /** @description The display name of the workspace. */
            name?: string;
            /** @description The place for the search index: local, in each process, or opensearch, in the cluster that is set for the instance, which then stores the words, tags and metadata of the documents. The index is moved in the background, and the old one answers meanwhile. */
            searchEngine?: string;
            /** @description Whether the workspace is suspended, so that all requests with its credentials are refused. */
            suspended?: boolean;
            /** @description The name of the workspace's new tier, whose limits apply at once. */
            tier?: string;
        };
        CheckView: {
            /**
             * Format: date-time
             * @description The time at which the check ran.
             */
            checkedAt: string;
            /**
             * Format: date-time
             * @description The time of the sunset after the check.
             */
            newSunsetAt: string;
            /**
             * Format: date-time
             * @description The time of the sunset before the check.
             */
            sunsetAt: string;
            /** @description The settings at the time of the check. */
            thresholds: components["schemas"]["ThresholdsView"];
            /** @description The traffic that was counted. It is null unless the caller is an operator. */
            traffic: components["schemas"]["TrafficView"] | null;
            /**
             * @description The sunset was kept, extended by three months because significant traffic remained, or postponed because the check was missed.
             * @enum {string}
             */
            verdict: "kept" | "extended" | "postponed";
        };
        CollectionSettings: {
            /**
             * @description The fields that are searched, with their weights, which are greater than 0 and at most 100: title, text, and at most 8 entries of metadata by names such as metadata.author. A word in a field of twice the weight counts twice. Without fields, title is searched with a weight of 2.5 and text with 1.
             * @example {
             *       "metadata.author": 2,
             *       "text": 1,
             *       "title": 3
             *     }
             */
            fields?: {
                [key: string]: number | null;
            } | null;
            /**
             * @description The language of documents that have none of their own, as a code that GET /api/v1/languages lists. Without one, the words of each document decide.
             * @example de
             */
            language?: string | null;
            /**
             * @description A list of at most 1,000 rows. A row is an array of 2 to 10 words, each of which also finds the others; an object with from, a word, and to, an array of 1 to 10 words that it also finds; or "english" for the program's own list of related English words. A word has at most 128 characters, and can consist of several words, which are then a phrase. The string "english" in place of a list stands for that row alone, and null for none.
             * @example [
             *       [
             *         "sofa",
             *         "couch"
             *       ],
             *       {
             *         "from": "tv",
             *         "to": [
             *           "television"
             *         ]
             *       }
             *     ]
             */
            synonyms?: unknown;
        };
        CollectionView: {
            /**
             * @description The name of the collection.
             * @example handbook
             */
            collection: string;
            /**
             * Format: int64
             * @description The number of documents in the collection.
             */
            documents: number;
            /** @description The fields that are searched, with their weights. It is null if they were not set: then title is searched with a weight of 2.5 and text with 1. */
            fields: {
                [key: string]: number;
            } | null;
            /**
             * @description The language of documents that have none of their own. It is null if the words of each document decide.
             * @example de
             */
            language: string | null;
            /**
             * Format: int64
             * @description The revision of the settings, which also grows when they are removed. It is 0 if there never were any. ETag and If-Match have it in quotes.
             */
            revision: number;
            /** @description The rows of synonyms: arrays of words that find each other, objects with from and to, and "english" for the program's own list. It is empty if there are none. */
            synonyms: unknown[];
            /**
             * Format: date-time
             * @description The time of the last change of the settings. It is null if the collection has no settings.
             */
            updatedAt: string | null;
        };
        ContextOmitted: {
            /**
             * Format: int64
             * @description The number of pinned memories that had no room.
             */
            pinned: number;
            /**
             * Format: int64
             * @description The number of memories that answer the query and had no room.
             */
            recalled: number;
            /**
             * Format: int64
             * @description The number of other memories that had no room, among the newest ones up to limit.
             */
            recent: number;
        };
        ContextParts: {
            /** @description The IDs of the pinned memories. */
            pinned: string[];
            /** @description The IDs of the memories that answer the query. */
            recalled: string[];
            /** @description The IDs of the newest memories, which fill the rest of the text. */
            recent: string[];
        };
        CreateMemoriesAnswer: {
            /** @description The results of the items, in the order of the items. */
            results: components["schemas"]["MemoryResult"][];
        };
        CreateMemoriesBody: {
            /** @description Whether all items are stored or none. */
            atomic?: boolean | null;
            /** @description The memories to store, each in the format of createMemory. */
            items: (unknown | components["schemas"]["NewMemory"] | null)[];
        };
        CreateSetupLinkAnswer: {
            /**
             * Format: date-time
             * @description The time at which the link stops working.
             */
            expiresAt: string;
            /**
             * @description The address of the page on which the user chooses a password. It is null if a repeated request is answered again. It is shown once and is null in a replayed response.
             * @example https://keepsake.example.org/console/setup#kpsu_usr_01k
             */
            url: string | null;
        };
        CreateUserBody: {
            /**
             * @description The email address, which is stored trimmed and in lower case. It is unique within the instance.
             * @example ada@example.org
             */
            email: string;
            /** @description The display name of the user. */
            name?: string | null;
            /** @description The password of the new user: 12 to 128 characters, counted in NFC, and none of the most common passwords. If it is omitted, one is generated and shown once. */
            password?: string | null;
            /**
             * @description The role of the new user, which sets the scopes. The default is member.
             * @enum {string|null}
             */
            role?: "viewer" | "member" | "developer" | "admin" | null;
            /** @description The workspace of the new user. The default is the caller's workspace. */
            workspaceId?: string | null;
        };
        CreateWebhookBody: {
            /** @description A description for people, which has no effect. */
            description?: string | null;
            /**
             * @description The events to deliver. If it is omitted, all events are delivered, also those of later releases.
             * @example [
             *       "api_key.expiring"
             *     ]
             */
            events?: ("api_key.created" | "api_key.rotated" | "api_key.rotation_completed" | "api_key.disabled" | "api_key.expiring" | "api_key.expired" | "api_key.revoked" | "api_key.revoked_key_used" | "quota.threshold_reached" | "version.deprecated" | "version.sunset_extended" | "version.sunset" | "version.retired" | "memory.created" | "memory.updated" | "memory.imported" | "memory.forgotten" | "memory.expired" | "document.imported" | "document.deleted" | "webhook.disabled" | "subject.erased")[] | null;
            /**
             * @description The http or https URL to which events are sent.
             * @example https://example.org/hooks/keepsake
             */
            url: string;
        };
        CreateWorkspaceBody: {
            /**
             * @description The display name.
             * @example Ärztehaus Mitte
             */
            name: string;
            /**
             * @description The name of a tier. The default is free.
             * @example pro
             */
            tier?: string | null;
        };
        CreatedAPIKeyView: {
            /** @description The ID of the agent that the key is bound to. It is null if the key is not bound to one. */
            agentId: string | null;
            /** @description The networks that the key can be used from, in CIDR notation. An empty list means any address. */
            allowedIps: string[];
            /**
             * Format: date-time
             * @description The time of creation. Later changes do not move it.
             */
            createdAt: string;
            /** @description The ID of the user or key that created the key, or local. */
            createdBy: string;
            /**
             * Format: date-time
             * @description The time at which the key expires. It is null if the key does not expire.
             */
            expiresAt: string | null;
            /**
             * @description The first characters of the key, which help people to tell keys apart.
             * @example kpsk_7Hq2
             */
            hint: string;
            /**
             * @description The ID of the key, which begins with key_. A rotation keeps it.
             * @example key_01kakakakafkhvayayayayayay
             */
            id: string;
            /**
             * @description The text of the key. It is shown once and is null in a replayed response.
             * @example kpsk_7Hq2…
             */
            key: string | null;
            /**
             * Format: date-time
             * @description The time of the last request with any secret of the key. It is null if there was none.
             */
            lastUsedAt: string | null;
            /** @description The metadata that was stored with the key: strings, numbers or booleans by name. */
            metadata: {
                [key: string]: string | number | boolean;
            };
            /**
             * @description The display name of the key.
             * @example crawler
             */
            name: string;
            /** @description The key's own quotas. It is null if only the workspace's quotas apply. */
            quota: components["schemas"]["QuotaView"] | null;
            /** @description The limit of the key per minute, which applies in addition to the workspace's. */
            rateLimit: components["schemas"]["RateLimitView"];
            /**
             * Format: int64
             * @description The number of the revision, which grows with every change. ETag and If-Match have it in quotes.
             */
            revision: number;
            /** @description The reason that was given for the revocation. It is null if there was none. */
            revokeReason: string | null;
            /**
             * Format: date-time
             * @description The time at which the key was revoked. It is null if the key is not revoked.
             */
            revokedAt: string | null;
            /** @description The scopes of the key, which say what requests with it can do. */
            scopes: string[];
            /** @description The secrets of the key, newest first. A key that is being rotated has two. */
            secrets: components["schemas"]["SecretView"][];
            /**
             * @description The state of the key. While it is rotating, two secrets work. Only active and rotating keys are accepted.
             * @enum {string}
             */
            state: "active" | "rotating" | "expired" | "disabled" | "revoked";
            /** @description The ID of the subject that the key is bound to. It is null if the key is not bound to one. */
            subjectId: string | null;
            /**
             * Format: date-time
             * @description The time of the last change, or of creation if there was none.
             */
            updatedAt: string;
        };
        CreatedUserView: {
            /**
             * Format: date-time
             * @description The time of creation. Later changes do not move it.
             */
            createdAt: string;
            /** @description Whether the user is disabled. A disabled user cannot sign in. */
            disabled: boolean;
            /**
             * @description The email address with which the user signs in, in lower case. It is unique within the instance.
             * @example ada@example.org
             */
            email: string;
            /**
             * @description The ID of the user, which begins with usr_.
             * @example usr_01kakakakafkhvayayayayayay
             */
            id: string;
            /**
             * Format: date-time
             * @description The time of the last sign-in. It is null if there was none.
             */
            lastLoginAt: string | null;
            /** @description The display name of the user. It is null if there is none. */
            name: string | null;
            /** @description The generated password. It is absent if the request had a password. It is shown once and is null in a replayed response. */
            password?: string | null;
            /**
             * Format: int64
             * @description The number of the revision, which grows with every change. ETag and If-Match have it in quotes.
             */
            revision: number;
            /**
             * @description The role of the user, which sets the scopes.
             * @enum {string}
             */
            role: "viewer" | "member" | "developer" | "admin";
            /** @description The ID of the workspace that the user belongs to. */
            workspaceId: string;
        };
        CreatedWebhookView: {
            /**
             * Format: date-time
             * @description The time of creation. Later changes do not move it.
             */
            createdAt: string;
            /** @description The ID of the key or user that created the webhook, or local. */
            createdBy: string;
            /** @description The description for people. It is empty if there is none. */
            description: string;
            /** @description Whether the webhook is disabled, so that nothing is delivered. */
            disabled: boolean;
            /**
             * Format: date-time
             * @description The time at which the webhook was disabled. It is null if the webhook is not disabled.
             */
            disabledAt: string | null;
            /**
             * @description Why nothing is delivered: it was requested, nothing could be delivered for three days, the receiver answered 410, or too many deliveries waited. It is null if the webhook is not disabled.
             * @enum {string|null}
             */
            disabledReason: "requested" | "failing" | "gone" | "overloaded" | null;
            /** @description The types of the events that are delivered. */
            events: string[];
            /**
             * Format: date-time
             * @description The first failure after the last delivery that succeeded. It is null unless deliveries are failing.
             */
            failingSince: string | null;
            /**
             * @description The ID of the webhook, which begins with whk_.
             * @example whk_01kakakakafkhvayayayayayay
             */
            id: string;
            /**
             * Format: date-time
             * @description The time of the last delivery that succeeded, to the minute. It is null if there was none.
             */
            lastSuccessAt: string | null;
            /**
             * Format: int64
             * @description The number of the revision, which grows with every change. ETag and If-Match have it in quotes.
             */
            revision: number;
            /**
             * @description The secret that signs deliveries. It is shown once, and null in a repeated response. It is shown once and is null in a replayed response.
             * @example whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD
             */
            secret: string | null;
            /** @description The secrets that sign deliveries, newest first. */
            secrets: components["schemas"]["WebhookSecretView"][];
            /**
             * Format: date-time
             * @description The time of the last change, or of creation if there was none.
             */
            updatedAt: string;
            /** @description The URL to which events are sent. */
            url: string;
        };
        DeleteDocumentsAnswer: {
            /**
             * Format: int64
             * @description The number of documents that were deleted, which is 0 for a dry run.
             */
            deleted: number;
            /**
             * Format: int64
             * @description The number of documents that exist and are selected.
             */
            matched: number;
        };
        DeleteDocumentsBody: {
            /** @description Select documents of this collection. */
            collection?: string | null;
            /** @description Whether the documents are only counted, and none is deleted. The default is true. */
            dryRun?: boolean | null;
            /**
             * @description Select documents whose metadata matches all of these comparisons, each in the form name:op:value.
             * @example [
             *       "year:lt:2020"
             *     ]
             */
            filter?: string[] | null;
            /** @description The documents to delete. IDs cannot be combined with a selection. */
            ids?: string[] | null;
            /** @description Select documents with all of these tags. */
            tags?: string[] | null;
        };
        DeliveryView: {
            /** @description The newest twenty attempts, oldest first. */
            attempts: components["schemas"]["AttemptView"][];
            /**
             * Format: date-time
             * @description The time of creation. Later changes do not move it.
             */
            createdAt: string;
            /**
             * @description The type of the event.
             * @example api_key.expiring
             */
            event: string;
            /** @description The ID of the event, which is the same for all webhooks and in the header webhook-id. */
            eventId: string;
            /**
             * Format: date-time
             * @description The time at which the delivery succeeded or failed. It is null while it is pending.
             */
            finishedAt: string | null;
            /**
             * @description The ID of the delivery, which begins with dlv_.
             * @example dlv_01kakakakafkhvayayayayayay
             */
            id: string;
            /**
             * Format: date-time
             * @description The time of the next attempt. It is null unless the delivery is pending.
             */
            nextAttemptAt: string | null;
            /** @description The body of the requests, byte by byte. */
            payload: string;
            /**
             * @description The state of the delivery. It is pending until an attempt succeeds or the last one has failed.
             * @enum {string}
             */
            state: "pending" | "delivered" | "failed";
            /** @description The ID of the webhook that the event is delivered to. */
            webhookId: string;
        };
        DocumentFields: {
            /**
             * @description The collection that the document belongs to. The default is the collection named default.
             * @example handbook
             */
            collection?: string | null;
            /**
             * @description The language of the document, as a code that GET /api/v1/languages lists. Without one, it is that of the collection's settings, or else that of the document's own words.
             * @example en
             */
            language?: string | null;
            /** @description Named values: strings of at most 1,024 characters, numbers, booleans, or arrays of at most 64 of these. */
            metadata?: {
                [key: string]: string | number | boolean | (string | number | boolean)[] | null;
            } | null;
            /** @description Words to select documents by, in lists and searches. Repeated ones are stored once. */
            tags?: string[] | null;
            /**
             * @description The text that search finds and shows in snippets. At least one of title and text must not be blank.
             * @example We are open from nine to five.
             */
            text?: string | null;
            /**
             * @description The title. At least one of title and text must not be blank.
             * @example Opening hours
             */
            title?: string | null;
            /**
             * Format: uri
             * @description The http or https URL of the original.
             */
            url?: string | null;
        };
        DocumentView: {
            /** @description The collection that the document belongs to. */
            collection: string;
            /**
             * Format: date-time
             * @description The time of creation. Later changes do not move it.
             */
            createdAt: string;
            /**
             * @description The ID of the document, which is unique in its workspace.
             * @example opening-hours
             */
            id: string;
            /**
             * @description The language of the document, as it was stored. It is null if none was.
             * @example en
             */
            language: string | null;
            /** @description The metadata of the document: strings, numbers, booleans or arrays of these by name. */
            metadata: {
                [key: string]: string | number | boolean | (string | number | boolean)[];
            };
            /**
             * Format: int64
             * @description The number of the revision, which grows with every change. ETag and If-Match have it in quotes.
             */
            revision: number;
            /** @description The tags of the document, in the order in which they were sent. */
            tags: string[];
            /** @description The text of the document as it was stored. It is empty if the document has none. */
            text: string;
            /** @description The title of the document. It is empty if the document has none. */
            title: string;
            /**
             * Format: date-time
             * @description The time of the last change, or of creation if there was none.
             */
            updatedAt: string;
            /** @description The URL of the original. It is null if none was stored. */
            url: string | null;
        };
        EmbeddingProgressView: {
            /**
             * Format: int64
             * @description The number of memories in these workspaces.
             */
            memories: number;
            /**
             * Format: int64
             * @description Texts that all processes together sent, or reserved to send, in this UTC day.
             */
            textsToday: number;
            /**
             * Format: int64
             * @description Memories of subjects that lack vectors. All memories of a subject wait until the last one has a vector.
             */
            waitingMemories: number;
            /**
             * Format: int64
             * @description The number of subjects with memories that lack vectors.
             */
            waitingSubjects: number;
            /**
             * Format: int64
             * @description The number of workspaces that use the endpoint.
             */
            workspaces: number;
        };
        EmbeddingsView: {
            /**
             * Format: int64
             * @description The number of texts that can be sent in a UTC day.
             */
            dailyTexts: number;
            /**
             * Format: int64
             * @description Queries that this process answered without a vector since its start.
             */
            degradedQueries: number;
            /** @description The progress is absent without an endpoint, and while the database does not answer. */
            progress?: components["schemas"]["EmbeddingProgressView"];
            /**
             * Format: int64
             * @description Texts of memories that this process sent since its start.
             */
            sentMemories: number;
            /**
             * Format: int64
             * @description Queries that this process sent since its start.
             */
            sentQueries: number;
            /**
             * @description The state is off without an endpoint, paused for a while after failures, and limited when the limit of the day, or a workspace's share of it, is reached.
             * @enum {string}
             */
            state: "off" | "ready" | "paused" | "limited";
        };
        ErrorBody: {
            /** @description What exactly is wrong. Each member is there only if it says something. */
            details?: components["schemas"]["ErrorDetails"];
            /** @description The machine-readable code of the error. */
            error: string;
            /** @description The message for people. Its wording can change. */
            message: string;
            /** @description The ID of the request, as in X-Request-Id. */
            requestId: string;
        };
        ErrorCountView: {
            /**
             * Format: int64
             * @description The number of such responses.
             */
            count: number;
            /** @description The route, status and code that the errors share. */
            group: components["schemas"]["ErrorGroupView"];
            /**
             * Format: date-time
             * @description The time of the last such response.
             */
            lastAt: string;
        };
        ErrorDetails: {
            /** @description The parameter or field with the problem, such as rateLimit.requestsPerMinute or items[3].text. */
            field?: string;
            /**
             * @description The kind of problem with the field.
             * @enum {string}
             */
            issue?: "required" | "unknown" | "duplicate" | "type" | "format" | "too_short" | "too_long" | "too_small" | "too_large" | "not_allowed" | "unsupported" | "reused" | "conflict" | "expired" | "invalid";
            /** @description The limit of the tier that is reached, such as documents or storage. */
            limit?: string;
            /** @description The limit or quota that is used up, such as tier_minute or daily_quota. */
            policy?: string;
            /** @description The scope that the credential lacks. */
            requiredScope?: string;
        };
        ErrorGroupView: {
            /**
             * @description The machine-readable code of the error.
             * @example validation_error
             */
            code: string;
            /** @description The template of the path, or none for paths that do not exist. */
            route: string;
            /**
             * Format: int64
             * @description The HTTP status of the response.
             */
            status: number;
        };
        FacetCount: {
            /**
             * Format: int64
             * @description The number of matching documents with this value.
             */
            count: number;
            /** @description A collection, a tag, or a value of a metadata entry as a text. */
            value: string;
        };
        ForgetFilter: {
            /** @description Include only memories of this agent. */
            agentId?: string | null;
            /**
             * Format: date-time
             * @description Include only memories at or after this time.
             */
            from?: string | null;
            /** @description The kinds to include. A memory must have one of them. */
            kinds?: ("fact" | "preference" | "event" | "instruction" | "summary" | "turn" | "note")[] | null;
            /** @description Include only memories of this conversation. */
            sessionId?: string | null;
            /** @description The tags to match. A memory must have all of them. */
            tags?: string[] | null;
            /**
             * Format: date-time
             * @description Include only memories before this time.
             */
            to?: string | null;
        };
        ForgetMemoriesAnswer: {
            /**
             * Format: date-time
             * @description The time at which the plan becomes invalid, an hour after the dry run. Only a dry run returns it.
             */
            expiresAt?: string;
            /**
             * Format: int64
             * @description The number of memories that were erased. It is absent after a dry run.
             */
            forgotten?: number;
            /** @description The IDs of the memories that the plan erases. Only a dry run returns them. */
            memoryIds?: string[];
            /** @description The ID of the plan, for a request with dryRun false. Only a dry run returns it. */
            planId?: string;
        };
        ForgetMemoriesBody: {
            /** @description Whether the memories are only listed in a plan, and none is erased. The default is true. */
            dryRun?: boolean | null;
            /** @description The filter that selects memories. A memory must match all of its conditions. */
            filter?: components["schemas"]["ForgetFilter"] | null;
            /** @description The IDs of the memories to forget. IDs that do not exist are ignored. */
            ids?: string[] | null;
            /** @description The ID of the plan from a dry run. It is accepted only if dryRun is false. */
            planId?: string | null;
            /** @description The words that select memories. A memory must contain all of them. */
            query?: string | null;
            /** @description The ID of the subject. It is required unless the API key is bound to a subject. */
            subjectId?: string | null;
        };
        GetMemoryHistoryAnswer: {
            /** @description The items of this page, at most limit. The list is empty if there are none. */
            items: components["schemas"]["MemoryRevisionView"][];
            /** @description The value of the parameter cursor for the next page. It is null on the last page. */
            nextCursor: string | null;
        };
        GetQuotaUsageAnswer: {
            /** @description The quota of the workspace for the current UTC day. */
            daily: components["schemas"]["QuotaUseView"];
            /** @description The API keys that were charged this month, those that were charged most first. */
            keys: components["schemas"]["KeyUseView"][];
            /** @description The quota of the workspace for the current UTC month. */
            monthly: components["schemas"]["QuotaUseView"];
        };
        GetSigningKeysAnswer: {
            /** @description The keys that sign tokens, newest first, followed by the key that signs receipts. */
            keys: components["schemas"]["JwkView"][];
        };
        GetToolsMetadataAnswer: {
            /** @description The ways to send a credential as a bearer token. The only one is the header Authorization. */
            bearer_methods_supported: string[];
            /** @description The absolute address of the endpoint for tools. */
            resource: string;
            /** @description The name of the service. */
            resource_name: string;
            /** @description The scopes that let a credential call tools. */
            scopes_supported: string[];
        };
        GetTopUsageAnswer: {
            /** @description The groups, with those with the most requests first, at most limit. */
            items: components["schemas"]["RankedView"][];
        };
        GetUsageSeriesAnswer: {
            /** @description Whether no more requests can be added to the period. It is false as long as its last interval has not ended. */
            complete: boolean;
            /**
             * Format: date-time
             * @description The start of the period.
             */
            from: string;
            /**
             * @description The length of an interval.
             * @enum {string}
             */
            interval: "minute" | "hour" | "day";
            /** @description The series, with those with the most requests first. */
            series: components["schemas"]["SeriesView"][];
            /**
             * Format: date-time
             * @description The end of the period.
             */
            to: string;
        };
        GetUsageSummaryAnswer: {
            /**
             * Format: int64
             * @description The number of API keys with at least one request.
             */
            activeKeys: number;
            /**
             * Format: int64
             * @description The number of bytes in the bodies of the requests.
             */
            bytesIn: number;
            /**
             * Format: int64
             * @description The number of bytes in the bodies of the responses.
             */
            bytesOut: number;
            /**
             * Format: int64
             * @description The number of responses with a status of 400 or more, except 429.
             */
            errors: number;
            /**
             * Format: date-time
             * @description The start of the period.
             */
            from: string;
            /**
             * Format: double
             * @description The milliseconds that half of the requests did not exceed. They are null if there were no requests.
             */
            p50Ms: number | null;
            /**
             * Format: double
             * @description The milliseconds that nine tenths of the requests did not exceed. They are null if there were no requests.
             */
            p90Ms: number | null;
            /**
             * Format: double
             * @description The milliseconds that 99 of 100 requests did not exceed. They are null if there were no requests.
             */
            p99Ms: number | null;
            /**
             * Format: int64
             * @description The number of requests, including refused ones.
             */
            requests: number;
            /**
             * Format: int64
             * @description The number of responses with status 429.
             */
            throttled: number;
            /**
             * Format: date-time
             * @description The end of the period.
             */
            to: string;
        };
        GetVersionUsageAnswer: {
            /** @description The versions with at least one request. */
            items: components["schemas"]["VersionUseView"][];
        };
        GrantView: {
            /** @description The access token, which is a JWT. */
            accessToken: string;
            /**
             * Format: int64
             * @description The number of seconds until the access token expires.
             * @example 900
             */
            expiresIn: number;
            /**
             * Format: int64
             * @description The number of seconds until the refresh token expires.
             * @example 2592000
             */
            refreshExpiresIn: number;
            /** @description The refresh token, which gets the next pair of tokens once. */
            refreshToken: string;
            /**
             * @description The type of the access token in the header Authorization.
             * @enum {string}
             */
            tokenType: "Bearer";
            /** @description The profile of the user who signed in. */
            user: components["schemas"]["ProfileView"];
        };
        GroupView: {
            /** @description The ID of the API key, none for requests without one, or `__other__` for requests that were counted together. */
            key?: string;
            /** @description The HTTP method of the requests. */
            method?: string;
            /** @description The template of the path, none for paths that do not exist, or `__other__` for requests that were counted together. */
            route?: string;
            /**
             * Format: int64
             * @description The HTTP status of the responses.
             */
            status?: number;
            /**
             * @description The first digit of the status, followed by xx.
             * @example 4xx
             */
            statusClass?: string;
            /**
             * @description The surface that got the requests: the API, the AI services, the backend service, or the API for the console.
             * @enum {string}
             */
            surface?: "primary" | "ai" | "backend" | "console";
            /** @description The number of the version of the API, or none for requests without one. */
            version?: string;
        };
        HealthView: {
            /**
             * @description The state of the service. It is degraded if a part is missing but requests are still handled.
             * @enum {string}
             */
            status: "healthy" | "degraded";
            /**
             * Format: date-time
             * @description The time at which the request arrived.
             */
            timestamp: string;
            /**
             * @description The version of the API that handled the request.
             * @example 1
             */
            version: string;
        };
        ImportDocumentsAnswer: {
            /**
             * Format: int64
             * @description The number of lines whose document is new.
             */
            created: number;
            /**
             * Format: int64
             * @description The number of documents that were deleted, because replace is true and the body does not contain them.
             */
            deleted: number;
            /** @description The first 100 lines that were refused, in the order of the lines. */
            errors: components["schemas"]["LineError"][];
            /**
             * Format: int64
             * @description The number of lines that were refused.
             */
            failed: number;
            /** @description How many lines failed for which reason, and what was left out of lines that were imported, the most frequent first. Lines that are equal to one before them, and have no ID, are counted as duplicate. */
            issues: components["schemas"]["LineIssue"][];
            /**
             * Format: int64
             * @description The number of lines or rows that were read, without blank ones.
             */
            received: number;
            /**
             * Format: int64
             * @description The number of lines whose document replaced one with the same ID.
             */
            replaced: number;
        };
        ImportMemoriesAnswer: {
            /**
             * Format: int64
             * @description The number of lines whose memory is new.
             */
            created: number;
            /** @description The first 100 lines that were refused, in the order of the lines. */
            errors: components["schemas"]["LineError"][];
            /**
             * Format: int64
             * @description The number of lines that were refused.
             */
            failed: number;
            /** @description How many lines failed for which reason, the most frequent first. */
            issues: components["schemas"]["LineIssue"][];
            /**
             * Format: int64
             * @description The number of lines that were read, without blank ones.
             */
            received: number;
            /**
             * Format: int64
             * @description The number of lines whose memory replaced one with the same ID.
             */
            replaced: number;
            /**
             * Format: int64
             * @description The number of memories that existed already and are equal to their line.
             */
            unchanged: number;
        };
        ItemError: {
            /** @description What exactly is wrong with the item. Each member is there only if it says something. */
            details?: components["schemas"]["ItemErrorDetails"];
            /** @description The machine-readable code of the error. */
            error: string;
            /** @description The message for people. Its wording can change. */
            message: string;
        };
        ItemErrorDetails: {
            /** @description The field with the problem, such as items[3].text. */
            field?: string;
            /** @description The kind of problem with the field, such as required, format or too_long. */
            issue?: string;
            /** @description The limit of the tier that is reached. */
            limit?: string;
        };
        JwkView: {
            /**
             * @description The algorithm of the signatures, which is always EdDSA.
             * @enum {string}
             */
            alg: "EdDSA";
            /**
             * @description The curve of the key, which is always Ed25519.
             * @enum {string}
             */
            crv: "Ed25519";
            /** @description The ID of the key, which the header of a token or a receipt names. */
            kid: string;
            /**
             * @description The family of the key, which is always OKP (RFC 8037).
             * @enum {string}
             */
            kty: "OKP";
            /**
             * @description The use of the key, which is always to verify signatures.
             * @enum {string}
             */
            use: "sig";
            /** @description The public key in base64url. */
            x: string;
        };
        KeyUseView: {
            /**
             * Format: int64
             * @description What the key was charged in the current UTC day.
             */
            daily: number;
            /** @description The ID of the API key. */
            keyId: string;
            /**
             * Format: int64
             * @description What the key was charged in the current UTC month.
             */
            monthly: number;
        };
        LanguageView: {
            /**
             * @description The code of the language in ISO 639-1. The code und stands for any language that is not in the list.
             * @example de
             */
            language: string;
            /**
             * @description The English name of the language.
             * @example German
             */
            name: string;
            /** @description Whether a word finds its other forms. In languages without a stemmer, words match as they are spelled. */
            stemmer: boolean;
        };
        LimiterView: {
            /** @description Whether counters cannot be stored or shared right now. */
            degraded: boolean;
            /**
             * @description How requests are counted. With local, one process counts all of them. With split, each process has its share of every limit. With shared, all processes count together.
             * @enum {string}
             */
            mode: "local" | "split" | "shared";
        };
        LimitsView: {
            /**
             * Format: date-time
             * @description The time at which the counters were read.
             */
            at: string;
            /** @description The ID of the API key. */
            keyId: string;
            /** @description The key's own quotas. It is null if only the workspace's quotas apply. */
            quota: components["schemas"]["BudgetPair"] | null;
            /** @description The limit of the key per minute, and what is left of it. */
            rateLimit: components["schemas"]["OwnRateView"];
            /**
             * @description The state of the key. Only active and rotating keys are accepted.
             * @enum {string}
             */
            state: "active" | "rotating" | "expired" | "disabled" | "revoked";
            /** @description The limits that all keys and users of the workspace share. */
            workspace: components["schemas"]["WorkspaceLimit"];
        };
        LineError: {
            /** @description The field with the problem, body for the whole line, or the limit of the tier that is reached. */
            field: string;
            /** @description The kind of problem with the field, such as required, format or too_long. */
            issue: string;
            /**
             * Format: int64
             * @description The number of the line, starting at 1.
             */
            line: number;
            /** @description The message for people. Its wording can change. */
            message: string;
        };
        LineIssue: {
            /**
             * Format: int64
             * @description The number of lines that failed for this reason, or of values that were left out for it.
             */
            count: number;
            /** @description The field with the problem, body for the whole line, or the limit of the tier that is reached. */
            field: string;
            /** @description The kind of problem with the field, such as required, format or too_long. */
            issue: string;
        };
        ListAPIKeysAnswer: {
            /** @description The items of this page, at most limit. The list is empty if there are none. */
            items: components["schemas"]["ApiKeyView"][];
            /** @description The value of the parameter cursor for the next page. It is null on the last page. */
            nextCursor: string | null;
        };
        ListAuditLogAnswer: {
            /** @description The items of this page, at most limit. The list is empty if there are none. */
            items: components["schemas"]["AuditEntryView"][];
            /** @description The value of the parameter cursor for the next page. It is null on the last page. */
            nextCursor: string | null;
        };
        ListCollectionsAnswer: {
            /** @description The items of this page, at most limit. The list is empty if there are none. */
            items: components["schemas"]["CollectionView"][];
            /** @description The value of the parameter cursor for the next page. It is null on the last page. */
            nextCursor: string | null;
        };
        ListDocumentsAnswer: {
            /** @description The items of this page, at most limit. The list is empty if there are none. */
            items: components["schemas"]["DocumentView"][];
            /** @description The value of the parameter cursor for the next page. It is null on the last page. */
            nextCursor: string | null;
        };
        ListErrorsAnswer: {
            /** @description The kinds of errors, with the most frequent first, at most limit. */
            items: components["schemas"]["ErrorCountView"][];
        };
        ListLanguagesAnswer: {
            /** @description The items of this page, at most limit. The list is empty if there are none. */
            items: components["schemas"]["LanguageView"][];
            /** @description The value of the parameter cursor for the next page. It is null on the last page. */
            nextCursor: string | null;
        };
        ListMemoriesAnswer: {
            /** @description The items of this page, at most limit. The list is empty if there are none. */
            items: components["schemas"]["MemoryView"][];
            /** @description The value of the parameter cursor for the next page. It is null on the last page. */
            nextCursor: string | null;
        };
        ListRequestsAnswer: {
            /** @description The items of this page, at most limit. The list is empty if there are none. */
            items: components["schemas"]["RequestView"][];
            /** @description The value of the parameter cursor for the next page. It is null on the last page. */
            nextCursor: string | null;
            /** @description Whether requests of the period were left out of the log, because there were too many in a second. */
            sampled: boolean;
        };
        ListSubjectAccessesAnswer: {
            /** @description The items of this page, at most limit. The list is empty if there are none. */
            items: components["schemas"]["AccessView"][];
            /** @description The value of the parameter cursor for the next page. It is null on the last page. */
            nextCursor: string | null;
        };
        ListSubjectsAnswer: {
            /** @description The items of this page, at most limit. The list is empty if there are none. */
            items: components["schemas"]["SubjectView"][];
            /** @description The value of the parameter cursor for the next page. It is null on the last page. */
            nextCursor: string | null;
        };
        ListTiersAnswer: {
            /** @description The items of this page, at most limit. The list is empty if there are none. */
            items: components["schemas"]["TierView"][];
            /** @description The value of the parameter cursor for the next page. It is null on the last page. */
            nextCursor: string | null;
        };
        ListUsersAnswer: {
            /** @description The items of this page, at most limit. The list is empty if there are none. */
            items: components["schemas"]["UserView"][];
            /** @description The value of the parameter cursor for the next page. It is null on the last page. */
            nextCursor: string | null;
        };
        ListVersionCallersAnswer: {
            /** @description The items of this page, at most limit. The list is empty if there are none. */
            items: components["schemas"]["VersionCallerView"][];
            /** @description The value of the parameter cursor for the next page. It is null on the last page. */
            nextCursor: string | null;
        };
        ListVersionRecordsAnswer: {
            /** @description The items of this page, at most limit. The list is empty if there are none. */
            items: components["schemas"]["VersionRecord"][];
            /** @description The value of the parameter cursor for the next page. It is null on the last page. */
            nextCursor: string | null;
        };
        ListVersionsAnswer: {
            /** @description The versions of the API, oldest first. */
            items: components["schemas"]["VersionView"][];
        };
        ListWebhookDeliveriesAnswer: {
            /** @description The items of this page, at most limit. The list is empty if there are none. */
            items: components["schemas"]["DeliveryView"][];
            /** @description The value of the parameter cursor for the next page. It is null on the last page. */
            nextCursor: string | null;
        };
        ListWebhooksAnswer: {
            /** @description The items of this page, at most limit. The list is empty if there are none. */
            items: components["schemas"]["WebhookView"][];
            /** @description The value of the parameter cursor for the next page. It is null on the last page. */
            nextCursor: string | null;
        };
        ListWorkspacesAnswer: {
            /** @description The items of this page, at most limit. The list is empty if there are none. */
            items: components["schemas"]["WorkspaceRecord"][];
            /** @description The value of the parameter cursor for the next page. It is null on the last page. */
            nextCursor: string | null;
        };
        LivezAnswer: {
            /** @description The value is always alive. */
            status: string;
        };
        LoginBody: {
            /**
             * @description The email address of the user. Case and spaces around it do not matter.
             * @example ada@example.org
             */
            email: string;
            /** @description The password of the user. */
            password: string;
        };
        MemoryResult: {
            /** @description Whether an equal memory existed, which is returned here. */
            deduplicated?: boolean;
            /** @description The reason why the item was refused. It is absent if the item was stored. */
            error?: components["schemas"]["ItemError"];
            /**
             * Format: int64
             * @description The position of the item in the request, starting at 0.
             */
            index: number;
            /** @description The memory that the item created, replaced or repeats. It is absent if the item was refused. */
            memory?: components["schemas"]["MemoryView"];
            /**
             * Format: int64
             * @description The status that a request with this item alone would have: 201, 200 or that of its error.
             */
            status: number;
        };
        MemoryRevisionView: {
            /** @description The ID of the agent that the memory belongs to. It is null if there is none. */
            agentId: string | null;
            /**
             * Format: date-time
             * @description The time of creation. Later changes do not move it.
             */
            createdAt: string;
            /** @description The ID of the key or user that stored the memory first, or local. */
            createdBy: string;
            /**
             * Format: date-time
             * @description The time at which the memory is erased. It is null if the memory is not erased by itself.
             */
            expiresAt: string | null;
            /**
             * @description The ID of the memory, which begins with mem_.
             * @example mem_01kakakakafkhvayayayayayay
             */
            id: string;
            /**
             * Format: double
             * @description The importance of the memory, from 0 to 1. It is null if none was stored.
             */
            importance: number | null;
            /** @description The ID of the key or user whose import the memory comes from. createdAt, createdBy and the history are then what the import said. It is null if the memory was not imported. */
            importedBy: string | null;
            /** @description The name for what the memory says about the subject, by which a later memory replaces it. It is null if there is none. */
            key: string | null;
            /**
             * @description The kind of the memory, which is fact unless another one was stored.
             * @enum {string}
             */
            kind: "fact" | "preference" | "event" | "instruction" | "summary" | "turn" | "note";
            /** @description The metadata of the memory: strings, numbers or booleans by name. */
            metadata: {
                [key: string]: string | number | boolean;
            };
            /**
             * Format: date-time
             * @description The time at which the event happened or the text was said. It is null if none was stored.
             */
            occurredAt: string | null;
            /** @description Whether the memory is ranked first among memories that match a query equally well, and comes first in contexts. */
            pinned: boolean;
            /**
             * Format: int64
             * @description The number of the revision, which grows with every change. ETag and If-Match have it in quotes.
             */
            revision: number;
            /** @description The ID of the conversation that the memory comes from. It is null if there is none. */
            sessionId: string | null;
            /** @description The source of the memory. It is null if none was stored. */
            source: string | null;
            /** @description The speaker of the text. It is null if none was stored. */
            speaker: string | null;
            /**
             * @description The status of the memory. It is superseded after validTo.
             * @enum {string}
             */
            status: "active" | "superseded";
            /** @description The ID of the subject that the memory is about. */
            subjectId: string;
            /** @description The tags of the memory, in the order in which they were sent. */
            tags: string[];
            /** @description The text of the memory, as it was stored. */
            text: string;
            /**
             * Format: date-time
             * @description The time of the last change, or of creation if there was none.
             */
            updatedAt: string;
            /** @description The ID of the key or user that created this revision, or local. */
            updatedBy: string;
            /**
             * Format: date-time
             * @description The time from which the memory is valid. It is null if none was stored.
             */
            validFrom: string | null;
            /**
             * Format: date-time
             * @description The time until which the memory is valid. It is null if the memory stays valid.
             */
            validTo: string | null;
        };
        MemoryView: {
            /** @description The ID of the agent that the memory belongs to. It is null if there is none. */
            agentId: string | null;
            /**
             * Format: date-time
             * @description The time of creation. Later changes do not move it.
             */
            createdAt: string;
            /** @description The ID of the key or user that stored the memory first, or local. */
            createdBy: string;
            /**
             * Format: date-time
             * @description The time at which the memory is erased. It is null if the memory is not erased by itself.
             */
            expiresAt: string | null;
            /**
             * @description The ID of the memory, which begins with mem_.
             * @example mem_01kakakakafkhvayayayayayay
             */
            id: string;
            /**
             * Format: double
             * @description The importance of the memory, from 0 to 1. It is null if none was stored.
             */
            importance: number | null;
            /** @description The ID of the key or user whose import the memory comes from. createdAt, createdBy and the history are then what the import said. It is null if the memory was not imported. */
            importedBy: string | null;
            /** @description The name for what the memory says about the subject, by which a later memory replaces it. It is null if there is none. */
            key: string | null;
            /**
             * @description The kind of the memory, which is fact unless another one was stored.
             * @enum {string}
             */
            kind: "fact" | "preference" | "event" | "instruction" | "summary" | "turn" | "note";
            /** @description The metadata of the memory: strings, numbers or booleans by name. */
            metadata: {
                [key: string]: string | number | boolean;
            };
            /**
             * Format: date-time
             * @description The time at which the event happened or the text was said. It is null if none was stored.
             */
            occurredAt: string | null;
            /** @description Whether the memory is ranked first among memories that match a query equally well, and comes first in contexts. */
            pinned: boolean;
            /**
             * Format: int64
             * @description The number of the revision, which grows with every change. ETag and If-Match have it in quotes.
             */
            revision: number;
            /** @description The ID of the conversation that the memory comes from. It is null if there is none. */
            sessionId: string | null;
            /** @description The source of the memory. It is null if none was stored. */
            source: string | null;
            /** @description The speaker of the text. It is null if none was stored. */
            speaker: string | null;
            /**
             * @description The status of the memory. It is superseded after validTo.
             * @enum {string}
             */
            status: "active" | "superseded";
            /** @description The ID of the subject that the memory is about. */
            subjectId: string;
            /** @description The tags of the memory, in the order in which they were sent. */
            tags: string[];
            /** @description The text of the memory, as it was stored. */
            text: string;
            /**
             * Format: date-time
             * @description The time of the last change, or of creation if there was none.
             */
            updatedAt: string;
            /**
             * Format: date-time
             * @description The time from which the memory is valid. It is null if none was stored.
             */
            validFrom: string | null;
            /**
             * Format: date-time
             * @description The time until which the memory is valid. It is null if the memory stays valid.
             */
            validTo: string | null;
        };
        NewAPIKey: {
            /** @description The agent that the key is bound to. This cannot be changed later. */
            agentId?: string | null;
            /**
             * @description The networks that the key can be used from. If the list is empty, the key can be used from anywhere.
             * @example [
             *       "203.0.113.0/24"
             *     ]
             */
            allowedIps?: string[] | null;
            /**
             * Format: date-time
             * @description The time at which the key expires, which must be in the future. If it is omitted, the key does not expire.
             */
            expiresAt?: string | null;
            /** @description Named values: strings of at most 1,024 characters, numbers or booleans. */
            metadata?: {
                [key: string]: string | number | boolean | null;
            } | null;
            /**
             * @description The display name.
             * @example crawler
             */
            name: string;
            /** @description The key's own quotas, which apply in addition to the workspace's. */
            quota?: components["schemas"]["QuotaPart"] | null;
            /** @description The key's own limit per minute, which cannot exceed the tier's. If it is omitted, the tier's limit applies, also after it changes. */
            rateLimit?: components["schemas"]["RateLimitPart"] | null;
            /** @description The scopes of the key. The caller must have each of them. */
            scopes: ("read" | "write" | "developer:manage" | "analytics:read" | "memory:read" | "memory:write" | "admin")[];
            /** @description The subject that the key is bound to. This cannot be changed later. */
            subjectId?: string | null;
            /** @description The workspace of the new key. The default is the caller's workspace. Only operators can send it. */
            workspaceId?: string | null;
        };
        NewDocument: {
            /**
             * @description The collection that the document belongs to. The default is the collection named default.
             * @example handbook
             */
            collection?: string | null;
            /**
             * @description The ID of the document. If it is omitted, one is generated. An integer is taken as its digits.
             * @example opening-hours
             */
            id?: string | null;
            /**
             * @description The language of the document, as a code that GET /api/v1/languages lists. Without one, it is that of the collection's settings, or else that of the document's own words.
             * @example en
             */
            language?: string | null;
            /** @description Named values: strings of at most 1,024 characters, numbers, booleans, or arrays of at most 64 of these. */
            metadata?: {
                [key: string]: string | number | boolean | (string | number | boolean)[] | null;
            } | null;
            /** @description Words to select documents by, in lists and searches. Repeated ones are stored once. */
            tags?: string[] | null;
            /**
             * @description The text that search finds and shows in snippets. At least one of title and text must not be blank.
             * @example We are open from nine to five.
             */
            text?: string | null;
            /**
             * @description The title. At least one of title and text must not be blank.
             * @example Opening hours
             */
            title?: string | null;
            /**
             * Format: uri
             * @description The http or https URL of the original.
             */
            url?: string | null;
        };
        NewMemory: {
            /** @description The agent that the memory belongs to. */
            agentId?: string | null;
            /** @description Store the memory even if an equal one exists. */
            allowDuplicate?: boolean | null;
            /** @description Return an equal memory that exists instead of storing another one, also for turns and events. */
            deduplicate?: boolean | null;
            /**
             * Format: date-time
             * @description The time at which the memory is erased.
             */
            expiresAt?: string | null;
            /**
             * Format: double
             * @description The importance of the memory, which ranks memories that match a query equally well.
             */
            importance?: number | null;
            /**
             * @description A name for what the memory says about the subject. A later memory with the same key replaces this one.
             * @example drink/morning
             */
            key?: string | null;
            /**
             * @description The kind of the memory. The default is fact.
             * @enum {string|null}
             */
            kind?: "fact" | "preference" | "event" | "instruction" | "summary" | "turn" | "note" | null;
            /** @description Named values: strings of at most 1,024 characters, numbers or booleans. */
            metadata?: {
                [key: string]: string | number | boolean | null;
            } | null;
            /**
             * Format: date-time
             * @description The time at which the event happened or the text was said.
             */
            occurredAt?: string | null;
            /** @description Whether the memory is ranked first among memories that match a query equally well. */
            pinned?: boolean | null;
            /** @description The conversation that the memory comes from. */
            sessionId?: string | null;
            /** @description The source of the memory, such as a URL or the name of a form. */
            source?: string | null;
            /**
             * @description The name of the speaker, such as Ada or assistant. If a query names the speaker, what that speaker said scores more.
             * @example Ada
             */
            speaker?: string | null;
            /** @description The subject that the memory is about. Use a pseudonym, because the ID appears in URLs. It is required unless the API key is bound to a subject. */
            subjectId?: string | null;
            /** @description Words to select memories by, in lists and recalls. Repeated ones are stored once. */
            tags?: string[] | null;
            /**
             * @description The text of the memory, which is stored verbatim.
             * @example Prefers tea to coffee.
             */
            text: string;
            /**
             * Format: date-time
             * @description The time from which the memory is valid.
             */
            validFrom?: string | null;
            /**
             * Format: date-time
             * @description The time until which the memory is valid. After it, the memory is superseded.
             */
            validTo?: string | null;
        };
        OpenSearchView: {
            /**
             * Format: date-time
             * @description The time since when the cluster has been in this state; null while it is starting.
             */
            since: string | null;
            /**
             * @description The state of the cluster: starting until this process has tried to reach it, ok, or what is the matter, such as unreachable, denied or unsupported.
             * @example ok
             */
            state: string;
            /**
             * @description The version of OpenSearch; null until it was read.
             * @example 2.19.6
             */
            version: string | null;
            /**
             * Format: int64
             * @description The number of workspaces whose index is in OpenSearch or is moved there.
             */
            workspaceCount: number;
            /** @description At most 20 of these workspaces, those in the worst state first. */
            workspaces: components["schemas"]["OpenSearchWorkspaceView"][];
        };
        OpenSearchWorkspaceView: {
            /**
             * Format: int64
             * @description The number of changes that the index lacks; null: the cluster or the database did not answer.
             */
            changesBehind: number | null;
            /** @description Whether there is an index that searches can read; null: the cluster or the database did not answer. */
            complete: boolean | null;
            /** @description The ID of the workspace. */
            id: string;
            /**
             * Format: int64
             * @description How much of the new index is built, in percent; null: this process does not know.
             */
            movePercent: number | null;
            /**
             * @description The place to which the index is being moved; null: it is not.
             * @enum {string|null}
             */
            movesTo: "local" | "opensearch" | null;
            /** @description The name of the workspace. */
            name: string;
            /**
             * @description The place of the index that answers searches now.
             * @enum {string}
             */
            searchedIn: "local" | "opensearch";
            /**
             * Format: date-time
             * @description The time since when the index has been in this state; null if another process follows the workspace.
             */
            since: string | null;
            /**
             * @description The state of the index: ok, elsewhere if another process follows the workspace, or what is the matter, such as unreachable, full or throttled.
             * @example ok
             */
            state: string;
        };
        OwnRateView: {
            /** @description Whether the limit is the tier's and changes with it. */
            inherited: boolean;
            /**
             * Format: int64
             * @description The number of requests that are allowed until the reset.
             */
            limit: number;
            /**
             * Format: int64
             * @description The number of requests left until the reset.
             */
            remaining: number;
            /**
             * Format: date-time
             * @description The time at which remaining is limit again.
             */
            resetsAt: string;
            /**
             * Format: int64
             * @description The number of requests that were charged since the last reset.
             */
            used: number;
        };
        PartView: {
            /**
             * Format: int64
             * @description The free space of the disk with the data folder. It is null for other parts.
             */
            freeBytes: number | null;
            /**
             * @description The name of the part, such as storage or disk.
             * @example disk
             */
            name: string;
            /**
             * @description Requests are served without a part that is degraded. A part that failed makes the process not ready. The instance does not have a part that is off.
             * @enum {string}
             */
            status: "ok" | "degraded" | "failed" | "off";
        };
        PointView: {
            /**
             * Format: int64
             * @description The number of bytes in the bodies of the requests.
             */
            bytesIn: number;
            /**
             * Format: int64
             * @description The number of bytes in the bodies of the responses.
             */
            bytesOut: number;
            /** @description Whether no more requests can be added to the interval. */
            complete: boolean;
            /**
             * Format: int64
             * @description The number of responses with a status of 400 or more, except 429.
             */
            errors: number;
            /**
             * Format: double
             * @description The milliseconds that half of the requests did not exceed. They are null if there were no requests.
             */
            p50Ms: number | null;
            /**
             * Format: double
             * @description The milliseconds that nine tenths of the requests did not exceed. They are null if there were no requests.
             */
            p90Ms: number | null;
            /**
             * Format: double
             * @description The milliseconds that 99 of 100 requests did not exceed. They are null if there were no requests.
             */
            p99Ms: number | null;
            /**
             * Format: int64
             * @description The number of requests, including refused ones.
             */
            requests: number;
            /**
             * Format: date-time
             * @description The start of the interval.
             */
            t: string;
            /**
             * Format: int64
             * @description The number of responses with status 429.
             */
            throttled: number;
        };
        PortableDocument: {
            /** @description The collection that the document belongs to. */
            collection: string;
            /** @description The ID of the document, which an import keeps. */
            id: string;
            /**
             * @description The language of the document, as it was stored. It is null if none was.
             * @example en
             */
            language: string | null;
            /** @description The metadata of the document: strings, numbers, booleans or arrays of these by name. */
            metadata: {
                [key: string]: string | number | boolean | (string | number | boolean)[];
            };
            /** @description The tags of the document, in the order in which they were sent. */
            tags: string[];
            /** @description The text of the document as it was stored. It is empty if the document has none. */
            text: string;
            /** @description The title of the document. It is empty if the document has none. */
            title: string;
            /** @description The URL of the original. It is null if none was stored. */
            url: string | null;
        };
        PortableView: {
            /** @description The ID of the agent that the memory belongs to. It is null if there is none. */
            agentId: string | null;
            /**
             * Format: date-time
             * @description The time of creation. Later changes do not move it.
             */
            createdAt: string;
            /** @description The ID of the key or user that stored the memory first, or local. */
            createdBy: string;
            /**
             * Format: date-time
             * @description The time at which the memory is erased. It is null if the memory is not erased by itself.
             */
            expiresAt: string | null;
            /** @description The older revisions of the memory, oldest first. */
            history: components["schemas"]["RevisionView"][];
            /** @description The ID of the memory, which an import keeps. */
            id: string;
            /**
             * Format: double
             * @description The importance of the memory, from 0 to 1. It is null if none was stored.
             */
            importance: number | null;
            /** @description The ID of the key or user whose import the memory comes from. It is null if the memory was not imported. */
            importedBy: string | null;
            /** @description The name for what the memory says about the subject, by which a later memory replaces it. It is null if there is none. */
            key: string | null;
            /**
             * @description The kind of the memory, which is fact unless another one was stored.
             * @enum {string}
             */
            kind: "fact" | "preference" | "event" | "instruction" | "summary" | "turn" | "note";
            /** @description The metadata of the memory: strings, numbers or booleans by name. */
            metadata: {
                [key: string]: string | number | boolean;
            };
            /**
             * Format: date-time
             * @description The time at which the event happened or the text was said. It is null if none was stored.
             */
            occurredAt: string | null;
            /** @description Whether the memory is ranked first among memories that match a query equally well, and comes first in contexts. */
            pinned: boolean;
            /**
             * Format: int64
             * @description The number of the revision, which grows with every change. ETag and If-Match have it in quotes.
             */
            revision: number;
            /** @description The ID of the conversation that the memory comes from. It is null if there is none. */
            sessionId: string | null;
            /** @description The source of the memory. It is null if none was stored. */
            source: string | null;
            /** @description The speaker of the text. It is null if none was stored. */
            speaker: string | null;
            /** @description The ID of the subject that the memory is about. */
            subjectId: string;
            /** @description The tags of the memory, in the order in which they were sent. */
            tags: string[];
            /** @description The text of the memory, as it was stored. */
            text: string;
            /**
             * Format: date-time
             * @description The time at which this revision was created.
             */
            updatedAt: string;
            /** @description The ID of the key or user that created this revision, or local. */
            updatedBy: string;
            /**
             * Format: date-time
             * @description The time from which the memory is valid. It is null if none was stored.
             */
            validFrom: string | null;
            /**
             * Format: date-time
             * @description The time until which the memory is valid. It is null if the memory stays valid.
             */
            validTo: string | null;
        };
        ProbeView: {
            /**
             * Format: int64
             * @description The number of changes of documents that indexes do not contain yet.
             */
            changesBehind?: number;
            /**
             * Format: int64
             * @description The clock of this machine minus the database's, in milliseconds.
             */
            databaseOffsetMs?: number;
            /**
             * Format: int64
             * @description The free space in bytes of the disk with the data folder.
             */
            freeBytes?: number;
            /**
             * Format: int64
             * @description The number of indexes that are being built. Nothing but searches of their workspaces waits for them.
             */
            indexesBuilding?: number;
            /**
             * Format: int64
             * @description The number of changes behind from which the check fails.
             */
            maxChangesBehind?: number;
            /**
             * Format: int64
             * @description The offset in milliseconds, in either direction, from which the check fails.
             */
            maxOffsetMs?: number;
            /**
             * Format: int64
             * @description The size in bytes of the write-ahead log above which the check fails.
             */
            maxWalBytes?: number;
            /**
             * Format: int64
             * @description The free space in bytes below which the check fails.
             */
            minFreeBytes?: number;
            /**
             * Format: double
             * @description The time in milliseconds that the part took to answer.
             */
            ms?: number;
            /**
             * Format: int64
             * @description The clock of this machine minus that of Redis, in milliseconds.
             */
            redisOffsetMs?: number;
            /**
             * @description The state of the part. Requests are served without a part that is degraded. A part that failed makes the process not ready. The instance does not have a part that is off.
             * @enum {string}
             */
            status: "ok" | "degraded" | "failed" | "off";
            /**
             * Format: int64
             * @description The size in bytes of the largest write-ahead log of a SQLite file.
             */
            walBytes?: number;
        };
        ProfileView: {
            /**
             * Format: date-time
             * @description The time of creation. Later changes do not move it.
             */
            createdAt: string;
            /**
             * @description The email address with which the user signs in, in lower case.
             * @example ada@example.org
             */
            email: string;
            /**
             * @description The ID of the user, which begins with usr_.
             * @example usr_01kakakakafkhvayayayayayay
             */
            id: string;
            /**
             * Format: date-time
             * @description The time of the last sign-in. It is null if there was none.
             */
            lastLoginAt: string | null;
            /** @description The display name of the user. It is null if there is none. */
            name: string | null;
            /**
             * Format: int64
             * @description The number of the revision, which grows with every change. ETag and If-Match have it in quotes.
             */
            revision: number;
            /**
             * @description The role of the user, which sets the scopes.
             * @enum {string}
             */
            role: "viewer" | "member" | "developer" | "admin";
            /** @description The scopes of the user's role, which say what requests of the user can do. */
            scopes: string[];
            /** @description The workspace that the user belongs to. */
            workspace: components["schemas"]["ProfileWorkspace"];
        };
        ProfileWorkspace: {
            /**
             * @description The ID of the workspace.
             * @example wsp_01kakakakafkhvayayayayayay
             */
            id: string;
            /** @description The display name of the workspace. */
            name: string;
            /** @description The name of the workspace's tier, which sets its limits. */
            tier: string;
        };
        QuotaPart: {
            /**
             * Format: int64
             * @description The number of requests in a UTC day. null means that the key has no quota of its own for a day.
             */
            daily?: number | null;
            /**
             * Format: int64
             * @description The number of requests in a UTC month. null means that the key has no quota of its own for a month.
             */
            monthly?: number | null;
        };
        QuotaUseView: {
            /**
             * Format: int64
             * @description The quota of the workspace. It is null if there is none.
             */
            limit: number | null;
            /**
             * Format: int64
             * @description What is left of the quota. It is null if there is none.
             */
            remaining: number | null;
            /**
             * Format: date-time
             * @description The time at which the quota starts again from 0.
             */
            resetsAt: string;
            /**
             * Format: int64
             * @description The number of requests that were charged since the last reset.
             */
            used: number;
        };
        QuotaView: {
            /**
             * Format: int64
             * @description The number of requests that the key can make in a UTC day. It is null if the key has no such quota.
             */
            daily: number | null;
            /**
             * Format: int64
             * @description The number of requests that the key can make in a UTC month. It is null if the key has no such quota.
             */
            monthly: number | null;
        };
        RankedView: {
            /**
             * Format: int64
             * @description The number of responses with a status of 400 or more, except 429.
             */
            errors: number;
            /** @description The values of groupBy that the requests of the group share. Other dimensions are absent. */
            group: components["schemas"]["GroupView"];
            /**
             * Format: double
             * @description The milliseconds that 99 of 100 requests did not exceed. They are null if there were no requests.
             */
            p99Ms: number | null;
            /**
             * Format: int64
             * @description The number of requests, including refused ones.
             */
            requests: number;
            /**
             * Format: int64
             * @description The number of responses with status 429.
             */
            throttled: number;
        };
        RateLimitBody: {
            /** @description What exactly is used up: policy names the limit or quota. */
            details?: components["schemas"]["ErrorDetails"];
            /**
             * @description The machine-readable code of the error.
             * @enum {string}
             */
            error: "rate_limit_exceeded";
            /** @description The message for people. Its wording can change. */
            message: string;
            /**
             * Format: int64
             * @description The number of requests left, which is 0 or less than the request costs.
             */
            remaining: number;
            /** @description The ID of the request, as in X-Request-Id. */
            requestId: string;
            /**
             * Format: int64
             * @description The number of milliseconds until the limit resets.
             */
            resetTimeMs: number;
        };
        RateLimitPart: {
            /**
             * Format: int64
             * @description The number of requests per minute. null means that the tier's number applies.
             */
            requestsPerMinute?: number | null;
        };
        RateLimitView: {
            /** @description Whether the limit is the tier's and changes with it. */
            inherited: boolean;
            /**
             * Format: int64
             * @description The number of requests that the key can make in a minute.
             */
            requestsPerMinute: number;
        };
        Readiness: {
            /** @description The parts of the process by name, each with the numbers that its check measured. It is empty while the process shuts down. */
            checks: {
                [key: string]: components["schemas"]["ProbeView"];
            };
            /** @description The machine-readable code of the error. It is absent unless the process is not ready. */
            error?: string;
            /** @description The message for people, which names the parts that failed. It is absent unless the process is not ready. */
            message?: string;
            /** @description The ID of the request, as in X-Request-Id. It is absent unless the process is not ready. */
            requestId?: string;
            /**
             * @description Whether the process is ready. It is degraded if requests are served without a part.
             * @enum {string}
             */
            status: "ready" | "degraded" | "unavailable";
        };
        RecallAnswer: {
            /** @description What the ranking had to do without; absent if nothing. It contains embeddings if the embeddings endpoint did not answer in time. */
            degraded?: "embeddings"[];
            /** @description The memories that answer the query, best first. The list is empty if none does. */
            results: components["schemas"]["RecallResult"][];
            /**
             * Format: double
             * @description The duration of the ranking in milliseconds.
             */
            tookMs: number;
        };
        RecallBody: {
            /** @description Include only memories of this agent. */
            agentId?: string | null;
            /**
             * Format: date-time
             * @description Recall what was stored and valid at this time. The default is the current time.
             */
            asOf?: string | null;
            /** @description Whether the response says what each signal added to the score. */
            explain?: boolean | null;
            /**
             * @description What follows the memories that answer the query until there are limit results: nothing, or pinned memories and then the newest ones. The default is none.
             * @enum {string|null}
             */
            fill?: "none" | "recent" | null;
            /**
             * Format: date-time
             * @description Include only memories at or after this time. The time of a memory is occurredAt or, without it, createdAt.
             */
            from?: string | null;
            /** @description The kinds to include. A memory must have one of them. */
            kinds?: ("fact" | "preference" | "event" | "instruction" | "summary" | "turn" | "note")[] | null;
            /**
             * Format: int64
             * @description The maximum number of results in the response. The default is 10.
             */
            limit?: number | null;
            /**
             * Format: double
             * @description The lowest score to include. The default is every score above 0.
             */
            minScore?: number | null;
            /**
             * @description The question or message that the memories should answer.
             * @example What does she like to drink?
             */
            query: string;
            /** @description Include only memories of this conversation. */
            sessionId?: string | null;
            /** @description The ID of the subject. It is required unless the API key is bound to a subject. */
            subjectId?: string | null;
            /** @description The tags to match. All of them must match. */
            tags?: string[] | null;
            /**
             * @description The IANA name of the time zone of the days that the query names, such as yesterday, and of the days in a context. The default is UTC.
             * @example Europe/Berlin
             */
            timeZone?: string | null;
            /**
             * Format: date-time
             * @description Include only memories before this time.
             */
            to?: string | null;
        };
        RecallContextAnswer: {
            /** @description The IDs of those memories of which the text has only the beginning. GET /memories/{id} returns them whole. */
            cut: string[];
            /** @description What the ranking had to do without; absent if nothing. It contains embeddings if the embeddings endpoint did not answer in time. */
            degraded?: "embeddings"[];
            /** @description The IDs of the memories in the order in which they appear in the text. */
            memoryIds: string[];
            /** @description The numbers of memories that had no room in the text. */
            omitted: components["schemas"]["ContextOmitted"];
            /** @description The IDs of the memories in the text, by the reason why they are in it. */
            parts: components["schemas"]["ContextParts"];
            /** @description The text for the prompt. It is empty if there is no memory to show, or no room for one. */
            text: string;
            /**
             * Format: int64
             * @description The estimated number of tokens in the text. The estimate is usually higher than what a model counts.
             */
            tokens: number;
        };
        RecallContextBody: {
            /** @description Include only memories of this agent. */
            agentId?: string | null;
            /**
             * Format: date-time
             * @description Recall what was stored and valid at this time. The default is the current time.
             */
            asOf?: string | null;
            /**
             * Format: date-time
             * @description Include only memories at or after this time. The time of a memory is occurredAt or, without it, createdAt.
             */
            from?: string | null;
            /** @description The kinds to include. A memory must have one of them. */
            kinds?: ("fact" | "preference" | "event" | "instruction" | "summary" | "turn" | "note")[] | null;
            /**
             * Format: int64
             * @description The maximum number of memories. The default is 50.
             */
            limit?: number | null;
            /**
             * Format: int64
             * @description The maximum length of the text in code points.
             */
            maxCharacters?: number | null;
            /**
             * Format: int64
             * @description The maximum number of tokens in the text, as estimated. The default is 1,000 unless maxCharacters is given.
             */
            maxTokens?: number | null;
            /**
             * Format: double
             * @description The lowest score to include. The default is every score above 0.
             */
            minScore?: number | null;
            /** @description The question or message that the memories should answer. Without it, the text has only pinned memories and the newest ones. */
            query?: string | null;
            /** @description Include only memories of this conversation. */
            sessionId?: string | null;
            /** @description The ID of the subject. It is required unless the API key is bound to a subject. */
            subjectId?: string | null;
            /** @description The tags to match. All of them must match. */
            tags?: string[] | null;
            /**
             * @description The IANA name of the time zone of the days that the query names, such as yesterday, and of the days in a context. The default is UTC.
             * @example Europe/Berlin
             */
            timeZone?: string | null;
            /**
             * Format: date-time
             * @description Include only memories before this time.
             */
            to?: string | null;
        };
        RecallResult: {
            /** @description The words of the query that the memory contains. */
            matched: string[];
            /** @description The memory, as it is stored now. */
            memory: components["schemas"]["MemoryView"];
            /**
             * Format: int64
             * @description The rank of the memory, starting at 1.
             */
            rank: number;
            /**
             * Format: double
             * @description The score of the memory, which is the sum of what each signal adds. It is 0 for memories that only fill the list.
             */
            score: number;
            /** @description What each signal added to the score. It is present only if explain is true. */
            why?: components["schemas"]["RecallWhy"];
        };
        RecallWhy: {
            /**
             * Format: double
             * @description The score for the kind of answer that the query asks for, such as a time or a number.
             */
            answer: number;
            /**
             * Format: double
             * @description The score for a time that the query names.
             */
            date: number;
            /**
             * Format: double
             * @description The score of words that are not the same but occur in similar texts, in the memory and in the turns around it. Vectors of an embeddings endpoint take the place of those of words, if the workspace uses one.
             */
            meaning: number;
            /**
             * Format: double
             * @description The score of the two turns before it in the session: the last one of the same speaker, and the last question of another one.
             */
            neighbours: number;
            /**
             * Format: double
             * @description The score of words with a similar meaning.
             */
            related: number;
            /**
             * Format: double
             * @description The score of the whole session for this query.
             */
            session: number;
            /**
             * Format: double
             * @description The score for a speaker whom the query names.
             */
            speaker: number;
            /**
             * Format: double
             * @description The score of the whole query: the share of it that the memory and the two turns before and after it contain.
             */
            together: number;
            /**
             * Format: double
             * @description The score of words of the query, compared by their stems.
             */
            words: number;
            /**
             * Format: double
             * @description The score of the text itself, whatever the query asks. Statements with names and numbers score more than questions and small talk.
             */
            worth: number;
        };
        ReceiptView: {
            /**
             * Format: date-time
             * @description The time at which the subject was erased.
             */
            erasedAt: string;
            /**
             * Format: date-time
             * @description The time before which backups of keys still contain the destroyed key. With such a backup, older backups of data remain readable.
             */
            keyBackupsBefore: string;
            /** @description Whether the data key was destroyed on this instance. */
            liveKeyDestroyed: boolean;
            /**
             * Format: int64
             * @description The number of memories that were erased.
             */
            memories: number;
            /**
             * @description The ID of the receipt, which also is in the event subject.erased.
             * @example rcp_01kakakakafkhvayayayayayay
             */
            receiptId: string;
            /** @description A compact JWS (EdDSA) over the other fields and the ID of the workspace, signed by a key in /.well-known/jwks.json. */
            signature: string;
        };
        RefreshTokenBody: {
            /** @description The refresh token from the last login or refresh, which this request uses up. */
            refreshToken: string;
        };
        RehearsalView: {
            /** @description The ID of the API key whose requests are refused. */
            keyId: string;
            /**
             * Format: date-time
             * @description The time at which the rehearsal ends.
             */
            until: string;
            /** @description The ID of the API key's workspace. */
            workspaceId: string;
        };
        RehearseSunsetAnswer: {
            /** @description The ID of the API key whose requests are refused. */
            keyId: string;
            /**
             * Format: date-time
             * @description The time at which the rehearsal ends.
             */
            until: string;
            /**
             * @description The number of the version.
             * @example 1
             */
            version: string;
            /** @description The ID of the API key's workspace. */
            workspaceId: string;
        };
        RehearseSunsetBody: {
            /**
             * @description The ID of the API key whose requests are refused.
             * @example key_01kakakakafkhvayayayayayay
             */
            keyId: string;
            /**
             * Format: date-time
             * @description The time at which the rehearsal ends, which must be in the future.
             */
            until: string;
        };
        ReleaseVersionBody: {
            /**
             * Format: date-time
             * @description The time at which the end of the predecessor was or will be announced. The default is the current time.
             */
            announcedAt?: string | null;
            /**
             * Format: uri
             * @description The URL of the migration guide, if it is published elsewhere.
             */
            guideUrl?: string | null;
            /**
             * Format: date-time
             * @description The time from which requests to the predecessor are refused with 410.
             */
            sunsetAt?: string | null;
            /**
             * Format: int64
             * @description The number of the new version, which is one more than the current version's.
             */
            version: number;
        };
        ReportError: {
            /** @description The field with the problem, such as items[3].at. */
            field: string;
            /** @description The ID of the item. It is absent if the item has none. */
            id?: string;
            /**
             * Format: int64
             * @description The position of the item in the request, starting at 0.
             */
            index: number;
            /** @description The kind of problem with the field, such as required, format or too_long. */
            issue: string;
            /** @description The message for people. Its wording can change. */
            message: string;
        };
        ReportItem: {
            /**
             * Format: date-time
             * @description The time of the requests, at most 24 hours before the report.
             */
            at: string;
            /**
             * Format: int64
             * @description The number of requests that the item stands for.
             */
            count: number;
            /** @description Identifies the item. An item whose ID was accepted for the workspace within 7 days is a duplicate. */
            id: string;
            /** @description The ID of the API key that the requests were made with. */
            keyId: string;
            /**
             * @description The template of the route, with or without a method before it.
             * @example GET /orders/{id}
             */
            route: string;
            /**
             * Format: int64
             * @description The HTTP status of the responses.
             */
            status: number;
        };
        ReportUsageAnswer: {
            /**
             * Format: int64
             * @description The number of items that were counted.
             */
            accepted: number;
            /**
             * Format: int64
             * @description The number of items that were counted before, and not again.
             */
            duplicates: number;
            /** @description The items that were refused, in the order of the request. */
            errors: components["schemas"]["ReportError"][];
        };
        ReportUsageBody: {
            /** @description The requests to report, each item for requests with the same key, route and status. */
            items: (unknown | components["schemas"]["ReportItem"] | null)[];
        };
        RequestView: {
            /**
             * Format: date-time
             * @description The time at which the request arrived.
             */
            at: string;
            /**
             * @description The name of the calling program from User-Agent. It is null if there is none.
             * @example curl/8.5.0
             */
            client: string | null;
            /** @description The machine-readable code of the error. It is null for a success. */
            code: string | null;
            /** @description The ID of the API key. It is null for requests without one. */
            keyId: string | null;
            /** @description The HTTP method of the request. */
            method: string;
            /**
             * Format: double
             * @description The time from the arrival of the request to the end of its response, in milliseconds.
             */
            ms: number;
            /** @description The ID of the request, as in X-Request-Id. */
            requestId: string;
            /** @description The template of the path, or none for paths that do not exist. */
            route: string;
            /**
             * Format: int64
             * @description The HTTP status of the response.
             */
            status: number;
            /**
             * @description The surface that got the request: the API, the AI services, the backend service, or the API for the console.
             * @enum {string}
             */
            surface: "primary" | "ai" | "backend" | "console";
            /** @description The ID of the signed-in user. It is null for requests without an access token. */
            userId: string | null;
            /** @description The number of the version of the API, or none for a request without one. */
            version: string;
            /** @description The workspace of the caller. It is null for a caller without a valid credential, which only operators see. */
            workspaceId: string | null;
        };
        RevisionView: {
            /**
             * Format: date-time
             * @description The time at which the memory is erased. It is null if the memory is not erased by itself.
             */
            expiresAt: string | null;
            /**
             * Format: double
             * @description The importance of the memory, from 0 to 1. It is null if none was stored.
             */
            importance: number | null;
            /** @description The name for what the memory says about the subject, by which a later memory replaces it. It is null if there is none. */
            key: string | null;
            /**
             * @description The kind of the memory, which is fact unless another one was stored.
             * @enum {string}
             */
            kind: "fact" | "preference" | "event" | "instruction" | "summary" | "turn" | "note";
            /** @description The metadata of the memory: strings, numbers or booleans by name. */
            metadata: {
                [key: string]: string | number | boolean;
            };
            /**
             * Format: date-time
             * @description The time at which the event happened or the text was said. It is null if none was stored.
             */
            occurredAt: string | null;
            /** @description Whether the memory is ranked first among memories that match a query equally well, and comes first in contexts. */
            pinned: boolean;
            /**
             * Format: int64
             * @description The number of the revision, which grows with every change. ETag and If-Match have it in quotes.
             */
            revision: number;
            /** @description The source of the memory. It is null if none was stored. */
            source: string | null;
            /** @description The speaker of the text. It is null if none was stored. */
            speaker: string | null;
            /** @description The tags of the memory, in the order in which they were sent. */
            tags: string[];
            /** @description The text of the memory, as it was stored. */
            text: string;
            /**
             * Format: date-time
             * @description The time at which this revision was created.
             */
            updatedAt: string;
            /** @description The ID of the key or user that created this revision, or local. */
            updatedBy: string;
            /**
             * Format: date-time
             * @description The time from which the memory is valid. It is null if none was stored.
             */
            validFrom: string | null;
            /**
             * Format: date-time
             * @description The time until which the memory is valid. It is null if the memory stays valid.
             */
            validTo: string | null;
        };
        RevokeAPIKeyBody: {
            /**
             * @description The reason for the revocation, which is stored with the key.
             * @example left the company
             */
            reason?: string | null;
        };
        RotateAPIKeyBody: {
            /** @description Rotate even if a rotation is in progress. The older secret then stops working at once. */
            force?: boolean | null;
            /**
             * Format: int64
             * @description The number of seconds for which the previous secret still works. The default is one day.
             * @example 86400
             */
            graceSeconds?: number | null;
        };
        RotateSigningKeyAnswer: {
            /** @description The ID of the new key, which is kid in tokens and in the JWK set. */
            id: string;
        };
        RotateWebhookSecretBody: {
            /** @description Rotate even if there are two secrets. The older one then signs no more. */
            force?: boolean | null;
            /**
             * Format: int64
             * @description The number of seconds for which deliveries are also signed with the previous secret. The default is one day.
             * @example 86400
             */
            graceSeconds?: number | null;
        };
        SearchHighlight: {
            /**
             * Format: int64
             * @description The end of the highlight, in code points. The code point at this offset is no longer part of it.
             */
            end: number;
            /**
             * @description The field of the result that the offsets point into.
             * @enum {string}
             */
            field: "snippet" | "title";
            /**
             * Format: int64
             * @description The start of the highlight, in code points.
             */
            start: number;
        };
        SearchIndexesView: {
            /**
             * Format: int64
             * @description The number of indexes that are being built now. Searches of their workspaces wait, or get 503.
             */
            building: number;
            /**
             * Format: int64
             * @description How many documents these have so far.
             */
            buildingDocuments: number;
            /**
             * Format: int64
             * @description How many documents they will have.
             */
            buildingTotal: number;
            /**
             * Format: int64
             * @description How many indexes were built since the start of the process.
             */
            built: number;
            /**
             * Format: int64
             * @description Deleted and replaced documents whose words are still in files.
             */
            deadDocuments: number;
            /**
             * Format: int64
             * @description The bytes of files beyond which the indexes that were searched least recently are dropped (search.diskBudget). 0 means no bound.
             */
            diskBudgetBytes: number;
            /**
             * Format: int64
             * @description The number of documents in the indexes that were opened since the start of the process.
             */
            documents: number;
            /**
             * Format: int64
             * @description How many indexes were dropped since the start of the process, because of the disk budget.
             */
            dropped: number;
            /**
             * Format: int64
             * @description The size of the indexes' files in bytes.
             */
            fileBytes: number;
            /**
             * Format: int64
             * @description How often changes in memory were written to a file since the start of the process.
             */
            flushes: number;
            /**
             * Format: int64
             * @description The number of indexes that the process holds: those of workspaces that were searched through it.
             */
            held: number;
            /**
             * Format: int64
             * @description Changes of documents that the open indexes do not contain yet.
             */
            lagChanges: number;
            /**
             * Format: int64
             * @description The size in bytes of what is not in files yet.
             */
            memoryBytes: number;
            /**
             * Format: int64
             * @description How often files were merged since the start of the process.
             */
            merges: number;
            /**
             * Format: int64
             * @description How many documents were indexed again for that reason since the start of the process.
             */
            renewedDocuments: number;
            /**
             * Format: int64
             * @description Documents that are to be indexed again, because the settings of their collection changed.
             */
            renewingDocuments: number;
            /**
             * Format: int64
             * @description How many documents were written by flushes and merges since the start of the process.
             */
            rewrittenDocuments: number;
            /**
             * Format: int64
             * @description The number of parts that the indexes consist of, in files and in memory.
             */
            segments: number;
        };
        SearchMove: {
            /** @description The engine that answers searches now: local or opensearch. */
            from: string;
            /**
             * Format: int64
             * @description How much of the new index is built, in percent; null: the cluster does not answer.
             * @example 41
             */
            percent: number | null;
        };
        SearchMultiAnswer: {
            /** @description The results of the searches, in their order. A result with the field error is the body of an error. */
            results: (components["schemas"]["SearchView"] | components["schemas"]["ErrorBody"] | components["schemas"]["RateLimitBody"])[];
        };
        SearchMultiBody: {
            /** @description The searches, each in the format of searchPost. */
            searches: (unknown | components["schemas"]["SearchParameters"] | null)[];
        };
        SearchParameters: {
            /** @description Search only documents of this collection. */
            collection?: string | null;
            /** @description The nextCursor of the page before. Without it, the response is the first page. */
            cursor?: string | null;
            /** @description Names: collection, tag, or metadata entries. The matching documents are counted for each value. */
            facets?: string[] | null;
            /**
             * @description Comparisons of metadata, each in the form name:op:value, where op is eq, ne, lt, lte, gt or gte. All of them must match.
             * @example [
             *       "floor:gte:2"
             *     ]
             */
            filter?: string[] | null;
            /**
             * @description Whether words that no document has are replaced by similar ones: with one edit for 4 to 7 letters, two for more; an edit of the first letter counts as two. off also means that parts of words do not count. The default is auto.
             * @enum {string|null}
             */
            fuzzy?: "auto" | "off" | null;
            /** @description Whether the response says where words of the query are in snippets and titles. The default is true. */
            highlight?: boolean | null;
            /**
             * Format: int64
             * @description The maximum number of results in the response. The default is 10.
             */
            limit?: number | null;
            /**
             * Format: int64
             * @description The number of passages of each text in the response, at most: whole sentences for a prompt.
             */
            passages?: number | null;
            /** @description Whether the last word also matches words that begin with it, for search while typing. auto, the default, means only if no document has it as a word. */
            prefix?: boolean | ("auto" | "true" | "false") | null;
            /**
             * @description The words to search for, in the syntax that the operation describes.
             * @example opening hours
             */
            q: string;
            /**
             * @description The order of the results: relevance has the best match first, updatedAt the oldest change, and -updatedAt the newest. The default is relevance.
             * @enum {string|null}
             */
            sort?: "relevance" | "-updatedAt" | "updatedAt" | null;
            /** @description The tags to match. All of them must match. */
            tag?: string[] | null;
        };
        SearchPassage: {
            /**
             * Format: int64
             * @description The end of the passage, in code points. The code point at this offset is no longer part of it.
             */
            end: number;
            /**
             * Format: int64
             * @description The start of the passage in the text of the document, in code points.
             */
            start: number;
            /** @description Whole sentences of the text, at most 1,000 characters. A longer sentence is cut between words. */
            text: string;
        };
        SearchResult: {
            /** @description The collection that the document belongs to. */
            collection: string;
            /** @description The places of words of the query in snippet and title. The list is empty if highlight is false. */
            highlights: components["schemas"]["SearchHighlight"][];
            /** @description The ID of the document. */
            id: string;
            /** @description The metadata of the document: strings, numbers, booleans or arrays of these by name. */
            metadata: {
                [key: string]: string | number | boolean | (string | number | boolean)[];
            };
            /** @description The parts of the document's text that match best, best first. They do not overlap. If only the title matches, the passage is the beginning of the text. The list is empty if passages is 0. */
            passages: components["schemas"]["SearchPassage"][];
            /**
             * Format: double
             * @description The score of the match. It is higher for better matches, and comparable only within one response.
             */
            score: number;
            /** @description The plain text around the best match. */
            snippet: string;
            /** @description The tags of the document, in the order in which they were sent. */
            tags: string[];
            /** @description The title of the document. It is empty if the document has none. */
            title: string;
            /**
             * Format: date-time
             * @description The time of the last change, or of creation if there was none.
             */
            updatedAt: string;
            /** @description The URL of the original. It is null if none was stored. */
            url: string | null;
        };
        SearchView: {
            /** @description The counts of matching documents by facet, most frequent value first, at most 100 values each. Without facets in the request, it is empty. */
            facets: {
                [key: string]: components["schemas"]["FacetCount"][];
            };
            /** @description The value of the parameter cursor for the next page. It is null on the last page. */
            nextCursor: string | null;
            /** @description The query as it was sent. */
            query: string;
            /** @description The documents of this page. The list is empty if nothing matches. */
            results: components["schemas"]["SearchResult"][];
            /** @description The query with similar words for those that no document has, or that few have and are probably misspelled. It is null if there is none. */
            suggestion: string | null;
            /**
             * Format: double
             * @description The duration of the search in milliseconds, with a fraction.
             */
            tookMs: number;
            /**
             * Format: int64
             * @description The number of documents that match, on all pages together.
             */
            total: number;
            /**
             * @description Whether total is exact, which is eq, or a lower bound, which is gte.
             * @enum {string}
             */
            totalRelation: "eq" | "gte";
        };
        SecretView: {
            /**
             * Format: date-time
             * @description The time of creation. Later changes do not move it.
             */
            createdAt: string;
            /** @description The first characters of the secret, which help people to tell secrets apart. */
            hint: string;
            /**
             * Format: date-time
             * @description The time of the last request with the secret. It is null if there was none.
             */
            lastUsedAt: string | null;
            /**
             * Format: date-time
             * @description The time at which the secret stops working, because a newer one replaces it. It is null for the newest secret.
             */
            validUntil: string | null;
        };
        SeriesView: {
            /** @description The values of groupBy that the requests of the series share. Other dimensions are absent. */
            group: components["schemas"]["GroupView"];
            /** @description The points of the series, one for each interval, oldest first. */
            points: components["schemas"]["PointView"][];
        };
        StoredMemoryView: {
            /** @description The ID of the agent that the memory belongs to. It is null if there is none. */
            agentId: string | null;
            /**
             * Format: date-time
             * @description The time of creation. Later changes do not move it.
             */
            createdAt: string;
            /** @description The ID of the key or user that stored the memory first, or local. */
            createdBy: string;
            /** @description Whether an equal memory existed, which is returned here. */
            deduplicated?: boolean;
            /**
             * Format: date-time
             * @description The time at which the memory is erased. It is null if the memory is not erased by itself.
             */
            expiresAt: string | null;
            /**
             * @description The ID of the memory, which begins with mem_.
             * @example mem_01kakakakafkhvayayayayayay
             */
            id: string;
            /**
             * Format: double
             * @description The importance of the memory, from 0 to 1. It is null if none was stored.
             */
            importance: number | null;
            /** @description The ID of the key or user whose import the memory comes from. createdAt, createdBy and the history are then what the import said. It is null if the memory was not imported. */
            importedBy: string | null;
            /** @description The name for what the memory says about the subject, by which a later memory replaces it. It is null if there is none. */
            key: string | null;
            /**
             * @description The kind of the memory, which is fact unless another one was stored.
             * @enum {string}
             */
            kind: "fact" | "preference" | "event" | "instruction" | "summary" | "turn" | "note";
            /** @description The metadata of the memory: strings, numbers or booleans by name. */
            metadata: {
                [key: string]: string | number | boolean;
            };
            /**
             * Format: date-time
             * @description The time at which the event happened or the text was said. It is null if none was stored.
             */
            occurredAt: string | null;
            /** @description Whether the memory is ranked first among memories that match a query equally well, and comes first in contexts. */
            pinned: boolean;
            /**
             * Format: int64
             * @description The number of the revision, which grows with every change. ETag and If-Match have it in quotes.
             */
            revision: number;
            /** @description The ID of the conversation that the memory comes from. It is null if there is none. */
            sessionId: string | null;
            /** @description The source of the memory. It is null if none was stored. */
            source: string | null;
            /** @description The speaker of the text. It is null if none was stored. */
            speaker: string | null;
            /**
             * @description The status of the memory. It is superseded after validTo.
             * @enum {string}
             */
            status: "active" | "superseded";
            /** @description The ID of the subject that the memory is about. */
            subjectId: string;
            /** @description The tags of the memory, in the order in which they were sent. */
            tags: string[];
            /** @description The text of the memory, as it was stored. */
            text: string;
            /**
             * Format: date-time
             * @description The time of the last change, or of creation if there was none.
             */
            updatedAt: string;
            /**
             * Format: date-time
             * @description The time from which the memory is valid. It is null if none was stored.
             */
            validFrom: string | null;
            /**
             * Format: date-time
             * @description The time until which the memory is valid. It is null if the memory stays valid.
             */
            validTo: string | null;
        };
        SubjectView: {
            /**
             * Format: int64
             * @description The number of bytes of the texts of the subject's memories.
             */
            bytes: number;
            /**
             * Format: date-time
             * @description The time at which the first memory was stored.
             */
            createdAt: string;
            /**
             * Format: date-time
             * @description The earliest time of a memory, which is its occurredAt or, without it, its createdAt. It is null without memories.
             */
            firstAt: string | null;
            /**
             * Format: date-time
             * @description The latest time of a memory, which is its occurredAt or, without it, its createdAt. It is null without memories.
             */
            lastAt: string | null;
            /**
             * Format: int64
             * @description The number of the subject's memories.
             */
            memories: number;
            /** @description The ID of the subject, as the client chose it. */
            subjectId: string;
            /**
             * Format: date-time
             * @description The time at which a memory last changed.
             */
            updatedAt: string;
        };
        ThresholdsView: {
            /**
             * Format: int64
             * @description The number of days of traffic that the check looks at.
             */
            days: number;
            /**
             * Format: int64
             * @description The least number of days on which such an API key uses the version.
             */
            keyDays: number;
            /**
             * Format: int64
             * @description The least number of requests of an API key that uses the version regularly.
             */
            keyRequests: number;
            /**
             * Format: int64
             * @description The number of API keys that use the version regularly from which traffic is significant.
             */
            keys: number;
            /**
             * Format: int64
             * @description The same as a percentage of all active API keys. The greater number counts.
             */
            keysPercent: number;
            /**
             * Format: int64
             * @description The percentage of all authenticated requests from which traffic is significant.
             */
            percent: number;
        };
        TierNumbers: {
            /**
             * Format: int64
             * @description The number of requests allowed in a UTC day. It must not be above monthly.
             */
            daily: number;
            /**
             * Format: int64
             * @description The number of documents. null means no limit, 0 means none.
             */
            documents?: number | null;
            /**
             * Format: int64
             * @description The number of API keys that are neither revoked nor expired. null means no limit, 0 means none.
             */
            keys?: number | null;
            /**
             * Format: int64
             * @description The number of memories. null means no limit, 0 means none.
             */
            memories?: number | null;
            /**
             * Format: int64
             * @description The number of requests allowed in a UTC month.
             */
            monthly: number;
            /**
             * Format: int64
             * @description The number of requests allowed in a minute, which all keys and users of a workspace share.
             */
            requestsPerMinute: number;
            /**
             * Format: int64
             * @description The number of bytes that can be stored. null means no limit, 0 means that nothing can be stored.
             */
            storage?: number | null;
            /**
             * Format: int64
             * @description The number of users. null means no limit, 0 means none.
             */
            users?: number | null;
        };
        TierView: {
            /**
             * Format: int64
             * @description The number of requests allowed in a UTC day. It must not be above monthly.
             */
            daily: number;
            /**
             * Format: int64
             * @description The number of documents. null means no limit.
             */
            documents: number | null;
            /**
             * Format: int64
             * @description The number of API keys that are neither revoked nor expired. null means no limit.
             */
            keys: number | null;
            /**
             * Format: int64
             * @description The number of memories. null means no limit.
             */
            memories: number | null;
            /**
             * Format: int64
             * @description The number of requests allowed in a UTC month.
             */
            monthly: number;
            /**
             * @description The name of the tier, which the configuration sets.
             * @example pro
             */
            name: string;
            /**
             * Format: int64
             * @description The number of requests allowed in a minute, which all keys and users of a workspace share.
             */
            requestsPerMinute: number;
            /**
             * Format: int64
             * @description The revision of the tier. It is 1 while the tier has its configured numbers.
             */
            revision: number;
            /**
             * Format: int64
             * @description The number of bytes that documents, memories, their revisions, plans, stored responses and payloads of events can use. null means no limit.
             */
            storage: number | null;
            /**
             * Format: int64
             * @description The number of users. null means no limit.
             */
            users: number | null;
        };
        TrafficView: {
            /**
             * Format: int64
             * @description The API keys with a request to any version.
             */
            activeKeys: number;
            /**
             * Format: int64
             * @description The authenticated requests to all versions.
             */
            allRequests: number;
            /**
             * Format: int64
             * @description The number of days in which the service ran.
             */
            days: number;
            /**
             * Format: date-time
             * @description The beginning of the first day.
             */
            from: string;
            /**
             * Format: int64
             * @description The API keys that used the version regularly.
             */
            keys: number;
            /**
             * Format: int64
             * @description The authenticated requests to the version.
             */
            requests: number;
        };
        UsagePointView: {
            /**
             * Format: int64
             * @description The number of requests that were charged to the quotas.
             */
            charged: number;
            /**
             * Format: int64
             * @description The number of responses with a status of 400 or above, except 429.
             */
            errors: number;
            /**
             * Format: int64
             * @description The number of requests in the interval, including refused ones.
             */
            requests: number;
            /**
             * Format: date-time
             * @description The start of the interval.
             */
            t: string;
            /**
             * Format: int64
             * @description The number of responses with status 429.
             */
            throttled: number;
        };
        UsageView: {
            /**
             * Format: date-time
             * @description The start of the period, which is the start of its first interval.
             */
            from: string;
            /**
             * @description The length of an interval.
             * @enum {string}
             */
            interval: "minute" | "hour" | "day";
            /** @description The ID of the API key. */
            keyId: string;
            /** @description One point for each interval, oldest first. The last interval is still open. */
            points: components["schemas"]["UsagePointView"][];
            /**
             * Format: date-time
             * @description The end of the period, which is the time of the response.
             */
            to: string;
        };
        UserView: {
            /**
             * Format: date-time
             * @description The time of creation. Later changes do not move it.
             */
            createdAt: string;
            /** @description Whether the user is disabled. A disabled user cannot sign in. */
            disabled: boolean;
            /**
             * @description The email address with which the user signs in, in lower case. It is unique within the instance.
             * @example ada@example.org
             */
            email: string;
            /**
             * @description The ID of the user, which begins with usr_.
             * @example usr_01kakakakafkhvayayayayayay
             */
            id: string;
            /**
             * Format: date-time
             * @description The time of the last sign-in. It is null if there was none.
             */
            lastLoginAt: string | null;
            /** @description The display name of the user. It is null if there is none. */
            name: string | null;
            /**
             * Format: int64
             * @description The number of the revision, which grows with every change. ETag and If-Match have it in quotes.
             */
            revision: number;
            /**
             * @description The role of the user, which sets the scopes.
             * @enum {string}
             */
            role: "viewer" | "member" | "developer" | "admin";
            /** @description The ID of the workspace that the user belongs to. */
            workspaceId: string;
        };
        VerificationView: {
            /**
             * @description The result: VALID, or the reason why the key was refused.
             * @enum {string}
             */
            code: "VALID" | "INVALID" | "EXPIRED" | "REVOKED" | "DISABLED" | "INSUFFICIENT_SCOPE" | "IP_NOT_ALLOWED" | "RATE_LIMITED" | "QUOTA_EXCEEDED";
            /** @description The ID of the key. It is null if code is INVALID. */
            keyId: string | null;
            /** @description The metadata of the key. It is null if code is INVALID. */
            metadata: {
                [key: string]: string | number | boolean;
            } | null;
            /** @description The display name of the key. It is null if code is INVALID. */
            name: string | null;
            /** @description The quotas of the key or of the workspace, whichever have less left. It is null if the key cannot be used. */
            quota: components["schemas"]["BudgetPair"] | null;
            /** @description The rate limit of the key or of the workspace, whichever has less left. It is null if the key cannot be used. */
            rateLimit: components["schemas"]["BudgetView"] | null;
            /** @description The scopes of the key. The list is empty if code is INVALID. */
            scopes: string[];
            /** @description Whether the key can be used for this request. It is true only if code is VALID. */
            valid: boolean;
            /** @description The ID of the key's workspace. It is null if code is INVALID. */
            workspaceId: string | null;
        };
        VerifyAPIKeyBody: {
            /** @description Whether the verified key is charged. The default is true. */
            consume?: boolean | null;
            /**
             * Format: int64
             * @description The number of requests to charge. The default is 1.
             */
            cost?: number | null;
            /**
             * @description The IP address that the key was used from. Without it, the code of a key with allowedIps is IP_NOT_ALLOWED.
             * @example 203.0.113.7
             */
            ip?: string | null;
            /**
             * @description The key to verify.
             * @example kpsk_7Hq2…
             */
            key: string;
            /** @description The scopes that the key must have. */
            requiredScopes?: ("read" | "write" | "developer:manage" | "analytics:read" | "memory:read" | "memory:write" | "admin")[] | null;
        };
        VerifyAuditLogAnswer: {
            /** @description The first of breaks. It is null if there is none. */
            break: components["schemas"]["AuditBreakView"] | null;
            /** @description The first bad or missing entry of each chain that has one. */
            breaks: components["schemas"]["AuditBreakView"][];
            /** @description The chains of the log, each up to its last verified entry. */
            chains: components["schemas"]["AuditHeadView"][];
            /**
             * Format: int64
             * @description The number of checkpoints that were compared.
             */
            checkpoints: number;
            /**
             * Format: date-time
             * @description The time of the newest checkpoint. Entries after it are not covered by one. It is null if there is no checkpoint.
             */
            newestCheckpointAt: string | null;
            /** @description Whether the log is intact. It is true if breaks is empty. */
            ok: boolean;
            /**
             * Format: int64
             * @description The number of entries that were verified.
             */
            rows: number;
        };
        VersionCallerView: {
            /**
             * @description The first product in User-Agent. It is null if there is none. If a caller uses very many clients, the later ones are counted as other.
             * @example curl/8.5.0
             */
            client: string | null;
            /** @description The ID of the API key. It is null for a signed-in user. */
            keyId: string | null;
            /**
             * Format: date-time
             * @description The time of the last request, to the second.
             */
            lastAt: string;
            /** @description The HTTP method. It is null for paths that do not exist. */
            method: string | null;
            /**
             * @description The path template. It is null for paths that do not exist.
             * @example /api/v1/documents/{id}
             */
            route: string | null;
            /** @description The ID of the signed-in user. It is null for an API key. */
            userId: string | null;
            /** @description The ID of the caller's workspace. */
            workspaceId: string;
        };
        VersionRecord: {
            /**
             * Format: date-time
             * @description The time at which the end of the version was announced. It is null until then.
             */
            announcedAt: string | null;
            /** @description The traffic checks that have run, by time. */
            checks: components["schemas"]["CheckView"][];
            /** @description The URL of the guide from this version to the next. It is null until the end of the version is announced. */
            migrationGuideUrl: string | null;
            /** @description The API keys that see the version as if it were sunset. Only operators see keys of other workspaces. */
            rehearsals: components["schemas"]["RehearsalView"][];
            /** @description The oldest later version that is still available. It is null if there is none, and until the end of the version is announced. */
            replacementVersion: string | null;
            /**
             * Format: date-time
             * @description The time from which the version's paths no longer exist. It is null until the end of the version is announced.
             */
            retiresAt: string | null;
            /**
             * Format: int64
             * @description The number of the revision, which grows with every change. ETag and If-Match have it in quotes.
             */
            revision: number;
            /**
             * Format: date-time
             * @description The time at which the version was released.
             */
            since: string;
            /**
             * @description The state of the version. A deprecated version still works, a sunset one is refused with 410, and a retired one no longer exists.
             * @enum {string}
             */
            state: "active" | "deprecated" | "sunset" | "retired";
            /**
             * Format: date-time
             * @description The time from which requests are refused with 410. It is null until the end of the version is announced.
             */
            sunsetAt: string | null;
            /**
             * Format: date-time
             * @description The time of the next traffic check, thirty days before the sunset. It is null if there will be none.
             */
            trafficCheckAt: string | null;
            /**
             * @description The number of the version, as in paths and in X-API-Version.
             * @example 1
             */
            version: string;
        };
        VersionSunsetBody: {
            /** @description The field is always absent from this error. */
            details?: components["schemas"]["ErrorDetails"];
            /**
             * @description The machine-readable code of the error.
             * @enum {string}
             */
            error: "version_sunset";
            /** @description The message for people. Its wording can change. */
            message: string;
            /** @description The address of the guide from this version to the next. */
            migrationGuideUrl: string;
            /** @description The oldest later version that is still available, if there is one. */
            replacementVersion?: string;
            /** @description The ID of the request, as in X-Request-Id. */
            requestId: string;
            /** @description The time at which the version was sunset, in RFC 3339. */
            sunsetAt: string;
        };
        VersionUseView: {
            /**
             * Format: int64
             * @description The number of API keys with at least one request.
             */
            keys: number;
            /**
             * Format: date-time
             * @description The time of the last request. With a filter, and for requests of long ago, it is the start of the minute, hour or day.
             */
            lastAt: string;
            /**
             * Format: int64
             * @description The number of requests to the version, including refused ones.
             */
            requests: number;
            /** @description The number of the version of the API. */
            version: string;
        };
        VersionView: {
            /**
             * Format: date-time
             * @description The time at which the end of the version was announced. It is null until then.
             */
            announcedAt: string | null;
            /** @description The URL of the guide from this version to the next. It is null until the end of the version is announced. */
            migrationGuideUrl: string | null;
            /** @description The oldest later version that is still available. It is null if there is none, and until the end of the version is announced. */
            replacementVersion: string | null;
            /**
             * Format: date-time
             * @description The time at which the version was released.
             */
            since: string;
            /**
             * @description The state of the version. A deprecated version still works, a sunset one is refused with 410, and a retired one no longer exists.
             * @enum {string}
             */
            state: "active" | "deprecated" | "sunset" | "retired";
            /**
             * Format: date-time
             * @description The time from which requests are refused with 410. It is null until the end of the version is announced.
             */
            sunsetAt: string | null;
            /**
             * @description The number of the version, as in paths and in X-API-Version.
             * @example 1
             */
            version: string;
        };
        WebhookSecretView: {
            /**
             * Format: date-time
             * @description The time of creation. Later changes do not move it.
             */
            createdAt: string;
            /**
             * @description The first characters of the secret.
             * @example whsec_C2FV
             */
            hint: string;
            /**
             * Format: date-time
             * @description The time at which the secret signs no more, because a newer one replaces it. It is null for the newest secret.
             */
            validUntil: string | null;
        };
        WebhookView: {
            /**
             * Format: date-time
             * @description The time of creation. Later changes do not move it.
             */
            createdAt: string;
            /** @description The ID of the key or user that created the webhook, or local. */
            createdBy: string;
            /** @description The description for people. It is empty if there is none. */
            description: string;
            /** @description Whether the webhook is disabled, so that nothing is delivered. */
            disabled: boolean;
            /**
             * Format: date-time
             * @description The time at which the webhook was disabled. It is null if the webhook is not disabled.
             */
            disabledAt: string | null;
            /**
             * @description Why nothing is delivered: it was requested, nothing could be delivered for three days, the receiver answered 410, or too many deliveries waited. It is null if the webhook is not disabled.
             * @enum {string|null}
             */
            disabledReason: "requested" | "failing" | "gone" | "overloaded" | null;
            /** @description The types of the events that are delivered. */
            events: string[];
            /**
             * Format: date-time
             * @description The first failure after the last delivery that succeeded. It is null unless deliveries are failing.
             */
            failingSince: string | null;
            /**
             * @description The ID of the webhook, which begins with whk_.
             * @example whk_01kakakakafkhvayayayayayay
             */
            id: string;
            /**
             * Format: date-time
             * @description The time of the last delivery that succeeded, to the minute. It is null if there was none.
             */
            lastSuccessAt: string | null;
            /**
             * Format: int64
             * @description The number of the revision, which grows with every change. ETag and If-Match have it in quotes.
             */
            revision: number;
            /** @description The secrets that sign deliveries, newest first. */
            secrets: components["schemas"]["WebhookSecretView"][];
            /**
             * Format: date-time
             * @description The time of the last change, or of creation if there was none.
             */
            updatedAt: string;
            /** @description The URL to which events are sent. */
            url: string;
        };
        WhoamiView: {
            /** @description The ID of the agent that the key is bound to. It is null if the key is not bound to one. */
            agentId: string | null;
            /** @description The networks that the key can be used from, in CIDR notation. An empty list means any address. */
            allowedIps: string[];
            /**
             * Format: date-time
             * @description The time of creation. Later changes do not move it.
             */
            createdAt: string;
            /** @description The ID of the user or key that created the key, or local. */
            createdBy: string;
            /**
             * Format: date-time
             * @description The time at which the key expires. It is null if the key does not expire.
             */
            expiresAt: string | null;
            /**
             * @description The first characters of the key, which help people to tell keys apart.
             * @example kpsk_7Hq2
             */
            hint: string;
            /**
             * @description The ID of the key, which begins with key_. A rotation keeps it.
             * @example key_01kakakakafkhvayayayayayay
             */
            id: string;
            /**
             * Format: date-time
             * @description The time of the last request with any secret of the key. It is null if there was none.
             */
            lastUsedAt: string | null;
            /** @description The metadata that was stored with the key: strings, numbers or booleans by name. */
            metadata: {
                [key: string]: string | number | boolean;
            };
            /**
             * @description The display name of the key.
             * @example crawler
             */
            name: string;
            /** @description The key's own quotas. It is null if only the workspace's quotas apply. */
            quota: components["schemas"]["QuotaView"] | null;
            /** @description The limit of the key per minute, which applies in addition to the workspace's. */
            rateLimit: components["schemas"]["RateLimitView"];
            /**
             * Format: int64
             * @description The number of the revision, which grows with every change. ETag and If-Match have it in quotes.
             */
            revision: number;
            /** @description The reason that was given for the revocation. It is null if there was none. */
            revokeReason: string | null;
            /**
             * Format: date-time
             * @description The time at which the key was revoked. It is null if the key is not revoked.
             */
            revokedAt: string | null;
            /** @description The scopes of the key, which say what requests with it can do. */
            scopes: string[];
            /** @description The secrets of the key, newest first. A key that is being rotated has two. */
            secrets: components["schemas"]["SecretView"][];
            /**
             * @description The state of the key. While it is rotating, two secrets work. Only active and rotating keys are accepted.
             * @enum {string}
             */
            state: "active" | "rotating" | "expired" | "disabled" | "revoked";
            /** @description The ID of the subject that the key is bound to. It is null if the key is not bound to one. */
            subjectId: string | null;
            /**
             * Format: date-time
             * @description The time of the last change, or of creation if there was none.
             */
            updatedAt: string;
            /** @description The workspace that the key belongs to. */
            workspace: components["schemas"]["WorkspaceView"];
        };
        WorkspaceLimit: {
            /** @description The quotas of the workspace, and what is left of them. */
            quota: components["schemas"]["BudgetPair"];
            /** @description The limit of the workspace per minute, and what is left of it. */
            rateLimit: components["schemas"]["BudgetView"];
            /** @description The name of the workspace's tier. */
            tier: string;
        };
        WorkspaceRecord: {
            /**
             * Format: date-time
             * @description The time of creation. Later changes do not move it.
             */
            createdAt: string;
            /** @description Whether texts of memories, and of questions about them, are sent to the embeddings endpoint. */
            embeddings: boolean;
            /**
             * @description The ID of the workspace, which begins with wsp_.
             * @example wsp_01kakakakafkhvayayayayayay
             */
            id: string;
            /** @description The display name of the workspace. */
            name: string;
            /** @description Whether this is the operator workspace, which was created at the first start. Its admins administer the whole instance. */
            operator: boolean;
            /**
             * Format: int64
             * @description The number of the revision, which grows with every change. ETag and If-Match have it in quotes.
             */
            revision: number;
            /** @description The place of the search index, or the one to which it is moved: local or opensearch. */
            searchEngine: string;
            /** @description The move of the search index; null: none is going on. */
            searchMove: components["schemas"]["SearchMove"] | null;
            /** @description Whether the workspace is suspended, so that all requests with its credentials are refused. */
            suspended: boolean;
            /**
             * @description The name of the workspace's tier, which sets its limits.
             * @example pro
             */
            tier: string;
        };
        WorkspaceView: {
            /** @description The ID of the workspace. */
            id: string;
            /** @description The display name of the workspace. */
            name: string;
            /** @description Whether this is the operator workspace, whose admins administer the whole instance. */
            operator: boolean;
            /** @description The name of the workspace's tier, which sets its limits. */
            tier: string;
        };
    };
    responses: {
        /** @description The request is invalid. details.field and details.issue name the problem. */
        BadRequest: {
            headers: {
                "X-Keepsake-Error": components["headers"]["X-Keepsake-Error"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["ErrorBody"];
            };
        };
        /** @description The request conflicts with the state of the resource or with a limit of the tier. */
        Conflict: {
            headers: {
                "X-Keepsake-Error": components["headers"]["X-Keepsake-Error"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["ErrorBody"];
            };
        };
        /** @description The credential is valid but does not allow this request. */
        Forbidden: {
            headers: {
                "Retry-After": components["headers"]["Retry-After"];
                "X-Keepsake-Error": components["headers"]["X-Keepsake-Error"];
                "X-Keepsake-Status": components["headers"]["X-Keepsake-Status"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["ErrorBody"];
            };
        };
        /** @description This version of the API is sunset. The body names its replacement. */
        Gone: {
            headers: {
                "X-Keepsake-Error": components["headers"]["X-Keepsake-Error"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["VersionSunsetBody"];
            };
        };
        /** @description The server failed. The response does not say why; the server's log does. */
        InternalServerError: {
            headers: {
                "X-Keepsake-Error": components["headers"]["X-Keepsake-Error"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["ErrorBody"];
            };
        };
        /** @description The resource or the version of the API does not exist, or the caller cannot see it. */
        NotFound: {
            headers: {
                "X-Keepsake-Error": components["headers"]["X-Keepsake-Error"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["ErrorBody"];
            };
        };
        /** @description The resource still has the revision in If-None-Match. The response has no body. */
        NotModified: {
            headers: {
                ETag: components["headers"]["ETag"];
                [name: string]: unknown;
            };
            content?: never;
        };
        /** @description The body is larger than the limit of this operation. */
        PayloadTooLarge: {
            headers: {
                "X-Keepsake-Error": components["headers"]["X-Keepsake-Error"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["ErrorBody"];
            };
        };
        /** @description The resource has another revision than the one in If-Match, or exists although If-None-Match says that it must not. */
        PreconditionFailed: {
            headers: {
                "X-Keepsake-Error": components["headers"]["X-Keepsake-Error"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["ErrorBody"];
            };
        };
        /** @description The server cannot handle the request right now. Retry-After says when to try again. */
        ServiceUnavailable: {
            headers: {
                "Retry-After": components["headers"]["Retry-After"];
                "X-Keepsake-Error": components["headers"]["X-Keepsake-Error"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["ErrorBody"];
            };
        };
        /** @description A rate limit or a quota is used up. Retry-After says when to try again. */
        TooManyRequests: {
            headers: {
                "Retry-After": components["headers"]["Retry-After"];
                "X-Keepsake-Error": components["headers"]["X-Keepsake-Error"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["RateLimitBody"];
            };
        };
        /** @description The request has no valid credential, or the email or password is wrong. */
        Unauthorized: {
            headers: {
                "WWW-Authenticate": components["headers"]["WWW-Authenticate"];
                "X-Keepsake-Error": components["headers"]["X-Keepsake-Error"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["ErrorBody"];
            };
        };
        /** @description The operation does not accept the Content-Type of the request. */
        UnsupportedMediaType: {
            headers: {
                "X-Keepsake-Error": components["headers"]["X-Keepsake-Error"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["ErrorBody"];
            };
        };
    };
    parameters: {
        /** @description The version of the API to use. The default is the current version. */
        AcceptVersion: string;
        /** @description A key that makes the request safe to retry. The same request with the same key within 24 hours returns the stored response and has no further effect. */
        IdempotencyKey: string;
        /** @description An entity tag. If it names the current revision, the response is 304. */
        IfNoneMatch: string;
        /** @description The ID of the request. An ID that does not match `^[A-Za-z0-9_-]{8,64}$` is replaced by a generated one. */
        RequestId: string;
    };
    requestBodies: never;
    headers: {
        /** @description The revision in quotes, for If-Match and If-None-Match. */
        ETag: string;
        /** @description The value is true if this is the stored response to an earlier request with the same Idempotency-Key. */
        "Idempotent-Replayed": string;
        /** @description The path of the new resource. */
        Location: string;
        /** @description The number of seconds to wait before trying again. */
        "Retry-After": number;
        /** @description The credentials that the operation accepts. */
        "WWW-Authenticate": string;
        /** @description The code of the error. Only refusals of forward authentication have this header. */
        "X-Keepsake-Error": string;
        /** @description The ID of the API key that forward authentication has judged. */
        "X-Keepsake-Key-Id": string;
        /** @description The scopes of the credential that forward authentication has judged, separated by spaces. */
        "X-Keepsake-Scopes": string;
        /** @description The value is 429 if forward authentication sends that refusal as 403. */
        "X-Keepsake-Status": string;
        /** @description The ID of the user whose access token forward authentication has judged; else empty. */
        "X-Keepsake-User-Id": string;
        /** @description The workspace of the credential that forward authentication has judged. */
        "X-Keepsake-Workspace-Id": string;
        /** @description The cursor of the next page of a list that was sent as CSV. The last page has none. */
        "X-Next-Cursor": string;
    };
    pathItems: never;
}
export type $defs = Record<string, never>;
export interface operations {
    getSigningKeys: {
        parameters: {
            query?: never;
            header?: {
                /** @description The ID of the request. An ID that does not match `^[A-Za-z0-9_-]{8,64}$` is replaced by a generated one. */
                "X-Request-Id"?: components["parameters"]["RequestId"];
                /** @description The version of the API to use. The default is the current version. */
                "Accept-Version"?: components["parameters"]["AcceptVersion"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The request succeeded. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["GetSigningKeysAnswer"];
                };
            };
            400: components["responses"]["BadRequest"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    aiGetToolsMetadata: {
        parameters: {
            query?: never;
            header?: {
                /** @description The ID of the request. An ID that does not match `^[A-Za-z0-9_-]{8,64}$` is replaced by a generated one. */
                "X-Request-Id"?: components["parameters"]["RequestId"];
                /** @description The version of the API to use. The default is the current version. */
                "Accept-Version"?: components["parameters"]["AcceptVersion"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The request succeeded. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["GetToolsMetadataAnswer"];
                };
            };
            400: components["responses"]["BadRequest"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    aiRecallContext: {
        parameters: {
            query?: never;
            header?: {
                /** @description The ID of the request. An ID that does not match `^[A-Za-z0-9_-]{8,64}$` is replaced by a generated one. */
                "X-Request-Id"?: components["parameters"]["RequestId"];
                /** @description The version of the API to use. The default is the current version. */
                "Accept-Version"?: components["parameters"]["AcceptVersion"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["RecallContextBody"];
            };
        };
        responses: {
            /** @description The request succeeded. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RecallContextAnswer"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            410: components["responses"]["Gone"];
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    aiCallTools: {
        parameters: {
            query?: never;
            header?: {
                /** @description The revision of the protocol. */
                "MCP-Protocol-Version"?: string;
                /** @description The method of the message, since revision 2026-07-28. */
                "Mcp-Method"?: string;
                /** @description The tool that is called, since revision 2026-07-28. */
                "Mcp-Name"?: string;
                /** @description As in the operation that the tool runs, if it supports one. */
                "Idempotency-Key"?: string;
                /** @description The ID of the request. An ID that does not match `^[A-Za-z0-9_-]{8,64}$` is replaced by a generated one. */
                "X-Request-Id"?: components["parameters"]["RequestId"];
                /** @description The version of the API to use. The default is the current version. */
                "Accept-Version"?: components["parameters"]["AcceptVersion"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": unknown;
            };
        };
        responses: {
            /** @description The request succeeded. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description The change is in force on this instance and is stored as soon as possible. */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    aiRecall: {
        parameters: {
            query?: never;
            header?: {
                /** @description The ID of the request. An ID that does not match `^[A-Za-z0-9_-]{8,64}$` is replaced by a generated one. */
                "X-Request-Id"?: components["parameters"]["RequestId"];
                /** @description The version of the API to use. The default is the current version. */
                "Accept-Version"?: components["parameters"]["AcceptVersion"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["RecallBody"];
            };
        };
        responses: {
            /** @description The request succeeded. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RecallAnswer"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            410: components["responses"]["Gone"];
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    aiCreateMemory: {
        parameters: {
            query?: never;
            header?: {
                /** @description The ID of the request. An ID that does not match `^[A-Za-z0-9_-]{8,64}$` is replaced by a generated one. */
                "X-Request-Id"?: components["parameters"]["RequestId"];
                /** @description The version of the API to use. The default is the current version. */
                "Accept-Version"?: components["parameters"]["AcceptVersion"];
                /** @description A key that makes the request safe to retry. The same request with the same key within 24 hours returns the stored response and has no further effect. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewMemory"];
            };
        };
        responses: {
            /** @description The request succeeded. */
            200: {
                headers: {
                    ETag: components["headers"]["ETag"];
                    "Idempotent-Replayed": components["headers"]["Idempotent-Replayed"];
                    Location: components["headers"]["Location"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["StoredMemoryView"];
                };
            };
            /** @description The resource was created. */
            201: {
                headers: {
                    ETag: components["headers"]["ETag"];
                    "Idempotent-Replayed": components["headers"]["Idempotent-Replayed"];
                    Location: components["headers"]["Location"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["StoredMemoryView"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            410: components["responses"]["Gone"];
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    login: {
        parameters: {
            query?: never;
            header?: {
                /** @description The ID of the request. An ID that does not match `^[A-Za-z0-9_-]{8,64}$` is replaced by a generated one. */
                "X-Request-Id"?: components["parameters"]["RequestId"];
                /** @description The version of the API to use. The default is the current version. */
                "Accept-Version"?: components["parameters"]["AcceptVersion"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["LoginBody"];
            };
        };
        responses: {
            /** @description The request succeeded. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["GrantView"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    logout: {
        parameters: {
            query?: never;
            header?: {
                /** @description The ID of the request. An ID that does not match `^[A-Za-z0-9_-]{8,64}$` is replaced by a generated one. */
                "X-Request-Id"?: components["parameters"]["RequestId"];
                /** @description The version of the API to use. The default is the current version. */
                "Accept-Version"?: components["parameters"]["AcceptVersion"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The request succeeded. The response has no body. */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    changePassword: {
        parameters: {
            query?: never;
            header?: {
                /** @description The ID of the request. An ID that does not match `^[A-Za-z0-9_-]{8,64}$` is replaced by a generated one. */
                "X-Request-Id"?: components["parameters"]["RequestId"];
                /** @description The version of the API to use. The default is the current version. */
                "Accept-Version"?: components["parameters"]["AcceptVersion"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ChangePasswordBody"];
            };
        };
        responses: {
            /** @description The request succeeded. The response has no body. */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            412: components["responses"]["PreconditionFailed"];
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    refreshToken: {
        parameters: {
            query?: never;
            header?: {
                /** @description The ID of the request. An ID that does not match `^[A-Za-z0-9_-]{8,64}$` is replaced by a generated one. */
                "X-Request-Id"?: components["parameters"]["RequestId"];
                /** @description The version of the API to use. The default is the current version. */
                "Accept-Version"?: components["parameters"]["AcceptVersion"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["RefreshTokenBody"];
            };
        };
        responses: {
            /** @description The request succeeded. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["GrantView"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    listAuditLog: {
        parameters: {
            query?: {
                /** @description The maximum number of items in the response. */
                limit?: number;
                /** @description The nextCursor of the page before. Without it, the response is the first page. The other parameters must stay the same, except limit. */
                cursor?: string;
                /** @description List only entries of this workspace. */
                workspace?: string;
                /** @description List only entries of this key or user, or of local. */
                actor?: string;
                /** @description List only entries of this action. */
                action?: string;
                /** @description List only entries whose target has this ID. */
                target?: string;
                /** @description Whether reads of memories are included. */
                reads?: boolean;
                /** @description List only entries at or after this time. */
                from?: string;
                /** @description List only entries before this time. */
                to?: string;
            };
            header?: {
                /** @description The ID of the request. An ID that does not match `^[A-Za-z0-9_-]{8,64}$` is replaced by a generated one. */
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The request succeeded. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ListAuditLogAnswer"];
                    "application/x-ndjson": components["schemas"]["AuditEntryView"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            410: components["responses"]["Gone"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    verifyAuditLog: {
        parameters: {
            query?: never;
            header?: {
                /** @description The ID of the request. An ID that does not match `^[A-Za-z0-9_-]{8,64}$` is replaced by a generated one. */
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The request succeeded. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["VerifyAuditLogAnswer"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            410: components["responses"]["Gone"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    cacheStats: {
        parameters: {
            query?: never;
            header?: {
                /** @description The ID of the request. An ID that does not match `^[A-Za-z0-9_-]{8,64}$` is replaced by a generated one. */
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The request succeeded. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CacheStatsAnswer"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            410: components["responses"]["Gone"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    rotateSigningKey: {
        parameters: {
            query?: never;
            header?: {
                /** @description The ID of the request. An ID that does not match `^[A-Za-z0-9_-]{8,64}$` is replaced by a generated one. */
                "X-Request-Id"?: components["parameters"]["RequestId"];
                /** @description A key that makes the request safe to retry. The same request with the same key within 24 hours returns the stored response and has no further effect. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The request succeeded. */
            200: {
                headers: {
                    "Idempotent-Replayed": components["headers"]["Idempotent-Replayed"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RotateSigningKeyAnswer"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            410: components["responses"]["Gone"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    listTiers: {
        parameters: {
            query?: {
                /** @description The maximum number of items in the response. */
                limit?: number;
                /** @description The nextCursor of the page before. Without it, the response is the first page. The other parameters must stay the same, except limit. */
                cursor?: string;
            };
            header?: {
                /** @description The ID of the request. An ID that does not match `^[A-Za-z0-9_-]{8,64}$` is replaced by a generated one. */
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The request succeeded. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ListTiersAnswer"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            410: components["responses"]["Gone"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    changeTier: {
        parameters: {
            query?: never;
            header?: {
                /** @description The ETag of the revision that the request is meant for. If the current revision is another one, the request is refused with 412. Without it, the request applies to any revision. */
                "If-Match"?: string;
                /** @description With *, the request is refused with 412, because every tier exists. */
                "If-None-Match"?: string;
                /** @description The ID of the request. An ID that does not match `^[A-Za-z0-9_-]{8,64}$` is replaced by a generated one. */
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path: {
                /** @description The name of the tier. */
                name: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["TierNumbers"];
            };
        };
        responses: {
            /** @description The request succeeded. */
            200: {
                headers: {
                    ETag: components["headers"]["ETag"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TierView"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            410: components["responses"]["Gone"];
            412: components["responses"]["PreconditionFailed"];
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    listUsers: {
        parameters: {
            query?: {
                /** @description The ID of the workspace whose users are listed. */
                workspace?: string;
                /** @description List only users with this role. */
                role?: "viewer" | "member" | "developer" | "admin";
                /** @description The maximum number of items in the response. */
                limit?: number;
                /** @description The nextCursor of the page before. Without it, the response is the first page. The other parameters must stay the same, except limit. */
                cursor?: string;
            };
            header?: {
                /** @description The ID of the request. An ID that does not match `^[A-Za-z0-9_-]{8,64}$` is replaced by a generated one. */
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The request succeeded. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ListUsersAnswer"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            410: components["responses"]["Gone"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    createUser: {
        parameters: {
            query?: never;
            header?: {
                /** @description The ID of the request. An ID that does not match `^[A-Za-z0-9_-]{8,64}$` is replaced by a generated one. */
                "X-Request-Id"?: components["parameters"]["RequestId"];
                /** @description A key that makes the request safe to retry. The same request with the same key within 24 hours returns the stored response and has no further effect. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["CreateUserBody"];
            };
        };
        responses: {
            /** @description The resource was created. */
            201: {
                headers: {
                    ETag: components["headers"]["ETag"];
                    "Idempotent-Replayed": components["headers"]["Idempotent-Replayed"];
                    Location: components["headers"]["Location"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CreatedUserView"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            410: components["responses"]["Gone"];
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    getUser: {
        parameters: {
            query?: never;
            header?: {
                /** @description The ID of the request. An ID that does not match `^[A-Za-z0-9_-]{8,64}$` is replaced by a generated one. */
                "X-Request-Id"?: components["parameters"]["RequestId"];
                /** @description An entity tag. If it names the current revision, the response is 304. */
                "If-None-Match"?: components["parameters"]["IfNoneMatch"];
            };
            path: {
                /** @description The ID of the user. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The request succeeded. */
            200: {
                headers: {
                    ETag: components["headers"]["ETag"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["UserView"];
                };
            };
            304: components["responses"]["NotModified"];
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            410: components["responses"]["Gone"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    deleteUser: {
        parameters: {
            query?: never;
            header?: {
                /** @description The ETag of the revision that the request is meant for. If the current revision is another one, the request is refused with 412. Without it, the request applies to any revision. */
                "If-Match"?: string;
                /** @description The ID of the request. An ID that does not match `^[A-Za-z0-9_-]{8,64}$` is replaced by a generated one. */
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path: {
                /** @description The ID of the user. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The request succeeded. The response has no body. */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            410: components["responses"]["Gone"];
            412: components["responses"]["PreconditionFailed"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    changeUser: {
        parameters: {
            query?: never;
            header?: {
                /** @description The ETag of the revision that the request is meant for. If the current revision is another one, the request is refused with 412. Without it, the request applies to any revision. */
                "If-Match"?: string;
                /** @description The ID of the request. An ID that does not match `^[A-Za-z0-9_-]{8,64}$` is replaced by a generated one. */
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path: {
                /** @description The ID of the user. */
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ChangeUserBody"];
                "application/merge-patch+json": components["schemas"]["ChangeUserBody"];
            };
        };
        responses: {
            /** @description The request succeeded. */
            200: {
                headers: {
                    ETag: components["headers"]["ETag"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["UserView"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            410: components["responses"]["Gone"];
            412: components["responses"]["PreconditionFailed"];
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    createSetupLink: {
        parameters: {
            query?: never;
            header?: {
                /** @description The ID of the request. An ID that does not match `^[A-Za-z0-9_-]{8,64}$` is replaced by a generated one. */
                "X-Request-Id"?: components["parameters"]["RequestId"];
                /** @description A key that makes the request safe to retry. The same request with the same key within 24 hours returns the stored response and has no further effect. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /** @description The ID of the user. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The resource was created. */
            201: {
                headers: {
                    "Idempotent-Replayed": components["headers"]["Idempotent-Replayed"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CreateSetupLinkAnswer"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            410: components["responses"]["Gone"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    listVersionRecords: {
        parameters: {
            query?: {
                /** @description The maximum number of items in the response. */
                limit?: number;
                /** @description The nextCursor of the page before. Without it, the response is the first page. The other parameters must stay the same, except limit. */
                cursor?: string;
            };
            header?: {
                /** @description The ID of the request. An ID that does not match `^[A-Za-z0-9_-]{8,64}$` is replaced by a generated one. */
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The request succeeded. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ListVersionRecordsAnswer"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            410: components["responses"]["Gone"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    releaseVersion: {
        parameters: {
            query?: never;
            header?: {
                /** @description The ID of the request. An ID that does not match `^[A-Za-z0-9_-]{8,64}$` is replaced by a generated one. */
                "X-Request-Id"?: components["parameters"]["RequestId"];
                /** @description A key that makes the request safe to retry. The same request with the same key within 24 hours returns the stored response and has no further effect. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ReleaseVersionBody"];
            };
        };
        responses: {
            /** @description The resource was created. */
            201: {
                headers: {
                    ETag: components["headers"]["ETag"];
                    "Idempotent-Replayed": components["headers"]["Idempotent-Replayed"];
                    Location: components["headers"]["Location"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["VersionRecord"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            410: components["responses"]["Gone"];
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    getVersionRecord: {
        parameters: {
            query?: never;
            header?: {
                /** @description The ID of the request. An ID that does not match `^[A-Za-z0-9_-]{8,64}$` is replaced by a generated one. */
                "X-Request-Id"?: components["parameters"]["RequestId"];
                /** @description An entity tag. If it names the current revision, the response is 304. */
                "If-None-Match"?: components["parameters"]["IfNoneMatch"];
            };
            path: {
                /** @description The number of the version. */
                n: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The request succeeded. */
            200: {
                headers: {
                    ETag: components["headers"]["ETag"];
                    Location: components["headers"]["Location"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["VersionRecord"];
                };
            };
            304: components["responses"]["NotModified"];
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            410: components["responses"]["Gone"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    changeVersion: {
        parameters: {
            query?: never;
            header?: {
                /** @description The ETag of the revision that the request is meant for. If the current revision is another one, the request is refused with 412. Without it, the request applies to any revision. */
                "If-Match"?: string;
                /** @description The ID of the request. An ID that does not match `^[A-Za-z0-9_-]{8,64}$` is replaced by a generated one. */
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path: {
                /** @description The number of the version. */
                n: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ChangeVersionBody"];
                "application/merge-patch+json": components["schemas"]["ChangeVersionBody"];
            };
        };
        responses: {
            /** @description The request succeeded. */
            200: {
                headers: {
                    ETag: components["headers"]["ETag"];
                    Location: components["headers"]["Location"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["VersionRecord"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            410: components["responses"]["Gone"];
            412: components["responses"]["PreconditionFailed"];
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    rehearseSunset: {
        parameters: {
            query?: never;
            header?: {
                /** @description The ID of the request. An ID that does not match `^[A-Za-z0-9_-]{8,64}$` is replaced by a generated one. */
                "X-Request-Id"?: components["parameters"]["RequestId"];
                /** @description A key that makes the request safe to retry. The same request with the same key within 24 hours returns the stored response and has no further effect. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /** @description The number of the version. */
                n: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["RehearseSunsetBody"];
            };
        };
        responses: {
            /** @description The request succeeded. */
            200: {
                headers: {
                    "Idempotent-Replayed": components["headers"]["Idempotent-Replayed"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RehearseSunsetAnswer"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            410: components["responses"]["Gone"];
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    retireVersion: {
        parameters: {
            query?: never;
            header?: {
                /** @description The ID of the request. An ID that does not match `^[A-Za-z0-9_-]{8,64}$` is replaced by a generated one. */
                "X-Request-Id"?: components["parameters"]["RequestId"];
                /** @description A key that makes the request safe to retry. The same request with the same key within 24 hours returns the stored response and has no further effect. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /** @description The number of the version. */
                n: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The request succeeded. */
            200: {
                headers: {
                    ETag: components["headers"]["ETag"];
                    "Idempotent-Replayed": components["headers"]["Idempotent-Replayed"];
                    Location: components["headers"]["Location"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["VersionRecord"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            410: components["responses"]["Gone"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    listVersionCallers: {
        parameters: {
            query?: {
                /** @description The maximum number of items in the response. */
                limit?: number;
                /** @description The nextCursor of the page before. Without it, the response is the first page. The other parameters must stay the same, except limit. */
                cursor?: string;
                /** @description List only callers whose last request is at or after this time. */
                from?: string;
                /** @description Whether to list what the console has called for its pages. It always calls the current version. */
                console?: boolean;
            };
            header?: {
                /** @description The ID of the request. An ID that does not match `^[A-Za-z0-9_-]{8,64}$` is replaced by a generated one. */
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path: {
                /** @description The number of the version. */
                n: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The request succeeded. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ListVersionCallersAnswer"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            410: components["responses"]["Gone"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    listWebhooks: {
        parameters: {
            query?: {
                /** @description The maximum number of items in the response. */
                limit?: number;
                /** @description The nextCursor of the page before. Without it, the response is the first page. The other parameters must stay the same, except limit. */
                cursor?: string;
            };
            header?: {
                /** @description The ID of the request. An ID that does not match `^[A-Za-z0-9_-]{8,64}$` is replaced by a generated one. */
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The request succeeded. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ListWebhooksAnswer"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            410: components["responses"]["Gone"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    createWebhook: {
        parameters: {
            query?: never;
            header?: {
                /** @description The ID of the request. An ID that does not match `^[A-Za-z0-9_-]{8,64}$` is replaced by a generated one. */
                "X-Request-Id"?: components["parameters"]["RequestId"];
                /** @description A key that makes the request safe to retry. The same request with the same key within 24 hours returns the stored response and has no further effect. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["CreateWebhookBody"];
            };
        };
        responses: {
            /** @description The resource was created. */
            201: {
                headers: {
                    ETag: components["headers"]["ETag"];
                    "Idempotent-Replayed": components["headers"]["Idempotent-Replayed"];
                    Location: components["headers"]["Location"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CreatedWebhookView"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            410: components["responses"]["Gone"];
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    getWebhook: {
        parameters: {
            query?: never;
            header?: {
                /** @description The ID of the request. An ID that does not match `^[A-Za-z0-9_-]{8,64}$` is replaced by a generated one. */
                "X-Request-Id"?: components["parameters"]["RequestId"];
                /** @description An entity tag. If it names the current revision, the response is 304. */
                "If-None-Match"?: components["parameters"]["IfNoneMatch"];
            };
            path: {
                /** @description The ID of the webhook. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The request succeeded. */
            200: {
                headers: {
                    ETag: components["headers"]["ETag"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WebhookView"];
                };
            };
            304: components["responses"]["NotModified"];
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            410: components["responses"]["Gone"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    deleteWebhook: {
        parameters: {
            query?: never;
            header?: {
                /** @description The ETag of the revision that the request is meant for. If the current revision is another one, the request is refused with 412. Without it, the request applies to any revision. */
                "If-Match"?: string;
                /** @description The ID of the request. An ID that does not match `^[A-Za-z0-9_-]{8,64}$` is replaced by a generated one. */
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path: {
                /** @description The ID of the webhook. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The request succeeded. The response has no body. */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            410: components["responses"]["Gone"];
            412: components["responses"]["PreconditionFailed"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    changeWebhook: {
        parameters: {
            query?: never;
            header?: {
                /** @description The ETag of the revision that the request is meant for. If the current revision is another one, the request is refused with 412. Without it, the request applies to any revision. */
                "If-Match"?: string;
                /** @description The ID of the request. An ID that does not match `^[A-Za-z0-9_-]{8,64}$` is replaced by a generated one. */
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path: {
                /** @description The ID of the webhook. */
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ChangeWebhookBody"];
                "application/merge-patch+json": components["schemas"]["ChangeWebhookBody"];
            };
        };
        responses: {
            /** @description The request succeeded. */
            200: {
                headers: {
                    ETag: components["headers"]["ETag"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WebhookView"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            410: components["responses"]["Gone"];
            412: components["responses"]["PreconditionFailed"];
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    listWebhookDeliveries: {
        parameters: {
            query?: {
                /** @description List only deliveries in this state. */
                state?: "pending" | "delivered" | "failed";
                /** @description List only deliveries of this event. */
                event?: "api_key.created" | "api_key.rotated" | "api_key.rotation_completed" | "api_key.disabled" | "api_key.expiring" | "api_key.expired" | "api_key.revoked" | "api_key.revoked_key_used" | "quota.threshold_reached" | "version.deprecated" | "version.sunset_extended" | "version.sunset" | "version.retired" | "memory.created" | "memory.updated" | "memory.imported" | "memory.forgotten" | "memory.expired" | "document.imported" | "document.deleted" | "webhook.disabled" | "subject.erased" | "webhook.ping";
                /** @description List only deliveries of the event with this ID. */
                eventId?: string;
                /** @description The maximum number of items in the response. */
                limit?: number;
                /** @description The nextCursor of the page before. Without it, the response is the first page. The other parameters must stay the same, except limit. */
                cursor?: string;
            };
            header?: {
                /** @description The ID of the request. An ID that does not match `^[A-Za-z0-9_-]{8,64}$` is replaced by a generated one. */
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path: {
                /** @description The ID of the webhook. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The request succeeded. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ListWebhookDeliveriesAnswer"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            410: components["responses"]["Gone"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    getWebhookDelivery: {
        parameters: {
            query?: never;
            header?: {
                /** @description The ID of the request. An ID that does not match `^[A-Za-z0-9_-]{8,64}$` is replaced by a generated one. */
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path: {
                /** @description The ID of the webhook. */
                id: string;
                /** @description The ID of the delivery. */
                deliveryId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The request succeeded. */
            200: {
                headers: {
                    Location: components["headers"]["Location"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DeliveryView"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            410: components["responses"]["Gone"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    replayWebhookDelivery: {
        parameters: {
            query?: never;
            header?: {
                /** @description The ID of the request. An ID that does not match `^[A-Za-z0-9_-]{8,64}$` is replaced by a generated one. */
                "X-Request-Id"?: components["parameters"]["RequestId"];
                /** @description A key that makes the request safe to retry. The same request with the same key within 24 hours returns the stored response and has no further effect. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /** @description The ID of the webhook. */
                id: string;
                /** @description The ID of the delivery. */
                deliveryId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The request succeeded. */
            200: {
                headers: {
                    "Idempotent-Replayed": components["headers"]["Idempotent-Replayed"];
                    Location: components["headers"]["Location"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DeliveryView"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            410: components["responses"]["Gone"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    pingWebhook: {
        parameters: {
            query?: never;
            header?: {
                /** @description The ID of the request. An ID that does not match `^[A-Za-z0-9_-]{8,64}$` is replaced by a generated one. */
                "X-Request-Id"?: components["parameters"]["RequestId"];
                /** @description A key that makes the request safe to retry. The same request with the same key within 24 hours returns the stored response and has no further effect. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /** @description The ID of the webhook. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The resource was created. */
            201: {
                headers: {
                    "Idempotent-Replayed": components["headers"]["Idempotent-Replayed"];
                    Location: components["headers"]["Location"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DeliveryView"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            410: components["responses"]["Gone"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    rotateWebhookSecret: {
        parameters: {
            query?: never;
            header?: {
                /** @description The ETag of the revision that the request is meant for. If the current revision is another one, the request is refused with 412. Without it, the request applies to any revision. */
                "If-Match"?: string;
                /** @description The ID of the request. An ID that does not match `^[A-Za-z0-9_-]{8,64}$` is replaced by a generated one. */
                "X-Request-Id"?: components["parameters"]["RequestId"];
                /** @description A key that makes the request safe to retry. The same request with the same key within 24 hours returns the stored response and has no further effect. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /** @description The ID of the webhook. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["RotateWebhookSecretBody"];
            };
        };
        responses: {
            /** @description The request succeeded. */
            200: {
                headers: {
                    ETag: components["headers"]["ETag"];
                    "Idempotent-Replayed": components["headers"]["Idempotent-Replayed"];
                    Location: components["headers"]["Location"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CreatedWebhookView"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            410: components["responses"]["Gone"];
            412: components["responses"]["PreconditionFailed"];
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    listWorkspaces: {
        parameters: {
            query?: {
                /** @description The maximum number of items in the response. */
                limit?: number;
                /** @description The nextCursor of the page before. Without it, the response is the first page. The other parameters must stay the same, except limit. */
                cursor?: string;
            };
            header?: {
                /** @description The ID of the request. An ID that does not match `^[A-Za-z0-9_-]{8,64}$` is replaced by a generated one. */
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The request succeeded. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ListWorkspacesAnswer"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            410: components["responses"]["Gone"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    createWorkspace: {
        parameters: {
            query?: never;
            header?: {
                /** @description The ID of the request. An ID that does not match `^[A-Za-z0-9_-]{8,64}$` is replaced by a generated one. */
                "X-Request-Id"?: components["parameters"]["RequestId"];
                /** @description A key that makes the request safe to retry. The same request with the same key within 24 hours returns the stored response and has no further effect. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["CreateWorkspaceBody"];
            };
        };
        responses: {
            /** @description The resource was created. */
            201: {
                headers: {
                    ETag: components["headers"]["ETag"];
                    "Idempotent-Replayed": components["headers"]["Idempotent-Replayed"];
                    Location: components["headers"]["Location"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WorkspaceRecord"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            410: components["responses"]["Gone"];
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    getWorkspace: {
        parameters: {
            query?: never;
            header?: {
                /** @description The ID of the request. An ID that does not match `^[A-Za-z0-9_-]{8,64}$` is replaced by a generated one. */
                "X-Request-Id"?: components["parameters"]["RequestId"];
                /** @description An entity tag. If it names the current revision, the response is 304. */
                "If-None-Match"?: components["parameters"]["IfNoneMatch"];
            };
            path: {
                /** @description The ID of the workspace. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The request succeeded. */
            200: {
                headers: {
                    ETag: components["headers"]["ETag"];
                    Location: components["headers"]["Location"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WorkspaceRecord"];
                };
            };
            304: components["responses"]["NotModified"];
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            410: components["responses"]["Gone"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    changeWorkspace: {
        parameters: {
            query?: never;
            header?: {
                /** @description The ETag of the revision that the request is meant for. If the current revision is another one, the request is refused with 412. Without it, the request applies to any revision. */
                "If-Match"?: string;
                /** @description The ID of the request. An ID that does not match `^[A-Za-z0-9_-]{8,64}$` is replaced by a generated one. */
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path: {
                /** @description The ID of the workspace. */
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ChangeWorkspaceBody"];
                "application/merge-patch+json": components["schemas"]["ChangeWorkspaceBody"];
            };
        };
        responses: {
            /** @description The request succeeded. */
            200: {
                headers: {
                    ETag: components["headers"]["ETag"];
                    Location: components["headers"]["Location"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WorkspaceRecord"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            410: components["responses"]["Gone"];
            412: components["responses"]["PreconditionFailed"];
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    listErrors: {
        parameters: {
            query?: {
                /** @description The format of the response, whatever Accept says. */
                format?: "json" | "csv";
                /** @description The workspace, or all for the whole instance. The default is the caller's workspace. Only operators can name another one. */
                workspace?: string;
                /** @description The period that ends now. The default is 24h. */
                window?: "1h" | "24h" | "7d" | "30d";
                /** @description The start of the period, instead of window. It is moved back to the start of an interval. The default is 24 hours before to. */
                from?: string;
                /** @description The end of the period, which is moved to the end of an interval that has ended. The default is now. */
                to?: string;
                /** @description The length of the intervals. Usage by minute is kept for 48 hours, by hour for 90 days, and by day for 25 months. A period has at most 3,000 intervals. */
                interval?: "minute" | "hour" | "day" | "auto";
                /** @description Up to two dimensions, separated by commas: key, route, method, status, statusClass, version or surface. */
                groupBy?: string[];
                /** @description A dimension and a value. Values of one dimension are alternatives; a request must match every dimension. With - before it, requests with the value are left out. The value none stands for requests without a key or a route. */
                filter?: string[];
                /** @description The maximum number of items in the response. */
                limit?: number;
            };
            header?: {
                /** @description The ID of the request. An ID that does not match `^[A-Za-z0-9_-]{8,64}$` is replaced by a generated one. */
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The request succeeded. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ListErrorsAnswer"];
                    "text/csv": string;
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            410: components["responses"]["Gone"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    listRequests: {
        parameters: {
            query?: {
                /** @description The format of the response, whatever Accept says. */
                format?: "json" | "csv";
                /** @description The workspace, or all for the whole instance. The default is the caller's workspace. Only operators can name another one. */
                workspace?: string;
                /** @description The period that ends now. The default is 24h. */
                window?: "1h" | "24h" | "7d" | "30d";
                /** @description The start of the period, instead of window. It is moved back to the start of an interval. The default is 24 hours before to. */
                from?: string;
                /** @description The end of the period, which is moved to the end of an interval that has ended. The default is now. */
                to?: string;
                /** @description The length of the intervals. Usage by minute is kept for 48 hours, by hour for 90 days, and by day for 25 months. A period has at most 3,000 intervals. */
                interval?: "minute" | "hour" | "day" | "auto";
                /** @description Up to two dimensions, separated by commas: key, route, method, status, statusClass, version or surface. */
                groupBy?: string[];
                /** @description A dimension and a value. Values of one dimension are alternatives; a request must match every dimension. With - before it, requests with the value are left out. The value none stands for requests without a key or a route. */
                filter?: string[];
                /** @description The maximum number of items in the response. */
                limit?: number;
                /** @description The nextCursor of the page before. Without it, the response is the first page. The other parameters must stay the same, except limit. */
                cursor?: string;
                /** @description List only requests with this ID. Without a period, all requests are searched. */
                requestId?: string;
            };
            header?: {
                /** @description The ID of the request. An ID that does not match `^[A-Za-z0-9_-]{8,64}$` is replaced by a generated one. */
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The request succeeded. */
            200: {
                headers: {
                    "X-Next-Cursor": components["headers"]["X-Next-Cursor"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ListRequestsAnswer"];
                    "text/csv": string;
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            410: components["responses"]["Gone"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    getUsageSummary: {
        parameters: {
            query?: {
                /** @description The format of the response, whatever Accept says. */
                format?: "json" | "csv";
                /** @description The workspace, or all for the whole instance. The default is the caller's workspace. Only operators can name another one. */
                workspace?: string;
                /** @description The period that ends now. The default is 24h. */
                window?: "1h" | "24h" | "7d" | "30d";
                /** @description The start of the period, instead of window. It is moved back to the start of an interval. The default is 24 hours before to. */
                from?: string;
                /** @description The end of the period, which is moved to the end of an interval that has ended. The default is now. */
                to?: string;
                /** @description The length of the intervals. Usage by minute is kept for 48 hours, by hour for 90 days, and by day for 25 months. A period has at most 3,000 intervals. */
                interval?: "minute" | "hour" | "day" | "auto";
                /** @description Up to two dimensions, separated by commas: key, route, method, status, statusClass, version or surface. */
                groupBy?: string[];
                /** @description A dimension and a value. Values of one dimension are alternatives; a request must match every dimension. With - before it, requests with the value are left out. The value none stands for requests without a key or a route. */
                filter?: string[];
                /** @description The maximum number of items in the response. */
                limit?: number;
            };
            header?: {
                /** @description The ID of the request. An ID that does not match `^[A-Za-z0-9_-]{8,64}$` is replaced by a generated one. */
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The request succeeded. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["GetUsageSummaryAnswer"];
                    "text/csv": string;
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            410: components["responses"]["Gone"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    getUsageSeries: {
        parameters: {
            query?: {
                /** @description The format of the response, whatever Accept says. */
                format?: "json" | "csv";
                /** @description The workspace, or all for the whole instance. The default is the caller's workspace. Only operators can name another one. */
                workspace?: string;
                /** @description The period that ends now. The default is 24h. */
                window?: "1h" | "24h" | "7d" | "30d";
                /** @description The start of the period, instead of window. It is moved back to the start of an interval. The default is 24 hours before to. */
                from?: string;
                /** @description The end of the period, which is moved to the end of an interval that has ended. The default is now. */
                to?: string;
                /** @description The length of the intervals. Usage by minute is kept for 48 hours, by hour for 90 days, and by day for 25 months. A period has at most 3,000 intervals. */
                interval?: "minute" | "hour" | "day" | "auto";
                /** @description Up to two dimensions, separated by commas: key, route, method, status, statusClass, version or surface. */
                groupBy?: string[];
                /** @description A dimension and a value. Values of one dimension are alternatives; a request must match every dimension. With - before it, requests with the value are left out. The value none stands for requests without a key or a route. */
                filter?: string[];
                /** @description The maximum number of items in the response. */
                limit?: number;
            };
            header?: {
                /** @description The ID of the request. An ID that does not match `^[A-Za-z0-9_-]{8,64}$` is replaced by a generated one. */
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The request succeeded. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["GetUsageSeriesAnswer"];
                    "text/csv": string;
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            410: components["responses"]["Gone"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    getTopUsage: {
        parameters: {
            query?: {
                /** @description The format of the response, whatever Accept says. */
                format?: "json" | "csv";
                /** @description The workspace, or all for the whole instance. The default is the caller's workspace. Only operators can name another one. */
                workspace?: string;
                /** @description The period that ends now. The default is 24h. */
                window?: "1h" | "24h" | "7d" | "30d";
                /** @description The start of the period, instead of window. It is moved back to the start of an interval. The default is 24 hours before to. */
                from?: string;
                /** @description The end of the period, which is moved to the end of an interval that has ended. The default is now. */
                to?: string;
                /** @description The length of the intervals. Usage by minute is kept for 48 hours, by hour for 90 days, and by day for 25 months. A period has at most 3,000 intervals. */
                interval?: "minute" | "hour" | "day" | "auto";
                /** @description Up to two dimensions, separated by commas: key, route, method, status, statusClass, version or surface. */
                groupBy?: string[];
                /** @description A dimension and a value. Values of one dimension are alternatives; a request must match every dimension. With - before it, requests with the value are left out. The value none stands for requests without a key or a route. */
                filter?: string[];
                /** @description The maximum number of items in the response. */
                limit?: number;
            };
            header?: {
                /** @description The ID of the request. An ID that does not match `^[A-Za-z0-9_-]{8,64}$` is replaced by a generated one. */
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The request succeeded. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["GetTopUsageAnswer"];
                    "text/csv": string;
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            410: components["responses"]["Gone"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    getQuotaUsage: {
        parameters: {
            query?: {
                /** @description The format of the response, whatever Accept says. */
                format?: "json" | "csv";
                /** @description The workspace, or all for the whole instance. The default is the caller's workspace. Only operators can name another one. */
                workspace?: string;
                /** @description The period that ends now. The default is 24h. */
                window?: "1h" | "24h" | "7d" | "30d";
                /** @description The start of the period, instead of window. It is moved back to the start of an interval. The default is 24 hours before to. */
                from?: string;
                /** @description The end of the period, which is moved to the end of an interval that has ended. The default is now. */
                to?: string;
                /** @description The length of the intervals. Usage by minute is kept for 48 hours, by hour for 90 days, and by day for 25 months. A period has at most 3,000 intervals. */
                interval?: "minute" | "hour" | "day" | "auto";
                /** @description Up to two dimensions, separated by commas: key, route, method, status, statusClass, version or surface. */
                groupBy?: string[];
                /** @description A dimension and a value. Values of one dimension are alternatives; a request must match every dimension. With - before it, requests with the value are left out. The value none stands for requests without a key or a route. */
                filter?: string[];
                /** @description The maximum number of items in the response. */
                limit?: number;
            };
            header?: {
                /** @description The ID of the request. An ID that does not match `^[A-Za-z0-9_-]{8,64}$` is replaced by a generated one. */
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The request succeeded. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["GetQuotaUsageAnswer"];
                    "text/csv": string;
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            410: components["responses"]["Gone"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    getVersionUsage: {
        parameters: {
            query?: {
                /** @description The format of the response, whatever Accept says. */
                format?: "json" | "csv";
                /** @description The workspace, or all for the whole instance. The default is the caller's workspace. Only operators can name another one. */
                workspace?: string;
                /** @description The period that ends now. The default is 24h. */
                window?: "1h" | "24h" | "7d" | "30d";
                /** @description The start of the period, instead of window. It is moved back to the start of an interval. The default is 24 hours before to. */
                from?: string;
                /** @description The end of the period, which is moved to the end of an interval that has ended. The default is now. */
                to?: string;
                /** @description The length of the intervals. Usage by minute is kept for 48 hours, by hour for 90 days, and by day for 25 months. A period has at most 3,000 intervals. */
                interval?: "minute" | "hour" | "day" | "auto";
                /** @description Up to two dimensions, separated by commas: key, route, method, status, statusClass, version or surface. */
                groupBy?: string[];
                /** @description A dimension and a value. Values of one dimension are alternatives; a request must match every dimension. With - before it, requests with the value are left out. The value none stands for requests without a key or a route. */
                filter?: string[];
                /** @description The maximum number of items in the response. */
                limit?: number;
            };
            header?: {
                /** @description The ID of the request. An ID that does not match `^[A-Za-z0-9_-]{8,64}$` is replaced by a generated one. */
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The request succeeded. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["GetVersionUsageAnswer"];
                    "text/csv": string;
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            410: components["responses"]["Gone"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    listCollections: {
        parameters: {
            query?: {
                /** @description The maximum number of items in the response. */
                limit?: number;
                /** @description The nextCursor of the page before. Without it, the response is the first page. The other parameters must stay the same, except limit. */
                cursor?: string;
            };
            header?: {
                /** @description The ID of the request. An ID that does not match `^[A-Za-z0-9_-]{8,64}$` is replaced by a generated one. */
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The request succeeded. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ListCollectionsAnswer"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            410: components["responses"]["Gone"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    getCollection: {
        parameters: {
            query?: never;
            header?: {
                /** @description The ID of the request. An ID that does not match `^[A-Za-z0-9_-]{8,64}$` is replaced by a generated one. */
                "X-Request-Id"?: components["parameters"]["RequestId"];
                /** @description An entity tag. If it names the current revision, the response is 304. */
                "If-None-Match"?: components["parameters"]["IfNoneMatch"];
            };
            path: {
                /** @description The name of the collection. */
                collection: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The request succeeded. */
            200: {
                headers: {
                    ETag: components["headers"]["ETag"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CollectionView"];
                };
            };
            304: components["responses"]["NotModified"];
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            410: components["responses"]["Gone"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    putCollection: {
        parameters: {
            query?: never;
            header?: {
                /** @description The ETag of the revision that the request is meant for. If the current revision is another one, the request is refused with 412. Without it, the request applies to any revision. */
                "If-Match"?: string;
                /** @description With *, existing settings are not replaced and the request is refused with 412. */
                "If-None-Match"?: string;
                /** @description The ID of the request. An ID that does not match `^[A-Za-z0-9_-]{8,64}$` is replaced by a generated one. */
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path: {
                /** @description The name of the collection, which the client chooses: at most 128 characters. */
                collection: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["CollectionSettings"];
            };
        };
        responses: {
            /** @description The request succeeded. */
            200: {
                headers: {
                    ETag: components["headers"]["ETag"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CollectionView"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            410: components["responses"]["Gone"];
            412: components["responses"]["PreconditionFailed"];
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    deleteCollection: {
        parameters: {
            query?: never;
            header?: {
                /** @description The ETag of the revision that the request is meant for. If the current revision is another one, the request is refused with 412. Without it, the request applies to any revision. */
                "If-Match"?: string;
                /** @description The ID of the request. An ID that does not match `^[A-Za-z0-9_-]{8,64}$` is replaced by a generated one. */
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path: {
                /** @description The name of the collection. */
                collection: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The request succeeded. The response has no body. */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            410: components["responses"]["Gone"];
            412: components["responses"]["PreconditionFailed"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    listAPIKeys: {
        parameters: {
            query?: {
                /** @description List only keys in this state. */
                state?: "active" | "rotating" | "expired" | "disabled" | "revoked";
                /** @description List only keys created by the user or key with this ID, or by local. */
                createdBy?: string;
                /** @description The maximum number of items in the response. */
                limit?: number;
                /** @description The nextCursor of the page before. Without it, the response is the first page. The other parameters must stay the same, except limit. */
                cursor?: string;
            };
            header?: {
                /** @description The ID of the request. An ID that does not match `^[A-Za-z0-9_-]{8,64}$` is replaced by a generated one. */
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The request succeeded. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ListAPIKeysAnswer"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            410: components["responses"]["Gone"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    createAPIKey: {
        parameters: {
            query?: never;
            header?: {
                /** @description The ID of the request. An ID that does not match `^[A-Za-z0-9_-]{8,64}$` is replaced by a generated one. */
                "X-Request-Id"?: components["parameters"]["RequestId"];
                /** @description A key that makes the request safe to retry. The same request with the same key within 24 hours returns the stored response and has no further effect. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewAPIKey"];
            };
        };
        responses: {
            /** @description The resource was created. */
            201: {
                headers: {
                    ETag: components["headers"]["ETag"];
                    "Idempotent-Replayed": components["headers"]["Idempotent-Replayed"];
                    Location: components["headers"]["Location"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CreatedAPIKeyView"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            410: components["responses"]["Gone"];
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    getAPIKey: {
        parameters: {
            query?: never;
            header?: {
                /** @description The ID of the request. An ID that does not match `^[A-Za-z0-9_-]{8,64}$` is replaced by a generated one. */
                "X-Request-Id"?: components["parameters"]["RequestId"];
                /** @description An entity tag. If it names the current revision, the response is 304. */
                "If-None-Match"?: components["parameters"]["IfNoneMatch"];
            };
            path: {
                /** @description The ID of the API key. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The request succeeded. */
            200: {
                headers: {
                    ETag: components["headers"]["ETag"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ApiKeyView"];
                };
            };
            304: components["responses"]["NotModified"];
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            410: components["responses"]["Gone"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    deleteAPIKey: {
        parameters: {
            query?: never;
            header?: {
                /** @description The ETag of the revision that the request is meant for. If the current revision is another one, the request is refused with 412. Without it, the request applies to any revision. */
                "If-Match"?: string;
                /** @description The ID of the request. An ID that does not match `^[A-Za-z0-9_-]{8,64}$` is replaced by a generated one. */
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path: {
                /** @description The ID of the API key. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The change is in force on this instance and is stored as soon as possible. */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description The request succeeded. The response has no body. */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            410: components["responses"]["Gone"];
            412: components["responses"]["PreconditionFailed"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    changeAPIKey: {
        parameters: {
            query?: never;
            header?: {
                /** @description The ETag of the revision that the request is meant for. If the current revision is another one, the request is refused with 412. Without it, the request applies to any revision. */
                "If-Match"?: string;
                /** @description The ID of the request. An ID that does not match `^[A-Za-z0-9_-]{8,64}$` is replaced by a generated one. */
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path: {
                /** @description The ID of the API key. */
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ChangeAPIKeyBody"];
                "application/merge-patch+json": components["schemas"]["ChangeAPIKeyBody"];
            };
        };
        responses: {
            /** @description The request succeeded. */
            200: {
                headers: {
                    ETag: components["headers"]["ETag"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ApiKeyView"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            410: components["responses"]["Gone"];
            412: components["responses"]["PreconditionFailed"];
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    completeAPIKeyRotation: {
        parameters: {
            query?: never;
            header?: {
                /** @description The ETag of the revision that the request is meant for. If the current revision is another one, the request is refused with 412. Without it, the request applies to any revision. */
                "If-Match"?: string;
                /** @description The ID of the request. An ID that does not match `^[A-Za-z0-9_-]{8,64}$` is replaced by a generated one. */
                "X-Request-Id"?: components["parameters"]["RequestId"];
                /** @description A key that makes the request safe to retry. The same request with the same key within 24 hours returns the stored response and has no further effect. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /** @description The ID of the API key. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The request succeeded. */
            200: {
                headers: {
                    ETag: components["headers"]["ETag"];
                    "Idempotent-Replayed": components["headers"]["Idempotent-Replayed"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ApiKeyView"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            410: components["responses"]["Gone"];
            412: components["responses"]["PreconditionFailed"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    getAPIKeyLimits: {
        parameters: {
            query?: never;
            header?: {
                /** @description The ID of the request. An ID that does not match `^[A-Za-z0-9_-]{8,64}$` is replaced by a generated one. */
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path: {
                /** @description The ID of the API key. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The request succeeded. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LimitsView"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            410: components["responses"]["Gone"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    revokeAPIKey: {
        parameters: {
            query?: never;
            header?: {
                /** @description The ETag of the revision that the request is meant for. If the current revision is another one, the request is refused with 412. Without it, the request applies to any revision. */
                "If-Match"?: string;
                /** @description The ID of the request. An ID that does not match `^[A-Za-z0-9_-]{8,64}$` is replaced by a generated one. */
                "X-Request-Id"?: components["parameters"]["RequestId"];
                /** @description A key that makes the request safe to retry. The same request with the same key within 24 hours returns the stored response and has no further effect. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /** @description The ID of the API key. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["RevokeAPIKeyBody"];
            };
        };
        responses: {
            /** @description The request succeeded. */
            200: {
                headers: {
                    ETag: components["headers"]["ETag"];
                    "Idempotent-Replayed": components["headers"]["Idempotent-Replayed"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ApiKeyView"];
                };
            };
            /** @description The change is in force on this instance and is stored as soon as possible. */
            202: {
                headers: {
                    ETag: components["headers"]["ETag"];
                    "Idempotent-Replayed": components["headers"]["Idempotent-Replayed"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ApiKeyView"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            410: components["responses"]["Gone"];
            412: components["responses"]["PreconditionFailed"];
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    rotateAPIKey: {
        parameters: {
            query?: never;
            header?: {
                /** @description The ETag of the revision that the request is meant for. If the current revision is another one, the request is refused with 412. Without it, the request applies to any revision. */
                "If-Match"?: string;
                /** @description The ID of the request. An ID that does not match `^[A-Za-z0-9_-]{8,64}$` is replaced by a generated one. */
                "X-Request-Id"?: components["parameters"]["RequestId"];
                /** @description A key that makes the request safe to retry. The same request with the same key within 24 hours returns the stored response and has no further effect. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /** @description The ID of the API key. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["RotateAPIKeyBody"];
            };
        };
        responses: {
            /** @description The request succeeded. */
            200: {
                headers: {
                    ETag: components["headers"]["ETag"];
                    "Idempotent-Replayed": components["headers"]["Idempotent-Replayed"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CreatedAPIKeyView"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            410: components["responses"]["Gone"];
            412: components["responses"]["PreconditionFailed"];
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    getAPIKeyUsage: {
        parameters: {
            query?: {
                /** @description The period to report. The intervals are minutes for an hour, hours for a day or a week, and days for thirty days. */
                window?: "1h" | "24h" | "7d" | "30d";
            };
            header?: {
                /** @description The ID of the request. An ID that does not match `^[A-Za-z0-9_-]{8,64}$` is replaced by a generated one. */
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path: {
                /** @description The ID of the API key. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The request succeeded. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["UsageView"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            410: components["responses"]["Gone"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    verifyAPIKey: {
        parameters: {
            query?: never;
            header?: {
                /** @description The ID of the request. An ID that does not match `^[A-Za-z0-9_-]{8,64}$` is replaced by a generated one. */
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["VerifyAPIKeyBody"];
            };
        };
        responses: {
            /** @description The request succeeded. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["VerificationView"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            410: components["responses"]["Gone"];
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    whoami: {
        parameters: {
            query?: never;
            header?: {
                /** @description The ID of the request. An ID that does not match `^[A-Za-z0-9_-]{8,64}$` is replaced by a generated one. */
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The request succeeded. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WhoamiView"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            410: components["responses"]["Gone"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    listDocuments: {
        parameters: {
            query?: {
                /** @description List only documents of this collection. */
                collection?: string;
                /** @description The tags to match. All of them must match. */
                tag?: string[];
                /** @description Comparisons of metadata, each in the form name:op:value, where op is eq, ne, lt, lte, gt or gte. All of them must match. */
                filter?: string[];
                /** @description The order of the documents: id is by ID, updatedAt has the oldest change first, and -updatedAt the newest. */
                sort?: "id" | "updatedAt" | "-updatedAt";
                /** @description The maximum number of items in the response. */
                limit?: number;
                /** @description The nextCursor of the page before. Without it, the response is the first page. The other parameters must stay the same, except limit. */
                cursor?: string;
            };
            header?: {
                /** @description The ID of the request. An ID that does not match `^[A-Za-z0-9_-]{8,64}$` is replaced by a generated one. */
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The request succeeded. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ListDocumentsAnswer"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            410: components["responses"]["Gone"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    createDocument: {
        parameters: {
            query?: never;
            header?: {
                /** @description The ID of the request. An ID that does not match `^[A-Za-z0-9_-]{8,64}$` is replaced by a generated one. */
                "X-Request-Id"?: components["parameters"]["RequestId"];
                /** @description A key that makes the request safe to retry. The same request with the same key within 24 hours returns the stored response and has no further effect. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewDocument"];
            };
        };
        responses: {
            /** @description The resource was created. */
            201: {
                headers: {
                    ETag: components["headers"]["ETag"];
                    "Idempotent-Replayed": components["headers"]["Idempotent-Replayed"];
                    Location: components["headers"]["Location"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DocumentView"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            410: components["responses"]["Gone"];
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    deleteDocuments: {
        parameters: {
            query?: never;
            header?: {
                /** @description The ID of the request. An ID that does not match `^[A-Za-z0-9_-]{8,64}$` is replaced by a generated one. */
                "X-Request-Id"?: components["parameters"]["RequestId"];
                /** @description A key that makes the request safe to retry. The same request with the same key within 24 hours returns the stored response and has no further effect. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["DeleteDocumentsBody"];
            };
        };
        responses: {
            /** @description The request succeeded. */
            200: {
                headers: {
                    "Idempotent-Replayed": components["headers"]["Idempotent-Replayed"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DeleteDocumentsAnswer"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            410: components["responses"]["Gone"];
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    exportDocuments: {
        parameters: {
            query?: {
                /** @description The collection to export. Without it, all documents are exported. */
                collection?: string;
            };
            header?: {
                /** @description The ID of the request. An ID that does not match `^[A-Za-z0-9_-]{8,64}$` is replaced by a generated one. */
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The request succeeded. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/x-ndjson": components["schemas"]["PortableDocument"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            410: components["responses"]["Gone"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    importDocuments: {
        parameters: {
            query?: {
                /** @description The name of the value that is the ID. An integer is taken as its digits. The default is id. */
                id?: string;
                /** @description The name of the value that is the title. The default is title. */
                title?: string;
                /** @description The name of the value that is the text, or several names separated by commas, whose values are joined by blank lines. The default is text. */
                text?: string;
                /** @description The name of the value that has the tags: an array, or a text in which they are parted by |. The default is tags. */
                tags?: string;
                /** @description The name of the value that is the URL. The default is url. */
                url?: string;
                /** @description The name of the value that is the collection. The default is collection. */
                collection?: string;
                /** @description The collection of the rows that have none. */
                into?: string;
                /** @description Whether the documents of the collection into that are not in the body are deleted, once all rows are stored and none failed. */
                replace?: boolean;
                /** @description What becomes of the other values of a row: with refuse the row is refused, with drop they are left out, and with metadata they become metadata, where texts of more than 1,024 characters are cut. */
                rest?: "metadata" | "refuse" | "drop";
            };
            header?: {
                /** @description A key that makes the import safe to retry. */
                "Idempotency-Key"?: string;
                /** @description The ID of the request. An ID that does not match `^[A-Za-z0-9_-]{8,64}$` is replaced by a generated one. */
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: {
            content: {
                /**
                 * @example [
                 *       {
                 *         "id": "opening-hours",
                 *         "collection": "handbook",
                 *         "title": "Opening hours",
                 *         "text": "Open from Monday to Friday, from 9 to 5."
                 *       },
                 *       {
                 *         "id": "refunds",
                 *         "collection": "handbook",
                 *         "title": "Refunds",
                 *         "text": "Send it back within 30 days.",
                 *         "tags": [
                 *           "orders"
                 *         ]
                 *       }
                 *     ]
                 */
                "application/json": Record<string, never>[];
                /**
                 * @example {"id":"opening-hours","collection":"handbook","title":"Opening hours","text":"Open from Monday to Friday, from 9 to 5."}
                 *     {"id":"refunds","collection":"handbook","title":"Refunds","text":"Send it back within 30 days.","tags":["orders"]}
                 */
                "application/jsonl": string;
                /**
                 * @example {"id":"opening-hours","collection":"handbook","title":"Opening hours","text":"Open from Monday to Friday, from 9 to 5."}
                 *     {"id":"refunds","collection":"handbook","title":"Refunds","text":"Send it back within 30 days.","tags":["orders"]}
                 */
                "application/ndjson": string;
                /**
                 * @example {"id":"opening-hours","collection":"handbook","title":"Opening hours","text":"Open from Monday to Friday, from 9 to 5."}
                 *     {"id":"refunds","collection":"handbook","title":"Refunds","text":"Send it back within 30 days.","tags":["orders"]}
                 */
                "application/x-ndjson": string;
                /**
                 * @example id,collection,title,text,tags
                 *     opening-hours,handbook,Opening hours,"Open from Monday to Friday, from 9 to 5.",
                 *     refunds,handbook,Refunds,Send it back within 30 days.,orders|returns
                 */
                "text/csv": string;
            };
        };
        responses: {
            /** @description The request succeeded. */
            200: {
                headers: {
                    "Idempotent-Replayed": components["headers"]["Idempotent-Replayed"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ImportDocumentsAnswer"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            410: components["responses"]["Gone"];
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    getDocument: {
        parameters: {
            query?: never;
            header?: {
                /** @description The ID of the request. An ID that does not match `^[A-Za-z0-9_-]{8,64}$` is replaced by a generated one. */
                "X-Request-Id"?: components["parameters"]["RequestId"];
                /** @description An entity tag. If it names the current revision, the response is 304. */
                "If-None-Match"?: components["parameters"]["IfNoneMatch"];
            };
            path: {
                /** @description The ID of the document. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The request succeeded. */
            200: {
                headers: {
                    ETag: components["headers"]["ETag"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DocumentView"];
                };
            };
            304: components["responses"]["NotModified"];
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            410: components["responses"]["Gone"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    putDocument: {
        parameters: {
            query?: never;
            header?: {
                /** @description The ETag of the revision that the request is meant for. If the current revision is another one, the request is refused with 412. Without it, the request applies to any revision. */
                "If-Match"?: string;
                /** @description With *, an existing document is not replaced and the request is refused with 412. */
                "If-None-Match"?: string;
                /** @description The ID of the request. An ID that does not match `^[A-Za-z0-9_-]{8,64}$` is replaced by a generated one. */
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path: {
                /** @description The ID of the document, which the client chooses. */
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["DocumentFields"];
            };
        };
        responses: {
            /** @description The request succeeded. */
            200: {
                headers: {
                    ETag: components["headers"]["ETag"];
                    Location: components["headers"]["Location"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DocumentView"];
                };
            };
            /** @description The resource was created. */
            201: {
                headers: {
                    ETag: components["headers"]["ETag"];
                    Location: components["headers"]["Location"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DocumentView"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            410: components["responses"]["Gone"];
            412: components["responses"]["PreconditionFailed"];
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    deleteDocument: {
        parameters: {
            query?: never;
            header?: {
                /** @description The ETag of the revision that the request is meant for. If the current revision is another one, the request is refused with 412. Without it, the request applies to any revision. */
                "If-Match"?: string;
                /** @description The ID of the request. An ID that does not match `^[A-Za-z0-9_-]{8,64}$` is replaced by a generated one. */
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path: {
                /** @description The ID of the document. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The request succeeded. The response has no body. */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            410: components["responses"]["Gone"];
            412: components["responses"]["PreconditionFailed"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    changeDocument: {
        parameters: {
            query?: never;
            header?: {
                /** @description The ETag of the revision that the request is meant for. If the current revision is another one, the request is refused with 412. Without it, the request applies to any revision. */
                "If-Match"?: string;
                /** @description The ID of the request. An ID that does not match `^[A-Za-z0-9_-]{8,64}$` is replaced by a generated one. */
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path: {
                /** @description The ID of the document. */
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ChangeDocumentBody"];
                "application/merge-patch+json": components["schemas"]["ChangeDocumentBody"];
            };
        };
        responses: {
            /** @description The request succeeded. */
            200: {
                headers: {
                    ETag: components["headers"]["ETag"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DocumentView"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            410: components["responses"]["Gone"];
            412: components["responses"]["PreconditionFailed"];
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    health: {
        parameters: {
            query?: never;
            header?: {
                /** @description The ID of the request. An ID that does not match `^[A-Za-z0-9_-]{8,64}$` is replaced by a generated one. */
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The request succeeded. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["HealthView"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            410: components["responses"]["Gone"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    listLanguages: {
        parameters: {
            query?: {
                /** @description The maximum number of items in the response. */
                limit?: number;
                /** @description The nextCursor of the page before. Without it, the response is the first page. The other parameters must stay the same, except limit. */
                cursor?: string;
            };
            header?: {
                /** @description The ID of the request. An ID that does not match `^[A-Za-z0-9_-]{8,64}$` is replaced by a generated one. */
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The request succeeded. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ListLanguagesAnswer"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            410: components["responses"]["Gone"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    listMemories: {
        parameters: {
            query?: {
                /** @description List only memories of this subject. The default is the subject that the API key is bound to, or else all subjects. */
                subjectId?: string;
                /** @description List only memories of this agent. */
                agentId?: string;
                /** @description List only memories of this conversation. */
                sessionId?: string;
                /** @description List only memories of this kind. */
                kind?: "fact" | "preference" | "event" | "instruction" | "summary" | "turn" | "note";
                /** @description The IDs of the memories to list. IDs that do not exist are ignored. */
                id?: string[];
                /** @description The tags to match. All of them must match. */
                tag?: string[];
                /** @description Include only memories at or after this time. */
                from?: string;
                /** @description Include only memories before this time. */
                to?: string;
                /** @description The maximum number of items in the response. */
                limit?: number;
                /** @description The nextCursor of the page before. Without it, the response is the first page. The other parameters must stay the same, except limit. */
                cursor?: string;
            };
            header?: {
                /** @description The ID of the request. An ID that does not match `^[A-Za-z0-9_-]{8,64}$` is replaced by a generated one. */
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The request succeeded. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ListMemoriesAnswer"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            410: components["responses"]["Gone"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    createMemory: {
        parameters: {
            query?: never;
            header?: {
                /** @description The ID of the request. An ID that does not match `^[A-Za-z0-9_-]{8,64}$` is replaced by a generated one. */
                "X-Request-Id"?: components["parameters"]["RequestId"];
                /** @description A key that makes the request safe to retry. The same request with the same key within 24 hours returns the stored response and has no further effect. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewMemory"];
            };
        };
        responses: {
            /** @description The request succeeded. */
            200: {
                headers: {
                    ETag: components["headers"]["ETag"];
                    "Idempotent-Replayed": components["headers"]["Idempotent-Replayed"];
                    Location: components["headers"]["Location"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["StoredMemoryView"];
                };
            };
            /** @description The resource was created. */
            201: {
                headers: {
                    ETag: components["headers"]["ETag"];
                    "Idempotent-Replayed": components["headers"]["Idempotent-Replayed"];
                    Location: components["headers"]["Location"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["StoredMemoryView"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            410: components["responses"]["Gone"];
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    createMemories: {
        parameters: {
            query?: never;
            header?: {
                /** @description The ID of the request. An ID that does not match `^[A-Za-z0-9_-]{8,64}$` is replaced by a generated one. */
                "X-Request-Id"?: components["parameters"]["RequestId"];
                /** @description A key that makes the request safe to retry. The same request with the same key within 24 hours returns the stored response and has no further effect. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["CreateMemoriesBody"];
            };
        };
        responses: {
            /** @description The request succeeded. */
            200: {
                headers: {
                    "Idempotent-Replayed": components["headers"]["Idempotent-Replayed"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CreateMemoriesAnswer"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            410: components["responses"]["Gone"];
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    recallContext: {
        parameters: {
            query?: never;
            header?: {
                /** @description The ID of the request. An ID that does not match `^[A-Za-z0-9_-]{8,64}$` is replaced by a generated one. */
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["RecallContextBody"];
            };
        };
        responses: {
            /** @description The request succeeded. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RecallContextAnswer"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            410: components["responses"]["Gone"];
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    forgetMemories: {
        parameters: {
            query?: never;
            header?: {
                /** @description The ID of the request. An ID that does not match `^[A-Za-z0-9_-]{8,64}$` is replaced by a generated one. */
                "X-Request-Id"?: components["parameters"]["RequestId"];
                /** @description A key that makes the request safe to retry. The same request with the same key within 24 hours returns the stored response and has no further effect. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ForgetMemoriesBody"];
            };
        };
        responses: {
            /** @description The request succeeded. */
            200: {
                headers: {
                    "Idempotent-Replayed": components["headers"]["Idempotent-Replayed"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ForgetMemoriesAnswer"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            410: components["responses"]["Gone"];
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    importMemories: {
        parameters: {
            query?: never;
            header?: {
                /** @description A key that makes the import safe to retry. Every line must then have an ID. */
                "Idempotency-Key"?: string;
                /** @description The ID of the request. An ID that does not match `^[A-Za-z0-9_-]{8,64}$` is replaced by a generated one. */
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: {
            content: {
                /**
                 * @example {"subjectId":"p-4711","text":"Prefers tea to coffee.","kind":"preference"}
                 *     {"subjectId":"p-4711","text":"Moved to Bergen.","kind":"event","occurredAt":"2026-03-02T09:30:00Z"}
                 */
                "application/jsonl": string;
                /**
                 * @example {"subjectId":"p-4711","text":"Prefers tea to coffee.","kind":"preference"}
                 *     {"subjectId":"p-4711","text":"Moved to Bergen.","kind":"event","occurredAt":"2026-03-02T09:30:00Z"}
                 */
                "application/ndjson": string;
                /**
                 * @example {"subjectId":"p-4711","text":"Prefers tea to coffee.","kind":"preference"}
                 *     {"subjectId":"p-4711","text":"Moved to Bergen.","kind":"event","occurredAt":"2026-03-02T09:30:00Z"}
                 */
                "application/x-ndjson": string;
            };
        };
        responses: {
            /** @description The request succeeded. */
            200: {
                headers: {
                    "Idempotent-Replayed": components["headers"]["Idempotent-Replayed"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ImportMemoriesAnswer"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            410: components["responses"]["Gone"];
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    recall: {
        parameters: {
            query?: never;
            header?: {
                /** @description The ID of the request. An ID that does not match `^[A-Za-z0-9_-]{8,64}$` is replaced by a generated one. */
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["RecallBody"];
            };
        };
        responses: {
            /** @description The request succeeded. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RecallAnswer"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            410: components["responses"]["Gone"];
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    listSubjects: {
        parameters: {
            query?: {
                /** @description The maximum number of items in the response. */
                limit?: number;
                /** @description The nextCursor of the page before. Without it, the response is the first page. The other parameters must stay the same, except limit. */
                cursor?: string;
            };
            header?: {
                /** @description The ID of the request. An ID that does not match `^[A-Za-z0-9_-]{8,64}$` is replaced by a generated one. */
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The request succeeded. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ListSubjectsAnswer"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            410: components["responses"]["Gone"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    getSubject: {
        parameters: {
            query?: never;
            header?: {
                /** @description The ID of the request. An ID that does not match `^[A-Za-z0-9_-]{8,64}$` is replaced by a generated one. */
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path: {
                /** @description The ID of the subject. */
                subjectId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The request succeeded. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SubjectView"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            410: components["responses"]["Gone"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    eraseSubject: {
        parameters: {
            query?: never;
            header?: {
                /** @description The ID of the request. An ID that does not match `^[A-Za-z0-9_-]{8,64}$` is replaced by a generated one. */
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path: {
                /** @description The ID of the subject. */
                subjectId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The request succeeded. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ReceiptView"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            410: components["responses"]["Gone"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    listSubjectAccesses: {
        parameters: {
            query?: {
                /** @description The maximum number of items in the response. */
                limit?: number;
                /** @description The nextCursor of the page before. Without it, the response is the first page. The other parameters must stay the same, except limit. */
                cursor?: string;
            };
            header?: {
                /** @description The ID of the request. An ID that does not match `^[A-Za-z0-9_-]{8,64}$` is replaced by a generated one. */
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path: {
                /** @description The ID of the subject. */
                subjectId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The request succeeded. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ListSubjectAccessesAnswer"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            410: components["responses"]["Gone"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    exportSubject: {
        parameters: {
            query?: never;
            header?: {
                /** @description The ID of the request. An ID that does not match `^[A-Za-z0-9_-]{8,64}$` is replaced by a generated one. */
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path: {
                /** @description The ID of the subject. */
                subjectId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The request succeeded. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/x-ndjson": components["schemas"]["PortableView"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            410: components["responses"]["Gone"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    getMemory: {
        parameters: {
            query?: never;
            header?: {
                /** @description The ID of the request. An ID that does not match `^[A-Za-z0-9_-]{8,64}$` is replaced by a generated one. */
                "X-Request-Id"?: components["parameters"]["RequestId"];
                /** @description An entity tag. If it names the current revision, the response is 304. */
                "If-None-Match"?: components["parameters"]["IfNoneMatch"];
            };
            path: {
                /** @description The ID of the memory. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The request succeeded. */
            200: {
                headers: {
                    ETag: components["headers"]["ETag"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MemoryView"];
                };
            };
            304: components["responses"]["NotModified"];
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            410: components["responses"]["Gone"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    deleteMemory: {
        parameters: {
            query?: never;
            header?: {
                /** @description The ETag of the revision that the request is meant for. If the current revision is another one, the request is refused with 412. Without it, the request applies to any revision. */
                "If-Match"?: string;
                /** @description The ID of the request. An ID that does not match `^[A-Za-z0-9_-]{8,64}$` is replaced by a generated one. */
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path: {
                /** @description The ID of the memory. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The request succeeded. The response has no body. */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            410: components["responses"]["Gone"];
            412: components["responses"]["PreconditionFailed"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    changeMemory: {
        parameters: {
            query?: never;
            header?: {
                /** @description The ETag of the revision that the request is meant for. If the current revision is another one, the request is refused with 412. Without it, the request applies to any revision. */
                "If-Match"?: string;
                /** @description The ID of the request. An ID that does not match `^[A-Za-z0-9_-]{8,64}$` is replaced by a generated one. */
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path: {
                /** @description The ID of the memory. */
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ChangeMemoryBody"];
                "application/merge-patch+json": components["schemas"]["ChangeMemoryBody"];
            };
        };
        responses: {
            /** @description The request succeeded. */
            200: {
                headers: {
                    ETag: components["headers"]["ETag"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MemoryView"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            410: components["responses"]["Gone"];
            412: components["responses"]["PreconditionFailed"];
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    getMemoryHistory: {
        parameters: {
            query?: {
                /** @description The maximum number of items in the response. */
                limit?: number;
                /** @description The nextCursor of the page before. Without it, the response is the first page. The other parameters must stay the same, except limit. */
                cursor?: string;
            };
            header?: {
                /** @description The ID of the request. An ID that does not match `^[A-Za-z0-9_-]{8,64}$` is replaced by a generated one. */
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path: {
                /** @description The ID of the memory. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The request succeeded. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["GetMemoryHistoryAnswer"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            410: components["responses"]["Gone"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    getProfile: {
        parameters: {
            query?: never;
            header?: {
                /** @description The ID of the request. An ID that does not match `^[A-Za-z0-9_-]{8,64}$` is replaced by a generated one. */
                "X-Request-Id"?: components["parameters"]["RequestId"];
                /** @description An entity tag. If it names the current revision, the response is 304. */
                "If-None-Match"?: components["parameters"]["IfNoneMatch"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The request succeeded. */
            200: {
                headers: {
                    ETag: components["headers"]["ETag"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ProfileView"];
                };
            };
            304: components["responses"]["NotModified"];
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            410: components["responses"]["Gone"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    changeProfile: {
        parameters: {
            query?: never;
            header?: {
                /** @description The ETag of the revision that the request is meant for. If the current revision is another one, the request is refused with 412. Without it, the request applies to any revision. */
                "If-Match"?: string;
                /** @description The ID of the request. An ID that does not match `^[A-Za-z0-9_-]{8,64}$` is replaced by a generated one. */
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ChangeProfileBody"];
                "application/merge-patch+json": components["schemas"]["ChangeProfileBody"];
            };
        };
        responses: {
            /** @description The request succeeded. */
            200: {
                headers: {
                    ETag: components["headers"]["ETag"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ProfileView"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            410: components["responses"]["Gone"];
            412: components["responses"]["PreconditionFailed"];
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    search: {
        parameters: {
            query: {
                /** @description The words to search for, in the syntax that the operation describes. */
                q: string;
                /** @description The maximum number of results in the response. */
                limit?: number;
                /** @description The nextCursor of the page before. Without it, the response is the first page. The other parameters must stay the same, except limit. */
                cursor?: string;
                /** @description Search only documents of this collection. */
                collection?: string;
                /** @description The tags to match. All of them must match. */
                tag?: string[];
                /** @description Whether the last word also matches words that begin with it, for search while typing. auto, the default, means only if no document has it as a word. */
                prefix?: boolean | ("auto" | "true" | "false");
                /** @description Whether the response says where words of the query are in snippets and titles. */
                highlight?: boolean;
                /** @description The number of passages of each text in the response, at most: whole sentences for a prompt. */
                passages?: number;
                /** @description The order of the results: relevance has the best match first, updatedAt the oldest change, and -updatedAt the newest. */
                sort?: "relevance" | "-updatedAt" | "updatedAt";
                /** @description Whether words that no document has are replaced by similar ones: with one edit for 4 to 7 letters, two for more; an edit of the first letter counts as two. off also means that parts of words do not count. auto when absent. */
                fuzzy?: "auto" | "off";
                /** @description Comparisons of metadata, each in the form name:op:value, where op is eq, ne, lt, lte, gt or gte. All of them must match. */
                filter?: string[];
                /** @description Names separated by commas: collection, tag, or metadata entries. The matching documents are counted for each value. */
                facets?: string;
            };
            header?: {
                /** @description The ID of the request. An ID that does not match `^[A-Za-z0-9_-]{8,64}$` is replaced by a generated one. */
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The request succeeded. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SearchView"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            410: components["responses"]["Gone"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    searchPost: {
        parameters: {
            query?: never;
            header?: {
                /** @description The ID of the request. An ID that does not match `^[A-Za-z0-9_-]{8,64}$` is replaced by a generated one. */
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["SearchParameters"];
            };
        };
        responses: {
            /** @description The request succeeded. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SearchView"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            410: components["responses"]["Gone"];
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    searchMulti: {
        parameters: {
            query?: never;
            header?: {
                /** @description The ID of the request. An ID that does not match `^[A-Za-z0-9_-]{8,64}$` is replaced by a generated one. */
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["SearchMultiBody"];
            };
        };
        responses: {
            /** @description The request succeeded. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SearchMultiAnswer"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            410: components["responses"]["Gone"];
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    listVersions: {
        parameters: {
            query?: never;
            header?: {
                /** @description The ID of the request. An ID that does not match `^[A-Za-z0-9_-]{8,64}$` is replaced by a generated one. */
                "X-Request-Id"?: components["parameters"]["RequestId"];
                /** @description The version of the API to use. The default is the current version. */
                "Accept-Version"?: components["parameters"]["AcceptVersion"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The request succeeded. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ListVersionsAnswer"];
                };
            };
            400: components["responses"]["BadRequest"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    backendForwardAuth: {
        parameters: {
            query?: {
                /** @description The scopes that the credential must have, separated by spaces or commas. */
                scope?: string;
                /** @description The number of requests to charge. */
                cost?: number;
                /** @description Whether a 429 is sent as 403 with the header X-Keepsake-Status: 429, for proxies that pass on no other refusal. */
                carry429?: boolean;
            };
            header?: {
                /** @description The ID of the request. An ID that does not match `^[A-Za-z0-9_-]{8,64}$` is replaced by a generated one. */
                "X-Request-Id"?: components["parameters"]["RequestId"];
                /** @description The version of the API to use. The default is the current version. */
                "Accept-Version"?: components["parameters"]["AcceptVersion"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The request succeeded. */
            200: {
                headers: {
                    "X-Keepsake-Key-Id": components["headers"]["X-Keepsake-Key-Id"];
                    "X-Keepsake-Scopes": components["headers"]["X-Keepsake-Scopes"];
                    "X-Keepsake-User-Id": components["headers"]["X-Keepsake-User-Id"];
                    "X-Keepsake-Workspace-Id": components["headers"]["X-Keepsake-Workspace-Id"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["BadRequest"];
            403: components["responses"]["Forbidden"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    backendLivez: {
        parameters: {
            query?: never;
            header?: {
                /** @description The ID of the request. An ID that does not match `^[A-Za-z0-9_-]{8,64}$` is replaced by a generated one. */
                "X-Request-Id"?: components["parameters"]["RequestId"];
                /** @description The version of the API to use. The default is the current version. */
                "Accept-Version"?: components["parameters"]["AcceptVersion"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The request succeeded. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LivezAnswer"];
                };
            };
            400: components["responses"]["BadRequest"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    backendMetrics: {
        parameters: {
            query?: never;
            header?: {
                /** @description The ID of the request. An ID that does not match `^[A-Za-z0-9_-]{8,64}$` is replaced by a generated one. */
                "X-Request-Id"?: components["parameters"]["RequestId"];
                /** @description The version of the API to use. The default is the current version. */
                "Accept-Version"?: components["parameters"]["AcceptVersion"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The request succeeded. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/plain": string;
                };
            };
            400: components["responses"]["BadRequest"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    backendReadyz: {
        parameters: {
            query?: never;
            header?: {
                /** @description The ID of the request. An ID that does not match `^[A-Za-z0-9_-]{8,64}$` is replaced by a generated one. */
                "X-Request-Id"?: components["parameters"]["RequestId"];
                /** @description The version of the API to use. The default is the current version. */
                "Accept-Version"?: components["parameters"]["AcceptVersion"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The request succeeded. */
            200: {
                headers: {
                    "Retry-After": components["headers"]["Retry-After"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Readiness"];
                };
            };
            400: components["responses"]["BadRequest"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    backendReportUsage: {
        parameters: {
            query?: never;
            header?: {
                /** @description The ID of the request. An ID that does not match `^[A-Za-z0-9_-]{8,64}$` is replaced by a generated one. */
                "X-Request-Id"?: components["parameters"]["RequestId"];
                /** @description The version of the API to use. The default is the current version. */
                "Accept-Version"?: components["parameters"]["AcceptVersion"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ReportUsageBody"];
            };
        };
        responses: {
            /** @description The request succeeded. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ReportUsageAnswer"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    backendVerifyAPIKey: {
        parameters: {
            query?: never;
            header?: {
                /** @description The ID of the request. An ID that does not match `^[A-Za-z0-9_-]{8,64}$` is replaced by a generated one. */
                "X-Request-Id"?: components["parameters"]["RequestId"];
                /** @description The version of the API to use. The default is the current version. */
                "Accept-Version"?: components["parameters"]["AcceptVersion"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["VerifyAPIKeyBody"];
            };
        };
        responses: {
            /** @description The request succeeded. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["VerificationView"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
}
