package api

import (
	"net/http"
	"net/netip"
	"testing"
)

func TestForwardedForCountsFromTrustedProxiesOnly(t *testing.T) {
	t.Parallel()
	trusted := []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("fd00::/8")}
	for _, c := range []struct {
		name  string
		peer  string
		lines []string
		want  string
	}{
		{"no header", "10.0.0.1", nil, "10.0.0.1"},
		{"a stranger's header", "192.0.2.7", []string{"1.2.3.4"}, "192.0.2.7"},
		{"a proxy's header", "10.0.0.1", []string{"1.2.3.4"}, "1.2.3.4"},
		{"what the client wrote further left", "10.0.0.1", []string{"6.6.6.6, 1.2.3.4"}, "1.2.3.4"},
		{"a chain of proxies", "10.0.0.1", []string{"6.6.6.6, 1.2.3.4, 10.0.0.2"}, "1.2.3.4"},
		{"over several lines", "10.0.0.1", []string{"6.6.6.6", "1.2.3.4", "10.0.0.2, 10.0.0.3"}, "1.2.3.4"},
		{"proxies only", "10.0.0.1", []string{"10.0.0.9, 10.0.0.2"}, "10.0.0.9"},
		{"rubbish", "10.0.0.1", []string{"1.2.3.4, unknown, 10.0.0.2"}, "10.0.0.2"},
		{"empty", "10.0.0.1", []string{""}, "10.0.0.1"},
		{"with ports", "10.0.0.1", []string{"1.2.3.4:5678"}, "1.2.3.4"},
		{"IPv6 with a port", "fd00::1", []string{"[2001:db8::1]:443"}, "2001:db8::1"},
		{"IPv6", "fd00::1", []string{"2001:db8::1"}, "2001:db8::1"},
		{"IPv4 in IPv6", "10.0.0.1", []string{"::ffff:1.2.3.4"}, "1.2.3.4"},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := http.Header{}
			for _, line := range c.lines {
				h.Add("X-Forwarded-For", line)
			}
			if got := forwarded(netip.MustParseAddr(c.peer), h, trusted); got.String() != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}
