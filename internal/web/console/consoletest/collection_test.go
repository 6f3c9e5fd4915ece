package consoletest

import (
	"net/url"
	"strings"
	"testing"

	"keepsake/client"
	"keepsake/internal/app/apptest"
	"keepsake/internal/govern/account"
)

func TestACollectionIsTunedInTheConsole(t *testing.T) {
	t.Parallel()
	p := apptest.Start(t)
	v, c := admin(t, p), operator(t, p)
	v.get("/console/collections").want(t, 200, "No collections yet")
	for id, text := range map[string]string{"a": "a red sofa", "b": "a red couch"} {
		if _, err := c.PutDocument(t.Context(), client.NewDocument{ID: id, Title: "Piece " + id, Text: text, Collection: "shop/1"}, nil); err != nil {
			t.Fatal(err)
		}
	}
	v.get("/console/collections").want(t, 200, `href="/console/collections/shop%2F1"`, "2", "default")
	const path = "/console/collections/shop%2F1"
	blank := v.get(path).want(t, 200, "2 documents", "German (de)", "Only these are searched")

	// A preview compares, and stores nothing.
	typed := url.Values{"language": {"en"}, "synonyms": {"sofa, couch\r\n\r\ntv => television\r\nenglish"}, "fields": {"title = 3\r\ntext=1"}, "q": {"sofa"}}
	v.post(path+"/preview", blank.sent(t, typed)).want(t, 200, "Stored settings", "Settings of the form", "Piece b", "new")
	v.post(path+"/preview", blank.sent(t, url.Values{"synonyms": {"sofa"}, "q": {"sofa"}})).want(t, 200, "must have at least 2 entries")
	if stored, err := c.Collection(t.Context(), "shop/1"); err != nil || stored.Revision != 0 {
		t.Errorf("after the preview: %+v, %v", stored, err)
	}

	// A mistake is beside its field, and what was typed stays.
	refused := v.post(path, blank.sent(t, url.Values{"language": {""}, "synonyms": {"sofa"}, "fields": {""}})).want(t, 400, "The field to correct is marked", "Line 1: ")
	refused.want(t, 400, ">\nsofa</textarea>")
	v.post(path, blank.sent(t, url.Values{"fields": {"title"}})).want(t, 400, "Write a field and its weight on each line")
	if to := v.post(path, blank.sent(t, typed)).leadsTo(t); !strings.HasPrefix(to, path) {
		t.Errorf("saving leads to %s", to)
	}
	stored, err := c.Collection(t.Context(), "shop/1")
	if err != nil || stored.Revision != 1 || *stored.Language != "en" || len(stored.Synonyms) != 3 || stored.Synonyms[1].From != "tv" || stored.Fields["title"] != 3 {
		t.Errorf("got %+v, %v", stored, err)
	}
	v.get(path).want(t, 200, "sofa, couch\ntv =&gt; television\nenglish", "text = 1\ntitle = 3")

	// Someone else's change is not overwritten unseen.
	v.post(path, blank.sent(t, url.Values{"language": {"fr"}})).want(t, 412, "someone else changed this")

	v.get(path+"/delete").want(t, 200, "2 documents")
	v.post(path+"/delete", url.Values{}).leadsTo(t)
	if stored, err := c.Collection(t.Context(), "shop/1"); err != nil || stored.UpdatedAt != nil || stored.Documents != 2 {
		t.Errorf("after the removal: %+v, %v", stored, err)
	}

	// A collection can be set up before its first document.
	if to := v.post("/console/collections", url.Values{"collection": {"new"}}).leadsTo(t); to != "/console/collections/new" {
		t.Errorf("another collection is at %s", to)
	}
	form := v.get("/console/collections/new").want(t, 200, "0 documents")
	v.post("/console/collections/new", form.sent(t, url.Values{"language": {"de"}})).leadsTo(t)
	v.get("/console/collections").want(t, 200, "language de")
}

func TestAViewerSeesCollectionsAndChangesNone(t *testing.T) {
	t.Parallel()
	p := apptest.Start(t)
	v := tenant(t, p, "pro", string(account.RoleViewer))
	v.get("/console/collections").want(t, 200, "No collections yet")
	page := v.get("/console/collections/shop").want(t, 200, "Preview")
	if strings.Contains(page.text, ">Save<") || strings.Contains(page.text, "Remove the settings") {
		t.Errorf("a viewer can change settings: %s", page.text)
	}
	v.post("/console/collections/shop", page.sent(t, url.Values{})).want(t, 403)
}
