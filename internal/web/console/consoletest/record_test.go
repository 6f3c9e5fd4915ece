package consoletest

import (
	"net/url"
	"regexp"
	"strings"
	"testing"

	"keepsake/client"
	"keepsake/internal/app/apptest"
	"keepsake/internal/govern/account"
)

// hidden returns the value of a hidden field of the page.
func (p page) hidden(t *testing.T, name string) string {
	t.Helper()
	found := regexp.MustCompile(`<input type="hidden" name="` + name + `" value="([^"]*)"`).FindStringSubmatch(p.text)
	if found == nil {
		t.Fatalf("%s has no field %q: %s", p.Request.URL, name, p.text)
	}
	return found[1]
}

// sent returns what a form sends: its hidden fields, and what was typed.
func (p page) sent(t *testing.T, typed url.Values) url.Values {
	t.Helper()
	form := url.Values{"once": {p.hidden(t, "once")}, "revision": {p.hidden(t, "revision")}}
	for name, values := range typed {
		form[name] = values
	}
	return form
}

func TestADocumentIsCreatedAndChangedInTheConsole(t *testing.T) {
	t.Parallel()
	p := apptest.Start(t)
	v, c := admin(t, p), operator(t, p)
	v.get("/console/documents").want(t, 200, `href="/console/new/document"`)

	blank := v.get("/console/new/document").want(t, 200, "Create a document")
	typed := url.Values{
		"id": {"boiler"}, "collection": {"manuals"}, "title": {"Boiler <manual>"}, "text": {"\r\nBleed the radiators.\r\nTwice."},
		"url": {"https://example.org/boiler"}, "tags": {"heating\r\nwinter, early\r\n"}, "metadata": {`{"floor": 2, "author": "Ada", "old":`},
	}
	refused := v.post("/console/new/document", blank.sent(t, typed)).want(t, 400,
		`aria-invalid="true"`, "Write a JSON object", "The field to correct is marked", "Boiler &lt;manual&gt;", "\n\nBleed the radiators.\nTwice.", "https://example.org/boiler", "winter, early")
	typed.Set("metadata", `{"floor": 2, "author": "Ada", "old": true}`)
	typed.Set("url", "boiler.pdf")
	refused = v.post("/console/new/document", refused.sent(t, typed)).want(t, 400, `name="url" value="boiler.pdf"`, `aria-invalid="true"`)
	typed.Set("url", "https://example.org/boiler")
	sent := refused.sent(t, typed)
	for range 2 { // sending it twice creates it once
		if path := v.post("/console/new/document", sent).leadsTo(t); path != "/console/documents/boiler" {
			t.Fatalf("the new document is at %q", path)
		}
	}
	stored, err := c.Document(t.Context(), "boiler")
	if err != nil || stored.Title != "Boiler <manual>" || stored.Text != "\nBleed the radiators.\nTwice." || stored.Collection != "manuals" || *stored.URL != "https://example.org/boiler" ||
		strings.Join(stored.Tags, "|") != "heating|winter, early" || len(stored.Metadata) != 3 || stored.Revision != 1 {
		t.Fatalf("got %+v, %v", stored, err)
	}
	v.post("/console/new/document", v.get("/console/new/document").sent(t, typed)).want(t, 409, "Boiler &lt;manual&gt;")

	form := v.get("/console/documents/boiler/change").want(t, 200, "Change Boiler &lt;manual&gt;", "\n\nBleed", `value="manuals"`, "&#34;floor&#34;: 2")
	v.get("/console/documents/boiler").want(t, 200, `href="/console/documents/boiler/change"`)
	delete(typed, "id")
	if got := v.post("/console/documents/boiler/change", form.sent(t, typed)); got.StatusCode != 303 {
		t.Fatalf("saving without a change: got %d: %s", got.StatusCode, got.text)
	}
	typed.Set("url", "")
	typed.Set("metadata", `{"floor": 3, "author": "Ada"}`)
	if got := v.post("/console/documents/boiler/change", form.sent(t, typed)); got.StatusCode != 303 {
		t.Fatalf("saving: got %d: %s", got.StatusCode, got.text)
	}
	stored, err = c.Document(t.Context(), "boiler")
	if err != nil || stored.URL != nil || len(stored.Metadata) != 2 || stored.Revision != 2 || stored.Text != "\nBleed the radiators.\nTwice." {
		t.Fatalf("got %+v, %v", stored, err)
	}

	form = v.get("/console/documents/boiler/change")
	if _, err := c.ChangeDocument(t.Context(), "boiler", client.DocumentChange{Title: client.To("Pump & boiler"), Tags: client.To([]string{})}, nil); err != nil {
		t.Fatal(err)
	}
	typed.Set("text", "Mine.")
	form = v.post("/console/documents/boiler/change", form.sent(t, typed)).
		want(t, 412, "someone else changed this", "Pump &amp; boiler", "Twice.", "Mine.", "<dt>Tags</dt>", "empty")
	if strings.Contains(form.text, "<dt>Metadata</dt>") {
		t.Errorf("a field that is the same is shown as a conflict: %s", form.text)
	}
	if got := v.post("/console/documents/boiler/change", form.sent(t, typed)); got.StatusCode != 303 {
		t.Fatalf("saving again: got %d: %s", got.StatusCode, got.text)
	}
	if stored, err = c.Document(t.Context(), "boiler"); err != nil || stored.Text != "Mine." || stored.Title != "Boiler <manual>" || len(stored.Tags) != 2 {
		t.Fatalf("got %+v, %v", stored, err)
	}
	v.get("/console/documents/pump/change").want(t, 404)
}

