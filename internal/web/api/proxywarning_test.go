package api_test

import (
	"bytes"
	"log/slog"
	"net/netip"
	"strings"
	"testing"
	"time"

	"keepsake/internal/govern/usage"
	"keepsake/internal/web/api"
)

func TestUnnamedProxyIsWarnedOfOnceAnHour(t *testing.T) {
	t.Parallel()
	const message = `"ignored X-Forwarded-For from a peer that trustedProxies does not name"`
	var lines bytes.Buffer
	log := func(o *api.Options) {
		o.Log = slog.New(slog.NewJSONHandler(&lines, nil))
		o.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}
	}
	b := setup(t, log)
	ask := func(peer string, headers ...string) {
		r := request("GET", "/api/open", "", headers...)
		r.RemoteAddr = peer
		b.send(r).want(t, 200, "")
	}
	check := func(when string, want int) {
		t.Helper()
		if got := strings.Count(lines.String(), message); got != want {
			t.Errorf("%s: got %d warnings, want %d: %s", when, got, want, lines.String())
		}
	}
	ask("192.0.2.7:40000")
	ask("10.1.2.3:40000", "X-Forwarded-For", "198.51.100.9")
	ask("@", "X-Forwarded-For", "198.51.100.9")
	check("direct clients, a trusted proxy and the socket", 0)

	ask("[::ffff:192.0.2.7]:40000", "X-Forwarded-For", "198.51.100.9")
	check("a proxy that is not named", 1)
	for _, want := range []string{`"level":"WARN"`, `"peer":"192.0.2.7"`, `"setting":"trustedProxies"`} {
		if !strings.Contains(lines.String(), want) {
			t.Errorf("the warning lacks %s: %s", want, lines.String())
		}
	}
	b.clock.Move(time.Hour - time.Nanosecond)
	ask("192.0.2.7:40001", "X-Forwarded-For", "198.51.100.9")
	ask("192.0.2.8:40000", "X-Forwarded-For", "198.51.100.9")
	check("within the hour", 1)
	b.clock.Move(time.Nanosecond)
	ask("192.0.2.8:40000", "X-Forwarded-For", "198.51.100.9")
	check("an hour later", 2)
	if strings.Contains(lines.String(), "198.51.100.9") {
		t.Errorf("the log contains the header: %s", lines.String())
	}

	lines.Reset()
	b = setup(t, log, func(o *api.Options) { o.Surface = usage.Backend })
	ask("192.0.2.7:40000", "X-Forwarded-For", "198.51.100.9")
	check("on the backend listener", 0)
}
