package consoletest

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"

	"keepsake/internal/app/apptest"
	"keepsake/internal/app/config"
	"keepsake/internal/testing/await"
)

var (
	webhookSecret = regexp.MustCompile(`whsec_[0-9A-Za-z+/=]{20,}`)
	webhookID     = regexp.MustCompile(`whk_[0-9a-z]{26}`)
	deliveryID    = regexp.MustCompile(`dlv_[0-9a-z]{26}`)
)

func TestAWebhookLivesItsLifeInTheConsole(t *testing.T) {
	t.Parallel()
	var status atomic.Int64
	status.Store(http.StatusInternalServerError)
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.WriteHeader(int(status.Load()))
	}))
	t.Cleanup(receiver.Close)
	p := apptest.Start(t, apptest.With(func(c *config.Config) { c.Webhooks.AllowPrivate = true }))
	v := admin(t, p)
	v.get("/console/webhooks").want(t, 200, "No webhooks yet")
	v.get("/console/webhooks/new").want(t, 200, "quota.threshold_reached", "subject.erased")

	const events = "api_key.created"
	v.post("/console/webhooks/new", url.Values{"once": {"12345678"}, "url": {"ftp://example.org"}, "description": {"on <call>"}, "event": {events}}).
		want(t, 400, `value="ftp://example.org" required`, `aria-invalid="true"`, `value="on &lt;call&gt;"`, `value="api_key.created" checked`)
	v.post("/console/webhooks/new", url.Values{"once": {"12345678"}, "url": {receiver.URL}}).want(t, 400, "at least one event", receiver.URL)
	in := url.Values{"once": {"12345679"}, "url": {receiver.URL + "/hook"}, "description": {"on <call>"}, "event": {events}}
	created := v.post("/console/webhooks/new", in).want(t, 200, "cannot be shown again", "Send a test event")
	secret, id := webhookSecret.FindString(created.text), webhookID.FindString(created.text)
	if again := v.post("/console/webhooks/new", in).want(t, 200, "sent twice"); secret == "" || strings.Contains(again.text, secret) {
		t.Errorf("a repeated form shows %s", again.text)
	}
	v.get("/console/webhooks").want(t, 200, receiver.URL+"/hook", "on &lt;call&gt;", events)
	path := "/console/webhooks/" + id
	v.get(path).want(t, 200, "Nothing was sent yet", "Disable", "Details")

	// A test event fails, and succeeds when it is sent again.
	sent := v.post(path+"/ping", nil).want(t, 303)
	delivery := sent.leadsTo(t)
	if !deliveryID.MatchString(delivery) {
		t.Fatalf("the test event leads to %q", delivery)
	}
	await.Until(t, "the first attempt fails", func() bool {
		return strings.Contains(v.send("GET", delivery, nil, "HX-Request", "true").want(t, 200).text, `class="bad">500`)
	})
	v.get(delivery).want(t, 200, "webhook.ping", "Payload", "&#34;type&#34;: &#34;webhook.ping&#34;", "Next attempt")
	v.get(path).want(t, 200, "failing", "Deliveries fail")
	v.get(path+"?state=delivered").want(t, 200, "No delivery is in this state")
	status.Store(http.StatusOK)
	v.post(delivery+"/replay", nil).want(t, 303)
	await.Until(t, "the delivery succeeds", func() bool {
		return strings.Contains(v.get(delivery).want(t, 200).text, `class="good">200`)
	})
	v.get(path+"?state=delivered").want(t, 200, "webhook.ping")

	v.get(path+"/change").want(t, 200, receiver.URL+"/hook")
	v.post(path+"/change", url.Values{"url": {receiver.URL}, "event": {events, "api_key.revoked"}}).want(t, 303)
	v.get(path).want(t, 200, "api_key.revoked")
	v.post(path+"/change", url.Values{"url": {"nonsense"}, "event": {events}}).want(t, 400, `value="nonsense"`)
	v.post(path+"/change", url.Values{"url": {receiver.URL}}).want(t, 400, "or disable")

	rotated := v.post(path+"/rotate", url.Values{"once": {"22345678"}, "grace": {"3600"}}).want(t, 200, "also signed with the old secret", "cannot be shown again")
	if next := webhookSecret.FindString(rotated.text); next == "" || next == secret {
		t.Errorf("the new secret is %q", next)
	}
	v.post(path+"/rotate", url.Values{"once": {"32345678"}, "grace": {"0"}}).want(t, 409, "rotation")
	v.get(path+"/rotate").want(t, 200, `name="force"`)

	v.post(path+"/enabled", url.Values{"enabled": {"false"}}).want(t, 303)
	v.get(path).want(t, 200, "Nothing is delivered", "Enable")
	v.post(path+"/ping", nil).want(t, 409, "disabled", "Deliveries")
	v.post(delivery+"/replay", nil).want(t, 409, "disabled", "Payload")
	v.post(path+"/enabled", url.Values{"enabled": {"true"}}).want(t, 303)

	v.get(path+"/delete").want(t, 200, "cannot be undone")
	v.post(path+"/delete", nil).want(t, 303)
	v.get(path).want(t, 404, "not found")
	v.get("/console/webhooks/whk_00000000000000000000000000/deliveries/dlv_00000000000000000000000000").want(t, 404, "not found")
}
