package conformance

import (
	"net/http"
	"strings"
	"time"
)

const (
	hooksPath       = "/api/v1/admin/webhooks"
	unknownHook     = "whk_01kakakakafkhvayayayayayay"
	unknownDelivery = "dlv_01kakakakafkhvayayayayayay"
)

// newWebhook creates a webhook whose host does not exist.
func (c *check) newWebhook(members fields) *answer {
	body := fields{"url": "https://hooks.invalid/" + c.suite.name()}
	for name, v := range members {
		body[name] = v
	}
	a := c.post(hooksPath).json(body).send().is(http.StatusCreated)
	c.remove(hooksPath + "/" + a.text("id"))
	return a
}

// eventChecks checks §6 (decisions.md, N).
func eventChecks() []promise {
	return []promise{
		{"AWebhookHasASecretThatIsShownOnce", func(c *check) {
			made := c.newWebhook(fields{"events": []string{"api_key.created"}})
			path := hooksPath + "/" + made.text("id")
			made.head("Location", path).has(fields{"disabled": false, "revision": 1})
			secret := made.text("secret")
			if !strings.HasPrefix(secret, "whsec_") || len(secret) < 38 {
				made.broken("the secret is not one of Standard Webhooks")
			}
			read := c.get(path).send().is(http.StatusOK).lacks("secret")
			if strings.Contains(string(read.body), secret) {
				read.broken("the secret is shown again")
			}
		}},
		{"BadWebhooksAreRefused", func(c *check) {
			for field, body := range map[string]fields{
				"url":       {"url": "ftp://hooks.invalid"},
				"events[0]": {"url": "https://hooks.invalid", "events": []string{"api_key.no_such"}},
				"events[1]": {"url": "https://hooks.invalid", "events": []string{"api_key.created", "nothing"}},
			} {
				c.post(hooksPath).json(body).send().fails(http.StatusBadRequest, "validation_error", field)
			}
		}},
		{"AnEventReachesAWebhook", func(c *check) {
			hook := hooksPath + "/" + c.newWebhook(fields{"events": []string{"api_key.created"}}).text("id")
			k := c.newKey(fields{"name": "conformance canary"}, "read")
			list := c.get(hook + "/deliveries").send().is(http.StatusOK)
			found := ""
			for _, payload := range list.texts("items", "payload") {
				if strings.Contains(payload, k.id) {
					found = payload
				}
			}
			if !strings.Contains(found, `"type":"api_key.created"`) || strings.Contains(found, "canary") {
				list.broken("no delivery is about the key and nothing else")
			}
		}},
		{"AnUnreachableTargetIsTriedAgain", func(c *check) {
			hook := hooksPath + "/" + c.newWebhook(fields{"url": "http://127.0.0.1:1/"}).text("id")
			delivery := hook + "/deliveries/" + c.post(hook+"/ping").send().is(http.StatusCreated).text("id")
			var last *answer
			if !c.eventually(30*time.Second, func() bool {
				last = c.get(delivery).send().is(http.StatusOK)
				return len(last.list("attempts")) > 0
			}) {
				last.broken("nothing was attempted")
			}
			last.has(fields{"state": "pending"})
		}},
		{"ASecretRotatesWithAnOverlap", func(c *check) {
			made := c.newWebhook(nil)
			path := hooksPath + "/" + made.text("id")
			next := c.post(path + "/rotate").json(fields{"graceSeconds": 60}).send().is(http.StatusOK)
			if next.text("secret") == made.text("secret") || len(next.list("secrets")) != 2 {
				next.broken("there are not two secrets")
			}
			c.post(path+"/rotate").send().fails(http.StatusConflict, "rotation_in_progress")
			c.post(path+"/rotate").with("If-Match", `"77"`).send().fails(http.StatusConflict, "rotation_in_progress")
		}},
	}
}
