// Package conformance is the interface specification as black-box checks: it knows a URL and an API key, and nothing of
// how the service is made. Each file holds one chapter of docs/spec/interface-spec.md, with what docs/spec/decisions.md
// settles beside it.
//
// A run makes API keys, users, documents and memories of its own, under names that begin with "conformance", and removes
// them again: documents and users are deleted, subjects are erased, keys are revoked. Where its key is the operator's it also makes a workspace
// "conformance", which it leaves suspended and the next run takes again. It spends some thousand requests of the
// workspace and waits when a limit asks it to, so that it also ends well on a small tier, only later.
package conformance

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"
)

// Target is the deployment to be checked.
type Target struct {
	URL        string       // of the primary API, http://127.0.0.1:8080
	BackendURL string       // of the backend service; empty leaves its checks out, by name
	Key        string       // an API key that has all scopes
	HTTP       *http.Client // how to reach it; nil for a client of the suite's own
	Proxied    bool         // it takes X-Forwarded-For from this machine; then each check comes from an address of its own
	Only       string       // run only checks whose "section/name" contains this; empty for all

	// Disposable says that the deployment is there for this run alone. Then the suite also changes what concerns all who
	// use it: the numbers of a tier, and its versions, which are released, sunset and retired. These checks need the
	// settings lifecycle.allowUndeclared and lifecycle.allowBackdating.
	Disposable bool

	// Parallel is how many checks run side by side. 0 means 8, or 1 where checks would only wait for each other: where the
	// tier of the key's workspace is small, or where the deployment sees one address for all checks.
	Parallel int

	// Advance moves the deployment's clock forward. Checks that need time to pass call it in place of waiting, and no
	// check has a deadline. Without it the deployment lives in real time.
	Advance func(time.Duration)
}

// Outcome of a check.
type Outcome string

// The outcomes.
const (
	Passed  Outcome = "passed"
	Failed  Outcome = "failed"
	Skipped Outcome = "skipped"
)

// Result is what one check found.
type Result struct {
	Section string        `json:"section"` // chapter of the specification: "2.2 health"
	Name    string        `json:"name"`    // the promise, as a sentence: "AMissingKeyIs401"
	Outcome Outcome       `json:"outcome"`
	Found   []string      `json:"found,omitempty"`  // for Failed: each broken promise with request, want and got
	Reason  string        `json:"reason,omitempty"` // for Skipped: what it waits for
	Took    time.Duration `json:"-"`
}

// Reporter hears of each check as it ends, one at a time.
type Reporter interface {
	Report(Result)
}

// ReporterFunc is a function as a Reporter.
type ReporterFunc func(Result)

// Report calls f.
func (f ReporterFunc) Report(r Result) { f(r) }

// Run checks t and reports each result to r, in the order of the specification. Checks run side by side, except those in
// the table alone. Its error says only that the suite could not run: the URL does not answer, the key is not accepted or
// lacks a scope, or ctx ended. A failed check is no error.
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

// section is one chapter with its checks.
type section struct {
	name   string
	checks []promise
}

// promise is one check: a sentence and the function that tries whether it is true.
type promise struct {
	name string
	try  func(c *check)
}

// waits is a promise that cannot be checked before something else exists. The report names it, so that a missing check does
// not look like success.
func waits(name, what string) promise {
	return promise{name: name, try: func(c *check) { c.skip("waits for " + what) }}
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
		{"4 endpoints: analytics", laterChecks()},
		{"5 authentication", authenticationChecks()},
		{"5.2 bearer tokens", tokenChecks()},
		{"5.3 scopes", scopeChecks()},
		{"6 events", eventChecks()},
		{"7 errors", statusChecks()},
		{"8 limits", limitChecks()},
		{"9 versioning", versionChecks()},
		{"9.5 surfaces", surfaceChecks()},
		{"A conventions: requests", requestChecks()},
		{"A conventions: values and conditions", conventionChecks()},
		{"A conventions: idempotency", idempotencyChecks()},
		{"A conventions: lists", listChecks()},
		{"B workspaces", isolationChecks()},
		{releases, releaseChecks()},
	}
}

// open makes sure that the target answers and that the key is what the suite needs.
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
