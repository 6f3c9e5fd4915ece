package api

import "testing"

func TestLoopbackListenerAnswersToNoOtherName(t *testing.T) {
	t.Parallel()
	for host, want := range map[string]bool{
		"": true, "localhost": true, "LocalHost:8081": true, "127.0.0.1": true, "127.0.0.1:8081": true, "[::1]": true, "[::1]:8081": true, "10.0.0.7:8081": true,
		"evil.example.org": false, "evil.example.org:8081": false, "127.0.0.1.evil.example.org:8081": false, "localhost.evil.example.org": false,
		"xlocalhost:8081": false, "127.0.0.1:8081.evil.example.org": false, "[::1].evil.example.org": false,
	} {
		if got := localHost(host); got != want {
			t.Errorf("%q: %t, want %t", host, got, want)
		}
	}
	const host = "127.0.0.1:8081"
	for origin, want := range map[string]bool{
		"http://127.0.0.1:8081": true, "http://127.0.0.1": false, "http://evil.example.org": false, "null": false, "": false,
	} {
		if got := ownOrigin([]string{origin}, host); got != want {
			t.Errorf("origin %q: %t, want %t", origin, got, want)
		}
	}
	if !ownOrigin(nil, host) || ownOrigin([]string{"http://" + host, "http://" + host}, host) {
		t.Error("no origin is fine, and two are not")
	}
}
