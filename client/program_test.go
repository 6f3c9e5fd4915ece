package client_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"

	"keepsake/client"
	"keepsake/internal/app/apptest"
)

func connect(t *testing.T, url, key string) *client.Client {
	t.Helper()
	c, err := client.New(url, key)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// must gives v, or ends the test.
func must[T any](v T, err error) func(t *testing.T, doing string) T {
	return func(t *testing.T, doing string) T {
		t.Helper()
		if err != nil {
			t.Fatalf("%s: %v", doing, err)
		}
		return v
	}
}

func TestEveryCallAboutKeysWorksOnTheProgram(t *testing.T) {
	t.Parallel()
	// On a clock that stands still the minute of a limit does not end.
	clock := apptest.NewClock(time.Now())
	p := apptest.Start(t, apptest.Clock(clock.Now))
	ctx := t.Context()
	c := connect(t, p.URL, p.Key)

	clock.Advance(time.Second) // after the first key, because newer keys are listed first
	end := clock.Now().Add(24 * time.Hour).Truncate(time.Millisecond)
	daily := int64(100)
	made := must(c.CreateAPIKey(ctx, client.NewAPIKey{
		Name: "crawler", Scopes: []string{"read", "write"}, ExpiresAt: &end, RateLimit: &client.NewRateLimit{RequestsPerMinute: 20},
		Quota: &client.Quota{Daily: &daily}, AllowedIPs: []string{"127.0.0.0/8"}, Metadata: map[string]any{"team": "a", "n": 1.5},
	}))(t, "create")
	if !strings.HasPrefix(made.Key, "kpsk_") || made.State != "active" || !made.ExpiresAt.Equal(end) || *made.Quota.Daily != daily ||
		made.Metadata["n"] != json.Number("1.5") || made.RateLimit != (client.RateLimit{RequestsPerMinute: 20}) {
		t.Errorf("created %+v", made)
	}
	read := must(c.APIKey(ctx, made.ID))(t, "read")
	changed := must(c.ChangeAPIKey(ctx, made.ID, client.APIKeyChange{
		Name: client.To("renamed"), ExpiresAt: client.Cleared[time.Time](), RateLimit: client.Cleared[client.NewRateLimit](),
		Quota: client.To(client.Quota{Monthly: &daily}),
	}, &read.Revision))(t, "change")
	if changed.Name != "renamed" || changed.ExpiresAt != nil || !changed.RateLimit.Inherited || changed.Quota.Daily != nil || *changed.Quota.Monthly != daily {
		t.Errorf("changed to %+v", changed)
	}
	_, err := c.ChangeAPIKey(ctx, made.ID, client.APIKeyChange{Name: client.To("late")}, &read.Revision)
	if e, ok := errors.AsType[*client.Error](err); !ok || e.Status != http.StatusPreconditionFailed || e.Code != "revision_mismatch" {
		t.Errorf("a change of an older revision: %v", err)
	}

	self := must(connect(t, p.URL, made.Key).WhoAmI(ctx))(t, "whoami")
	if self.ID != made.ID || self.Workspace.ID != p.Workspace || !self.Workspace.Operator {
		t.Errorf("whoami says %+v", self)
	}
	before := must(c.APIKeyLimits(ctx, made.ID))(t, "limits")
	must(connect(t, p.URL, made.Key).WhoAmI(ctx))(t, "whoami")
	limits := must(c.APIKeyLimits(ctx, made.ID))(t, "limits")
	if limits.RateLimit.Used != before.RateLimit.Used+1 || limits.Workspace.Tier != "unlimited" {
		t.Errorf("limits %+v, before %+v", limits, before)
	}
	usage := must(c.APIKeyUsage(ctx, made.ID, "1h"))(t, "usage")
	if usage.Interval != "minute" || len(usage.Points) == 0 {
		t.Errorf("usage %+v", usage)
	}

	var names []string
	for k, err := range c.EachAPIKey(ctx, client.APIKeyQuery{Limit: 1}) {
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, k.Name)
	}
	if len(names) != 2 || names[0] != "renamed" {
		t.Errorf("listed %q", names)
	}
	if revoked := must(c.RevokeAPIKey(ctx, made.ID, "over"))(t, "revoke"); revoked.State != "revoked" || *revoked.RevokeReason != "over" {
		t.Errorf("revoked %+v", revoked)
	}
	if err := c.DeleteAPIKey(ctx, made.ID, nil); err != nil {
		t.Errorf("delete: %v", err)
	}
	_, err = connect(t, p.URL, made.Key).WhoAmI(ctx)
	if e, ok := errors.AsType[*client.Error](err); !ok || e.Code != "api_key_revoked" || e.RequestID == "" {
		t.Errorf("a revoked key: %v", err)
	}
}

