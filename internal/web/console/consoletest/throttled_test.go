package consoletest

import (
	"net/http"
	"regexp"
	"strings"
	"testing"

	"keepsake/client"
	"keepsake/internal/app/apptest"
	"keepsake/internal/testing/await"
)

func TestPagesSayWhatWasThrottled(t *testing.T) {
	t.Parallel()
	p := apptest.Start(t)
	v, c := admin(t, p), operator(t, p)
	key, err := c.CreateAPIKey(t.Context(), client.NewAPIKey{Name: "crawler", Scopes: []string{"read"}, Quota: &client.Quota{Daily: new(int64(2))}})
	if err != nil {
		t.Fatal(err)
	}
	for range 5 {
		newVisitor(t, p).send(http.MethodGet, "/api/v1/documents", nil, "X-API-Key", key.Key)
	}
	path := "/console/keys/" + key.ID
	await.Until(t, "the page counts the refusals", func() bool {
		return strings.Contains(v.get(path).want(t, 200).text, "Requests refused with 429 in the last 24 hours: 3, the first in") && strings.Contains(v.get(path).text, "the last at")
	})
	got := v.get(path).want(t, 200, `href="/console/requests?outcome=status%3A429&amp;key=`+key.ID)
	if !regexp.MustCompile(`the first in\s+<time [^>]*data-time="span"[^>]*>\d+ \w+ \d+, \d\d:00–\d\d:00 UTC</time>\s*, the last at\s+<time [^>]*data-time="exact"[^>]*>[^<]+</time>`).MatchString(got.text) {
		t.Errorf("the page does not say when: %s", got.text)
	}
	v.get("/console/keys").want(t, 200, ">throttled</span>", `title="3 requests refused with 429 in the last hour"`, "Accepted today")
	v.get("/").want(t, 200, "Accepted today", "Refused requests are not counted", "accepted and refused, with")
	throttled := v.get("/console/usage?group=key&filter=status:429").want(t, 200, "were throttled in this period; last at", "legend-item part-warn")
	if strings.Contains(throttled.text, "are throttled") {
		t.Error("the page says that callers still are throttled")
	}

	if _, err := c.ChangeAPIKey(t.Context(), key.ID, client.APIKeyChange{Quota: client.To(client.Quota{Daily: new(int64(9))})}, nil); err != nil {
		t.Fatal(err)
	}
	v.get(path).want(t, 200, "<dt>Changed</dt>", `href="/console/audit?target=`+key.ID)
	v.get(path+"?done=limits-saved").want(t, 200, noticed+"The limits of the key are saved.")
}
