package main

import "testing"

func TestPlainHTTPToAnotherMachineIsNoticed(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]bool{
		"http://example.org": true, "HTTP://example.org:8080": true, "http://10.0.0.7:8080": true, "http://[fd00::1]": true,
		"http://localhost.example.org": true, "http://0.0.0.0": true,
		"https://example.org": false, "http://localhost:8080": false, "http://LOCALHOST.": false, "http://api.localhost": false,
		"http://127.0.0.1:8080": false, "http://127.8.9.1": false, "http://[::1]:8080": false, "http://[::ffff:127.0.0.1]": false,
	} {
		if got := inTheClear(address); got != want {
			t.Errorf("%s: %t, want %t", address, got, want)
		}
	}
}