func TestEveryCallAboutDocumentsWorksOnTheProgram(t *testing.T) {
	t.Parallel()
	p := apptest.Start(t)
	ctx := t.Context()
	c := connect(t, p.URL, p.Key)

	put := must(c.PutDocument(ctx, client.NewDocument{
		ID: "ferry", Collection: "travel", Title: "The ferry", Text: "It leaves at eight.", URL: "https://example.org/ferry",
		Tags: []string{"sea"}, Metadata: map[string]any{"days": 3.0, "open": true},
	}, nil))(t, "put")
	if put.Revision != 1 || *put.URL != "https://example.org/ferry" || put.Metadata["open"] != true {
		t.Errorf("stored %+v", put)
	}
	if again := must(c.PutDocument(ctx, client.NewDocument{ID: "ferry", Title: "The new ferry"}, &put.Revision))(t, "replace"); again.Revision != 2 {
		t.Errorf("replaced %+v", again)
	}
	made := must(c.CreateDocument(ctx, client.NewDocument{Title: "A harbour", Tags: []string{"sea"}}))(t, "create")
	if read := must(c.Document(ctx, made.ID))(t, "read"); read.Title != "A harbour" || read.Collection != "default" {
		t.Errorf("read %+v", read)
	}
	imported := must(c.ImportDocuments(ctx, strings.NewReader(`{"id":"a","title":"A harbour at night"}`+"\n{}\n"), nil))(t, "import")
	if imported.Received != 2 || imported.Created != 1 || imported.Failed != 1 || imported.Errors[0].Line != 2 {
		t.Errorf("imported %+v", imported)
	}
	page := must(c.ListDocuments(ctx, client.DocumentQuery{Tags: []string{"sea"}}))(t, "list")
	if len(page.Items) != 1 || page.Items[0].ID != made.ID {
		t.Errorf("listed %+v", page.Items)
	}

	one := 1
	found := must(c.Search(ctx, client.Query{Q: "harbour", Limit: &one}))(t, "search")
	if found.Total != 2 || len(found.Results) != 1 || found.NextCursor == nil {
		t.Fatalf("found %+v", found)
	}
	next := must(c.Search(ctx, client.Query{Q: "harbour", Limit: &one, Cursor: *found.NextCursor}))(t, "next page")
	if len(next.Results) != 1 || next.Results[0].ID == found.Results[0].ID {
		t.Errorf("next page %+v", next.Results)
	}
	if err := c.DeleteDocument(ctx, made.ID, &made.Revision); err != nil {
		t.Errorf("delete: %v", err)
	}
	if found := must(c.Search(ctx, client.Query{Q: "harbour", Tags: []string{"sea"}}))(t, "search again"); found.Total != 0 {
		t.Errorf("a deleted document is found: %+v", found.Results)
	}
}

func TestEveryCallAboutTheServiceWorksOnTheProgram(t *testing.T) {
	t.Parallel()
	clock := apptest.NewClock(time.Now().Truncate(time.Millisecond))
	p := apptest.Start(t, apptest.Clock(clock.Now))
	ctx := t.Context()
	c := connect(t, p.URL, p.Key)
	if h := must(c.Health(ctx))(t, "health"); h.Status != "healthy" || h.Version != "1" || !h.Timestamp.Equal(clock.Now()) {
		t.Errorf("health %+v", h)
	}
	if s := must(c.CacheStats(ctx))(t, "cache stats"); len(s.Caches) == 0 || s.Limiter.Mode != limiterMode(t) {
		t.Errorf("cache stats %+v", s)
	}
	nobody := connect(t, p.URL, "")
	if v := must(nobody.Versions(ctx))(t, "versions"); len(v) != 1 || v[0].State != "active" {
		t.Errorf("versions %+v", v)
	}
	if d := must(nobody.OpenAPI(ctx))(t, "openapi"); !strings.Contains(string(d), `"x-api-version"`) {
		t.Errorf("openapi %.200s", d)
	}
}

// limiterMode is how one process on the engine of the tests counts.
func limiterMode(t *testing.T) string {
	t.Helper()
	if apptest.OnPostgres(t) {
		return "split" // others may share its database
	}
	return "local"
}

// A program that reads a document and stores it again changes no number, although the server refuses digits that are rounded.
func TestNumbersOfMetadataAreSentBackAsTheyCame(t *testing.T) {
	t.Parallel()
	p := apptest.Start(t)
	c := connect(t, p.URL, p.Key)
	sent := map[string]any{"a": int64(1) << 60, "b": json.Number("0.1e-7"), "c": 1.5, "d": 1e300}
	first := must(c.PutDocument(t.Context(), client.NewDocument{ID: "a", Text: "a", Metadata: sent}, nil))(t, "put")
	second := must(c.PutDocument(t.Context(), client.NewDocument{ID: "a", Text: "a", Metadata: first.Metadata}, nil))(t, "put again")
	want := map[string]any{
		"a": json.Number("1152921504606846976"), "b": json.Number("1e-8"), "c": json.Number("1.5"), "d": json.Number("1e+300"),
	}
	for _, got := range []map[string]any{first.Metadata, second.Metadata} {
		if !reflect.DeepEqual(got, want) {
			t.Errorf("got %v, want %v", got, want)
		}
	}
	found := must(c.Search(t.Context(), client.Query{Q: "a"}))(t, "search")
	if !reflect.DeepEqual(found.Results[0].Metadata, want) {
		t.Errorf("found %v", found.Results[0].Metadata)
	}
}
