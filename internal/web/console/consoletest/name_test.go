package consoletest

import (
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"keepsake/client"
	"keepsake/internal/app/apptest"
	"keepsake/internal/testing/await"
)

func newKey(t *testing.T, c *client.Client, name string) *client.CreatedAPIKey {
	t.Helper()
	key, err := c.CreateAPIKey(t.Context(), client.NewAPIKey{Name: name, Scopes: []string{"read"}, RateLimit: &client.NewRateLimit{RequestsPerMinute: 1500}})
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func TestFiltersTakeNames(t *testing.T) {
	t.Parallel()
	p := apptest.Start(t)
	v, c := admin(t, p), operator(t, p)
	key := newKey(t, c, "nightly <sync>")
	twins := [2]*client.CreatedAPIKey{newKey(t, c, "twin"), newKey(t, c, "twin")}
	newVisitor(t, p).send(http.MethodGet, "/api/v1/documents", nil, "X-API-Key", key.Key).want(t, 200)

	v.get("/console/audit?target=Nightly+%3Csync%3E").want(t, 200, "api_key.created", `value="Nightly &lt;sync&gt;"`)
	v.get("/console/audit?actor=ADMIN@localhost").want(t, 200, "admin@localhost</a>")
	v.get("/console/audit?actor=nobody@localhost").want(t, 200, "No key, user, workspace or webhook", "<code>nobody@localhost</code>")
	v.get("/console/audit?target=twin").want(t, 400, "Several have the name twin", twins[0].ID, twins[1].ID)

	filter := func(text string) string {
		return "/console/usage?group=route&window=1h&filter=" + url.QueryEscape(text)
	}
	await.Until(t, "the request is counted", func() bool {
		return strings.Contains(v.get(filter("key:"+key.ID)).want(t, 200).text, "/api/v1/documents")
	})
	v.get(filter("method:GET key:nightly <sync> status:200")).want(t, 200, "/api/v1/documents</code>")
	v.get(filter("-key:nightly <sync> route:/api/v1/documents")).want(t, 200, "No requests match")
	v.get(filter("key:none status:599")).want(t, 200, "No requests match")
	v.get(filter("key:nightly")).want(t, 400, "No API key has the ID or name nightly.")
	v.get(filter("key:twin")).want(t, 400, "Several have the name twin")
	v.get("/console/usage/csv?window=1h&group=route&filter="+url.QueryEscape("key:nightly <sync>")).want(t, 200, "/api/v1/documents")

	v.get("/console/keys/"+key.ID).want(t, 200, `href="/console/requests?key=`+key.ID+`"`)
	shown := v.get("/console/requests?key="+key.ID).want(t, 200, "Caller: ", ">nightly &lt;sync&gt;</a>", `<input type="hidden" name="key" value="`+key.ID+`"`, "Show all callers", "/api/v1/documents")
	if others, _, _ := strings.Cut(shown.text[strings.Index(shown.text, `<a class="button" href="/console/requests?`):], ">"); strings.Contains(others, "key=") {
		t.Errorf("the filter is not removed by %s", others)
	}
	v.get("/console/requests?key="+url.QueryEscape("nightly <sync>")).want(t, 200, "/api/v1/documents")
	v.get("/console/requests?key=nightly").want(t, 200, "No requests match", "No API key has the ID or name <code>nightly</code>")
	v.get("/console/requests?key=twin").want(t, 400, "Several have the name twin")
}

func TestTheAuditLogShowsWhatChanged(t *testing.T) {
	t.Parallel()
	p := apptest.Start(t)
	v, c := admin(t, p), operator(t, p)
	key := newKey(t, c, "crawler")
	for _, perMinute := range []int64{1200, 40} {
		if _, err := c.ChangeAPIKey(t.Context(), key.ID, client.APIKeyChange{RateLimit: client.To(client.NewRateLimit{RequestsPerMinute: perMinute})}, nil); err != nil {
			t.Fatal(err)
		}
	}
	v.get("/console/audit?target="+key.ID).want(t, 200, "<small>rateLimit.requestsPerMinute: 1,500</small>", "<small>scopes: read</small>",
		"<small>rateLimit.requestsPerMinute: 1,500 → 1,200</small>", "<small>rateLimit.requestsPerMinute: 1,200 → 40</small>")
}

func TestLimitsOfAKeySayWhoSetThem(t *testing.T) {
	t.Parallel()
	p := apptest.Start(t)
	v, c := admin(t, p), operator(t, p)
	own := newKey(t, c, "crawler")
	inherits, err := c.CreateAPIKey(t.Context(), client.NewAPIKey{Name: "site", Scopes: []string{"read"}})
	if err != nil {
		t.Fatal(err)
	}
	limits, err := c.APIKeyLimits(t.Context(), own.ID)
	if err != nil {
		t.Fatal(err)
	}
	tier := limits.Workspace.Tier
	v.get("/console/keys/"+own.ID).want(t, 200, "Set on this key.<br>", "All keys and users together. From tier "+tier+".<br>")
	if got := v.get("/console/keys/"+inherits.ID).want(t, 200, `>From tier `+tier+`.<br>`); strings.Contains(got.text, "Set on this key") {
		t.Errorf("a limit of the tier is said to be the key's: %s", got.text)
	}
	for _, path := range []string{own.ID, inherits.ID} {
		form := v.get("/console/keys/"+path+"/change").want(t, 200)
		for _, hint := range []string{"Empty: the limit of tier " + tier, "In a UTC day. Empty: only the workspace&#39;s quota", "In a UTC month. Empty: only the workspace&#39;s quota"} {
			if !regexp.MustCompile(hint + `, \d{1,3}(,\d{3})+\.`).MatchString(form.text) {
				t.Errorf("the form lacks the number of %q: %s", hint, form.text)
			}
		}
	}
}
