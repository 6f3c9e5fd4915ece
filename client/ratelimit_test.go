package client_test

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"keepsake/client"
)

func TestLimitsAreThoseOfTheLastResponse(t *testing.T) {
	t.Parallel()
	responses := []map[string]string{
		{},
		{"Limit": "60", "Remaining": "0", "Reset": "1790000000", "Daily-Remaining": "12", "Monthly-Remaining": "34"},
		{"Limit": "60", "Remaining": "7", "Reset": "1790000060", "Daily-Remaining": "11", "Monthly-Remaining": "33", "Key-Limit": "20", "Key-Remaining": "7"},
		{}, // of a proxy
	}
	n := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for name, value := range responses[n] {
			w.Header().Set("X-RateLimit-"+name, value)
		}
		if n == 1 {
			w.WriteHeader(http.StatusUnauthorized)
		}
		n++
		w.Write([]byte("{}"))
	}))
	t.Cleanup(server.Close)
	c, err := client.New(server.URL, "")
	if err != nil {
		t.Fatal(err)
	}
	anonymous := &client.RateLimits{Limit: 60, ResetAt: time.Unix(1790000000, 0).UTC(), DailyRemaining: 12, MonthlyRemaining: 34}
	ofKey := &client.RateLimits{
		Limit: 60, Remaining: 7, ResetAt: time.Unix(1790000060, 0).UTC(), DailyRemaining: 11, MonthlyRemaining: 33,
		Key: &client.KeyRateLimits{Limit: 20, Remaining: 7},
	}
	for i, want := range []*client.RateLimits{nil, anonymous, ofKey, ofKey} {
		_, err := c.Health(t.Context())
		if (err != nil) != (i == 1) {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, c.RateLimits()); diff != "" {
			t.Errorf("after response %d: %s", i, diff)
		}
	}
}
