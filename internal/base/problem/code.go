package problem

// Code describes a code for people.
type Code struct {
	Name    string
	Meaning string
	Action  string // what a caller does about it
}

// Codes describes all codes, in the order of their statuses.
var Codes = []Code{
	{CodeValidation, "The request is invalid. details.field names the parameter or field, and details.issue the reason.", "Correct the field. The same request fails again."},
	{CodeMissingCredentials, "The operation needs a credential, and the request has none.", "Send an API key in X-API-Key, or an access token in Authorization."},
	{CodeInvalidAPIKey, "There is no such API key.", "Compare the key with the one that was shown when it was created, or create another."},
	{CodeAPIKeyExpired, "The expiry of the API key has passed.", "Create another key. Before the expiry, responses had the header X-API-Key-Expires for 14 days."},
	{CodeAPIKeyRevoked, "The API key, or this secret of it, was revoked.", "Use its newer secret, or ask its owner for another key."},
	{CodeAPIKeyDisabled, "The API key is disabled.", "Ask its owner to enable it again."},
	{CodeInvalidToken, "The access token, the refresh token or the session is not valid.", "Sign in again."},
	{CodeTokenExpired, "The access token has expired.", "Get another with POST /api/auth/refresh, and repeat the request."},
	{CodeTokenReused, "The refresh token was used before, so its session has ended.", "Sign in again. If your program used each token only once, another party has a copy."},
	{CodeInvalidCredentials, "The email or the password is wrong.", "Correct them. After repeated failures, logins are delayed."},
	{CodeInsufficientScope, "The credential is valid but does not permit the request. details.requiredScope names the scope.", "Use a key with that scope."},
	{CodeIPNotAllowed, "The API key is not valid from this address.", "Send the request from an address in the allowedIps of the key. Behind a proxy, see the setting trustedProxies."},
	{CodeOriginNotAllowed, "A page of another site sent the request.", "Add the site to the setting cors.origins."},
	{CodeSuspended, "The workspace is suspended.", "Ask the operator of the instance."},
	{CodeNotFound, "There is no such resource or path, or the credential cannot see it.", "Check the ID, the path and the workspace of the key."},
	{CodeVersionNotFound, "There is no such version of the API, or it is retired.", "Use a version that GET /api/versions lists."},
	{CodeMethodNotAllowed, "The path exists, and has no such method.", "Use a method in the header Allow."},
	{CodeConflict, "The state of the resource prevents the operation. The message says why.", "Read the resource again, then decide."},
	{CodeLimitReached, "The tier allows no more. details.limit names what: keys, users, documents, memories or storage.", "Delete something, or ask the operator for another tier."},
	{CodeRotationInProgress, "The key is being rotated, so it has two secrets already.", "Complete the rotation, or wait for its end."},
	{CodeIdempotencyRunning, "Another request with this Idempotency-Key is running.", "Wait for Retry-After, and repeat the request unchanged."},
	{CodeVersionSunset, "This version of the API was sunset. The body names its replacement and the migration guide.", "Follow the guide."},
	{CodeRevisionMismatch, "The resource does not have the revision in If-Match, or exists although If-None-Match forbids that.", "Read it again, and repeat the change on the new revision."},
	{CodePayloadTooLarge, "The body is larger than the limit of the operation.", "Send less in a request."},
	{CodeUnsupportedMedia, "The operation does not accept this Content-Type.", "Send one of the media types that the operation lists."},
	{CodeRateLimited, "A rate limit or quota is used up. details.policy names which.", "Wait for the seconds in Retry-After. The headers X-RateLimit-… say what remains."},
	{CodeInternal, "The server failed.", "Repeat the request with the same Idempotency-Key. If it fails again, give the operator the requestId; the log has the cause."},
	{CodeUnavailable, "The server cannot handle the request right now.", "Wait for the seconds in Retry-After, and repeat it with the same Idempotency-Key."},
}

// IssueText describes an issue for people.
type IssueText struct {
	Name    Issue
	Meaning string
}

// Issues describes all values of details.issue.
var Issues = []IssueText{
	{Required, "The field is missing."},
	{Unknown, "There is no such field or parameter."},
	{Duplicate, "The field is there twice."},
	{Type, "The value has another type."},
	{Format, "The value does not have the required form."},
	{TooShort, "The value is too short, or the list has too few items."},
	{TooLong, "The value is too long, or the list has too many items."},
	{TooSmall, "The number is too small."},
	{TooLargeVal, "The number is too large."},
	{NotAllowed, "The value, or this combination of fields, is not allowed."},
	{Unsupported, "The value is not supported."},
	{Reused, "The Idempotency-Key was used for another request."},
	{Conflicting, "The field contradicts another one."},
	{Expired, "The time is in the past, or too long ago."},
	{InvalidVal, "The value is wrong. The message says why."},
}
