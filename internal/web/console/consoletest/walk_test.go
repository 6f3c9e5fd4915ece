package consoletest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"keepsake/internal/app/apptest"
	"keepsake/internal/app/config"
	"keepsake/internal/testing/browsertest"
	"keepsake/internal/testing/testtier"
)

// walk is a person's way to what they need. docs/console.md lists the ways.
type walk struct {
	t      *testing.T
	tab    *browsertest.Tab
	name   string
	clicks int
}

// click clicks what leads to another page, and pictures that page.
func (w *walk) click(selector string) {
	w.t.Helper()
	w.clicks++
	w.tab.Leave(func() { w.tab.Click(selector) })
	if dir := os.Getenv(screenshots); dir != "" {
		w.tab.Screenshot(filepath.Join(dir, fmt.Sprintf("walk-%s-%d.png", w.name, w.clicks)))
	}
}

// finds ends the way: the page shows the texts after at most four clicks.
func (w *walk) finds(texts ...string) {
	w.t.Helper()
	shown := w.tab.Text()
	for _, text := range texts {
		if !strings.Contains(shown, text) {
			w.t.Errorf("%s: the page lacks %q: %s", w.name, text, shown)
		}
	}
	if w.clicks > 4 {
		w.t.Errorf("%s: it takes %d clicks, want at most 4", w.name, w.clicks)
	}
}

func TestPeopleFindWhatTheyNeedInFourClicks(t *testing.T) {
	t.Parallel()
	testtier.Long(t, "starts Chromium")
	p := apptest.Start(t, apptest.NextVersion(), apptest.With(func(c *config.Config) { c.Webhooks.AllowPrivate = true }))
	tab := browsertest.Start(t).Tab(t)
	seed(t, p)
	arrive(t, p, tab)
	way := func(name string) *walk {
		tab.Open(p.URL + "/")
		return &walk{t: t, tab: tab, name: name}
	}

	w := way("visitor") // makes a key and sees a command that uses it
	w.click(`nav a[href="/console/keys"]`)
	w.click(`main a[href="/console/keys/new"]`)
	tab.Fill("input[name=name]", "my first program")
	w.click("form.form button.primary")
	w.finds("Copy the key now", "curl -H", "Waiting for the first request")
	tab.Click("button[data-copy=secret]")
	tab.Await("the key is copied", `document.querySelector("button[data-copy=secret]").textContent === "Copied"`)

	w = way("owner") // sees what a key used, and rotates it
	w.click(`nav a[href="/console/keys"]`)
	tab.Eval(`[...document.querySelectorAll("main table a")].find(a => a.textContent === "website search").id = "mine"`, nil)
	w.click("#mine")
	w.finds("This minute", "Workspace, today", "Last used")
	w.click(`main a[href$="/rotate"]`)
	w.click("form.form button.primary")
	w.finds("The new secret of website search", "works until")
	tab.Click("button[data-copy=secret]")
	tab.Await("the key is copied", `document.querySelector("button[data-copy=secret]").textContent === "Copied"`)

	w = way("on-call") // who is throttled, and why?
	w.click(`main .cards a[href*="status%3A429"]`)
	w.finds("website search", "These callers were throttled in this period")
	tab.Eval(`[...document.querySelectorAll("main table a")].find(a => a.textContent === "website search").id = "noisy"`, nil)
	w.click("#noisy")
	w.finds("This minute", "of 40", "Resets")

	w = way("privacy") // who looked at this person?
	w.click(`nav a[href="/console/memories"]`)
	w.click(`main a[href="/console/memories/p-4711/access"]`)
	w.finds("memory.created", "first key", "subject.listed", "admin@localhost")

	w = way("erasure") // erase the person, and hand over the receipt
	w.click(`nav a[href="/console/memories"]`)
	w.click(`main a[href="/console/memories/p-4711/erase"]`)
	tab.Fill("input[name=confirm]", "p-4711")
	w.click("form.form button.danger")
	w.finds("p-4711 is erased", "signature")
	tab.Click("button[data-download]") // the fourth click
	before := len(tab.Dialogs())
	tab.Open(p.URL + "/console/memories")
	if got := tab.Dialogs(); len(got) > before {
		t.Errorf("a downloaded receipt was asked for: %q", got)
	}

	w = way("admin") // end version 1
	w.click(`nav a[href="/console/versions"]`)
	w.click(`main a[href="/console/versions/1/release"]`)
	w.click("form.form button.danger")
	w.finds("Version 1", "deprecated", "Its sunset is")

	w = way("sunset") // who still uses it, and more time for them
	w.click(`nav a[href="/console/versions"]`)
	w.click(`main a[href="/console/versions/1"]`)
	w.finds("deprecated", "Who still uses it", "website search", "/docs/api/migration/v1-to-v2")
	w.click(`main a[href$="/change"]`)
	tab.Eval(`document.querySelector("input[name=sunset]").value = "2037-01-01"`, nil)
	w.click("form.form button.primary")
	w.finds("2037")
	clean(t, p, tab)
}

func TestAFileIsUploadedWithItsProgress(t *testing.T) {
	t.Parallel()
	testtier.Long(t, "starts Chromium")
	p := apptest.Start(t)
	tab := browsertest.Start(t).Tab(t)
	path := filepath.Join(t.TempDir(), "documents.ndjson")
	file, err := os.Create(path)
	if err == nil {
		err = documents(file, 0, 150) // 9 MiB
	}
	if err == nil {
		err = file.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	arrive(t, p, tab)
	tab.Open(p.URL + "/console/documents/import")
	tab.Eval(`{ window.steps = []; const text = document.querySelector("[data-progress] p");
		new MutationObserver(() => steps.push(text.textContent)).observe(text, {childList: true}) }`, nil)
	var document struct {
		Root struct {
			NodeID int `json:"nodeId"`
		} `json:"root"`
	}
	tab.Do("DOM.getDocument", nil, &document)
	var input struct {
		NodeID int `json:"nodeId"`
	}
	tab.Do("DOM.querySelector", map[string]any{"nodeId": document.Root.NodeID, "selector": "input[type=file]"}, &input)
	tab.Do("DOM.setFileInputFiles", map[string]any{"nodeId": input.NodeID, "files": []string{path}}, nil)
	tab.Await("the page shows the first rows", `document.getElementById("first")?.innerText.includes("radiators and pumps")`)
	tab.Click("form.form button.primary")
	tab.Await("the import ends", `document.getElementById("imported").innerText.includes("150")`)
	tab.Await("Tab goes on from the result", `document.activeElement.id === "imported"`)
	var steps []string
	tab.Eval("steps", &steps)
	if text := strings.Join(steps, "\n"); !strings.Contains(text, "MiB") || !strings.Contains(text, "being imported") {
		t.Errorf("the page said %q", steps)
	}
	clean(t, p, tab)
}