func TestAMemoryIsCreatedAndChangedInTheConsole(t *testing.T) {
	t.Parallel()
	p := apptest.Start(t)
	v, c := admin(t, p), operator(t, p)
	v.get("/console/memories").want(t, 200, `href="/console/new/memory"`)

	blank := v.get("/console/new/memory?subject=p-4711").want(t, 200, "Create a memory", `value="p-4711"`)
	typed := url.Values{
		"subjectId": {"p 4711"}, "text": {"Prefers tea."}, "kind": {"preference"}, "speaker": {"Ada"}, "key": {"drink"}, "tags": {"call"},
		"metadata": {`{"channel": "phone"}`}, "expiresAt": {"2037-01-31T18:30"}, "importance": {"high"}, "occurredAt": {""}, "pinned": {"true"}, "source": {"call 7"},
	}
	refused := v.post("/console/new/memory", blank.sent(t, typed)).want(t, 400, "from 0 to 1", "<details open>", `aria-invalid="true"`, "Prefers tea.", `value="2037-01-31T18:30"`)
	typed.Set("importance", "0.5")
	refused = v.post("/console/new/memory", refused.sent(t, typed)).want(t, 400, `value="p 4711"`, `aria-invalid="true"`)
	typed.Set("subjectId", "p-4711")
	typed.Set("text", "")
	refused = v.post("/console/new/memory", refused.sent(t, typed)).want(t, 400, `name="text"`, `aria-invalid="true"`)
	typed.Set("text", "Prefers tea.")
	path := v.post("/console/new/memory", refused.sent(t, typed)).leadsTo(t)
	if !strings.HasPrefix(path, "/console/memories/p-4711/mem_") {
		t.Fatalf("the new memory is at %q", path)
	}
	id := path[strings.LastIndexByte(path, '/')+1:]
	read := func() *client.Memory {
		t.Helper()
		m, err := c.Memory(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	m := read()
	if m.Text != "Prefers tea." || m.Kind != "preference" || *m.Speaker != "Ada" || *m.Key != "drink" || m.Metadata["channel"] != "phone" || *m.Importance != 0.5 ||
		!m.Pinned || *m.Source != "call 7" || m.ExpiresAt.UTC().Format("2006-01-02T15:04:05") != "2037-01-31T18:30:00" {
		t.Fatalf("got %+v", m)
	}
	v.get(path).want(t, 200, path+"/change", "channel", "call 7")

	form := v.get(path+"/change").want(t, 200, "Prefers tea.", "The old text stays", path+"/delete", `value="2037-01-31T18:30:00"`, `checked`)
	if strings.Contains(form.text, `name="subjectId"`) {
		t.Error("the form offers another subject, which cannot be changed")
	}
	delete(typed, "subjectId")
	if got := v.post(path+"/change", form.sent(t, typed)); got.StatusCode != 303 || read().Revision != 1 {
		t.Fatalf("saving without a change: got %d: %s", got.StatusCode, got.text)
	}
	typed.Set("text", "Prefers coffee.")
	typed.Set("expiresAt", "")
	typed.Set("importance", "")
	delete(typed, "pinned")
	v.post(path+"/change", form.sent(t, typed))
	if m = read(); m.Text != "Prefers coffee." || m.ExpiresAt != nil || m.Importance != nil || m.Pinned || m.Revision != 2 || *m.Key != "drink" {
		t.Fatalf("got %+v", m)
	}

	form = v.get(path + "/change")
	if _, err := c.ChangeMemory(t.Context(), id, client.MemoryChange{Speaker: client.To("Bob")}, nil); err != nil {
		t.Fatal(err)
	}
	typed.Set("text", "Prefers milk.")
	form = v.post(path+"/change", form.sent(t, typed)).want(t, 412, "someone else changed this", "Prefers milk.", "Prefers coffee.", "Bob")
	if got := read().Text; got != "Prefers coffee." {
		t.Errorf("a conflict stored %q", got)
	}
	v.post(path+"/change", form.sent(t, typed))
	if m = read(); m.Text != "Prefers milk." || *m.Speaker != "Ada" {
		t.Fatalf("got %+v", m)
	}

	equal := url.Values{"subjectId": {"p-4711"}, "text": {"Lives in Bergen."}, "kind": {"fact"}}
	v.post("/console/new/memory", v.get("/console/new/memory").sent(t, equal))
	again := v.post("/console/new/memory", v.get("/console/new/memory").sent(t, equal))
	v.follow(again).want(t, 200, noticed+"This memory says the same")
}

func TestAMemoryIsDeletedInTheConsole(t *testing.T) {
	t.Parallel()
	p := apptest.Start(t)
	v, c := admin(t, p), operator(t, p)
	stored, err := c.CreateMemory(t.Context(), client.NewMemory{SubjectID: "p-4711", Text: "Prefers <tea>."})
	if err != nil {
		t.Fatal(err)
	}
	kept, err := c.CreateMemory(t.Context(), client.NewMemory{SubjectID: "p-4711", Text: "Lives in Bergen."})
	if err != nil {
		t.Fatal(err)
	}
	path := "/console/memories/p-4711/" + stored.ID
	v.get(path).want(t, 200, path+"/delete")
	form := v.get(path+"/delete").want(t, 200, "Delete this memory?", "Prefers &lt;tea&gt;.", "cannot be undone")

	// What was shown is deleted, and nothing that was stored since.
	if _, err := c.ChangeMemory(t.Context(), stored.ID, client.MemoryChange{Text: client.To("Prefers coffee.")}, nil); err != nil {
		t.Fatal(err)
	}
	form = v.post(path+"/delete", url.Values{"revision": {form.hidden(t, "revision")}}).want(t, 412, "Nothing was erased", "Prefers coffee.")
	if _, err := c.Memory(t.Context(), stored.ID); err != nil {
		t.Fatalf("a memory that was changed meanwhile: %v", err)
	}
	v.post(path+"/delete", nil).want(t, 412, "Nothing was erased") // without a revision
	gone := v.follow(v.post(path+"/delete", url.Values{"revision": {form.hidden(t, "revision")}})).want(t, 200, noticed+"The memory is erased.", "1 memory", "Lives in Bergen.")
	if strings.Contains(gone.text, "coffee") {
		t.Errorf("the timeline still has the memory: %s", gone.text)
	}
	v.get(path).want(t, 404)
	v.get(path+"/delete").want(t, 404)
	v.post(path+"/delete", url.Values{"revision": {"2"}}).want(t, 404)
	v.get("/console/memories/p-4711/access").want(t, 200, "memory.erased_one")

	// The person's last memory leaves a page that says so.
	v.follow(v.post("/console/memories/p-4711/"+kept.ID+"/delete", url.Values{"revision": {"1"}})).want(t, 200, noticed+"The memory is erased.", "0 memories")
}

func TestFormsAreHiddenFromThoseWhoCannotSave(t *testing.T) {
	t.Parallel()
	p := apptest.Start(t)
	v := tenant(t, p, "pro", string(account.RoleViewer))
	for _, path := range []string{"/console/documents", "/console/memories"} {
		if got := v.get(path); strings.Contains(got.text, "/console/new/") {
			t.Errorf("%s leads a viewer to a form: %s", path, got.text)
		}
	}
	for path, scope := range map[string]string{
		"/console/new/document": "write", "/console/new/memory": "memory:write",
		"/console/documents/boiler/change": "write", "/console/memories/ada/mem_00000000000000000000000000/change": "memory:write",
		"/console/memories/ada/mem_00000000000000000000000000/delete": "memory:write",
	} {
		v.get(path).want(t, 403, "Your role, viewer, does not have the scope "+scope)
	}
	v.post("/console/new/document", url.Values{"once": {"x"}, "text": {"x"}}).want(t, 403, "scope write")
	v.post("/console/new/memory", url.Values{"once": {"x"}, "text": {"x"}, "subjectId": {"ada"}}).want(t, 403, "scope memory:write")
}
