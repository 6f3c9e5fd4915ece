// Package storetest tests what domain packages rely on, on a store with any engine.
package storetest

import (
	"context"
	"testing"
	"time"

	"keepsake/internal/base/problem"
	"keepsake/internal/govern/account"
	"keepsake/internal/store"
)

// Run runs the suite. open gives each case an empty engine and closes it when the case ends.
func Run(t *testing.T, open func(t *testing.T) store.Engine) {
	setup := func(t *testing.T) *store.Store {
		t.Helper()
		t.Parallel()
		return store.New(open(t))
	}
	t.Run("Unit", func(t *testing.T) { testUnit(t, setup) })
	t.Run("Account", func(t *testing.T) { testAccount(t, setup) })
	t.Run("People", func(t *testing.T) { testPeople(t, setup) })
	t.Run("APIKey", func(t *testing.T) { testAPIKey(t, setup) })
	t.Run("Audit", func(t *testing.T) { testAudit(t, setup) })
	t.Run("Document", func(t *testing.T) { testDocument(t, setup) })
	t.Run("DocumentState", func(t *testing.T) { testDocumentState(t, setup) })
	t.Run("Collection", func(t *testing.T) { testCollection(t, setup) })
	t.Run("Memory", func(t *testing.T) { testMemory(t, setup) })
	t.Run("Idempotency", func(t *testing.T) { testIdempotency(t, setup) })
	t.Run("Session", func(t *testing.T) { testSession(t, setup) })
	t.Run("Storage", func(t *testing.T) { testStorage(t, setup) })
	t.Run("Restore", func(t *testing.T) { testRestore(t, setup) })
	t.Run("Secret", func(t *testing.T) { testSecret(t, setup) })
	t.Run("SubjectKey", func(t *testing.T) { testSubjectKey(t, setup) })
	t.Run("Throttle", func(t *testing.T) { testThrottle(t, setup) })
	t.Run("Vector", func(t *testing.T) { testVector(t, setup) })
	t.Run("Version", func(t *testing.T) { testVersion(t, setup) })
	t.Run("Watch", func(t *testing.T) { testWatch(t, open) })
	t.Run("Webhook", func(t *testing.T) { testWebhook(t, setup) })
	t.Run("Binding", func(t *testing.T) { testBinding(t, open) })
	t.Run("News", func(t *testing.T) { testNews(t, open) })
}

type setup func(t *testing.T) *store.Store

// epoch is the time at which most cases begin. Stores have a resolution of a microsecond.
var epoch = time.Date(2026, 11, 21, 10, 30, 0, 123456000, time.UTC)

func after(d time.Duration) time.Time { return epoch.Add(d) }

func pointer[T any](v T) *T { return &v }

func noError(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func wantProblem(t *testing.T, err error, kind problem.Kind, code string) {
	t.Helper()
	p, ok := problem.As(err)
	if !ok || p.Kind != kind || p.Code != code {
		t.Fatalf("got error %v, want the problem %s", err, code)
	}
}

// newWorkspace adds a workspace that is not the operator's.
func newWorkspace(t *testing.T, s *store.Store, id string) {
	t.Helper()
	noError(t, s.Accounts.CreateWorkspace(context.WithoutCancel(t.Context()), &account.Workspace{
		ID: id, Name: id, Tier: "free", CreatedAt: epoch, Revision: 1,
	}))
}

func isProblem(err error, code string) bool {
	p, ok := problem.As(err)
	return ok && p.Code == code
}
