package api_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"

	"keepsake/internal/govern/auth"
	"keepsake/internal/web/api"
	"keepsake/internal/web/api/apitest"
)

// news are current for as long as a test says so.
type news struct{ old atomic.Bool }

func (n *news) Current() bool { return !n.old.Load() }

func TestStaleProcessDecidesNoCredential(t *testing.T) {
	t.Parallel()
	n := &news{}
	b := setup(t, func(o *api.Options) { o.News = n })
	key := b.Key(apitest.Operator, auth.All, nil)
	wrong := "kpsk_" + strings.Repeat("0", 36)
	b.do("GET", "/api/v1/ping", "", "X-API-Key", key).want(t, 200, "")
	b.do("GET", "/api/v1/ping", "", "X-API-Key", wrong).want(t, 401, "invalid_api_key")

	n.old.Store(true)
	for _, sent := range []string{key, wrong} {
		a := b.do("GET", "/api/v1/ping", "", "X-API-Key", sent).want(t, 503, "unavailable")
		if got := a.Header.Get("Retry-After"); got != "1" {
			t.Errorf("Retry-After is %q, want 1", got)
		}
	}
	b.do("GET", "/api/v1/ping", "").want(t, 401, "missing_credentials")
	b.do("GET", "/api/open", "").want(t, 200, "")
	b.do("GET", "/api/v1/nothing", "", "X-API-Key", key).want(t, 404, "")
	b.send(request("GET", "/api/v1/administer", "").WithContext(api.LocalContext(context.Background(), nil))).want(t, 200, "")

	n.old.Store(false)
	b.do("GET", "/api/v1/ping", "", "X-API-Key", key).want(t, 200, "")
}
