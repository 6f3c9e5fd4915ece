// Package conformance checks a deployment against the interface specification. It knows a URL and an API key, and nothing of
// the implementation. Each file contains one chapter of docs/spec/interface-spec.md, with the rules that the other
// pages of docs/spec add.
//
// A run creates API keys, users, documents and memories whose names begin with "conformance", and removes them again:
// documents and users are deleted, subjects are erased, keys are revoked. If its key is the operator's, it also creates a
// workspace "conformance", leaves it suspended, and uses it again in the next run. A run sends some thousand requests of the
// workspace. It waits when a limit asks for it, so it takes longer on a small tier.
package conformance

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"time"
)

// Target is the deployment to be checked.
type Target struct {
	URL        string // of the primary API, http://127.0.0.1:8080
	AIURL      string // of the AI services; empty: URL
	BackendURL string // of the backend service; empty skips its checks
	Key        string // an API key that has all scopes

	// BackendSecret is the backend secret; empty skips the checks that need it.
	BackendSecret string

	HTTP    *http.Client // nil: a client of the suite
	Proxied bool         // it trusts X-Forwarded-For from this machine; then each check uses its own address
	Only    string       // run only checks whose "section/name" contains this; empty for all

	// Disposable means that only this run uses the deployment. Then the suite also changes what concerns all clients: the
	// limits of a tier, and its versions, which are released, sunset and retired. These checks need the settings
	// lifecycle.allowUndeclared and lifecycle.allowBackdating.
	Disposable bool

	// Parallel is how many checks run at the same time. 0 means 8, or 1 if checks would only wait for each other: if the tier
	// of the key's workspace is small, or if the deployment sees one address for all checks.
	Parallel int

	// Advance moves the deployment's clock forward. Checks that need time to pass call it instead of waiting, and no check has
	// a deadline. If it is nil, checks wait in real time.
	Advance func(time.Duration)
}

// Outcome is the outcome of a check.
type Outcome string

// The outcomes.
const (
	Passed  Outcome = "passed"
	Failed  Outcome = "failed"
	Skipped Outcome = "skipped"
)

// Result is the result of one check.
type Result struct {
	Section string        `json:"section"` // chapter of the specification: "2.2 health"
	Name    string        `json:"name"`    // the promise, as a sentence: "AMissingKeyIs401"
	Outcome Outcome       `json:"outcome"`
	Found   []string      `json:"found,omitempty"`  // for Failed: each broken promise with its request, want and got
	Reason  string        `json:"reason,omitempty"` // for Skipped: what is missing
	Took    time.Duration `json:"-"`
}

// Reporter receives the result of each check, one at a time.
type Reporter interface {
	Report(Result)
}

// ReporterFunc is a function as a Reporter.
type ReporterFunc func(Result)

// Report calls f.
func (f ReporterFunc) Report(r Result) { f(r) }

// Run checks t and reports each result to r, in the order of the specification. Checks run at the same time, except those in
// the table alone. An error means that the suite could not run: the URL does not answer, the key is refused or lacks a
// scope, or ctx ended. A failed check is not an error.
func Run(ctx context.Context, t Target, r Reporter) error {
	s, err := open(ctx, t)
	if err != nil {
		return err
	}
	defer s.cleanUp()
	if err := s.runAll(ctx, plan(sections(), t.Only), r); err != nil {
		return fmt.Errorf("conformance run against %s: %w", t.URL, err)
	}
	return nil
}

// section is a chapter with its checks.
type section struct {
	name   string
	checks []promise
}

// promise is a sentence, and the function that checks whether it is true.
type promise struct {
	name string
	try  func(c *check)
}

// sections lists all checks in the order of the specification.
func sections() []section {
	return []section{
		{"2.1 API key", apiKeyChecks()},
		{"2.2 health", healthChecks()},
		{"2.3 error body", errorBodyChecks()},
		{"2.4 rate-limit error body", rateLimitBodyChecks()},
		{"3.1 version lifecycle", lifecycleChecks()},
		{"3.2 API key states", apiKeyStateChecks()},
		{"4 endpoints: search", searchChecks()},
		{"4 endpoints: documents", documentChecks()},
		{"4 endpoints: collections", collectionChecks()},
		{"4 endpoints: import", importChecks()},
		{"4 endpoints: API key management", append(apiKeyManagementChecks(), apiKeyBoundChecks()...)},
		{"4 endpoints: cache statistics", cacheStatsChecks()},
		{"4 endpoints: API key rotation", rotationChecks()},
		{"4 endpoints: API key verification", verifyChecks()},
		{"4 endpoints: login", loginChecks()},
		{"4 endpoints: refresh", refreshChecks()},
		{"4 endpoints: profile", profileChecks()},
		{"4 endpoints: users", adminUserChecks()},
		{"4 endpoints: workspaces", adminWorkspaceChecks()},
		{"4 endpoints: tiers", adminTierChecks()},
		{"4 endpoints: audit log", auditChecks()},
		{"4 endpoints: memories", memoryChecks()},
		{"4 endpoints: memories that are the same", memorySameChecks()},
		{"4 endpoints: lists of memories", memoryListChecks()},
		{"4 endpoints: batches of memories", memoryBatchChecks()},
		{"4 endpoints: recall", recallChecks()},
		{"4 endpoints: context", contextChecks()},
		{"4 endpoints: forgetting", forgetChecks()},
		{"4 endpoints: subjects", subjectChecks()},
		{"4 endpoints: erasing a subject", eraseChecks()},
		{"4 endpoints: memories out and in", portableChecks()},
		{"4 endpoints: access log", accessLogChecks()},
		{"4 endpoints: keys bound to a subject or agent", boundKeyChecks()},
		{"4 endpoints: analytics", analyticsChecks()},
		{"5 authentication", authenticationChecks()},
		{"5.2 bearer tokens", tokenChecks()},
		{"5.3 scopes", scopeChecks()},
		{"6 events", eventChecks()},
		{"7 errors", statusChecks()},
		{"8 limits", limitChecks()},
		{"9 versioning", versionChecks()},
		{"9.5 surfaces", surfaceChecks()},
		{"J AI services", aiChecks()},
		{"J tools", toolChecks()},
		{"J start page", homeChecks()},
		{"J base path", basePathChecks()},
		{"A conventions: requests", requestChecks()},
		{"A conventions: values and conditions", conventionChecks()},
		{"A conventions: bodies that are not read", discardChecks()},
		{"A conventions: idempotency", idempotencyChecks()},
		{"A conventions: lists", listChecks()},
		{"B workspaces", isolationChecks()},
		{"O compressed answers", compressChecks()},
		{releases, slices.Concat(releaseChecks(), trafficChecks())},
	}
}

// open checks that the target answers and that the key is suitable.
func open(ctx context.Context, t Target) (*suite, error) {
	base, err := url.Parse(t.URL)
	if err != nil || base.Scheme == "" || base.Host == "" {
		return nil, fmt.Errorf("conformance: %q is not a URL such as http://127.0.0.1:8080", t.URL)
	}
	if t.Key == "" {
		return nil, errors.New("conformance: an API key with all scopes is needed")
	}
	s := newSuite(t, base)
	if err := s.meet(ctx); err != nil {
		return nil, fmt.Errorf("conformance: %w", err)
	}
	return s, nil
}
