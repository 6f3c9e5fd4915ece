package referencetest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"keepsake/internal/app/apptest"
	"keepsake/internal/testing/browsertest"
	"keepsake/internal/testing/testtier"
)

func TestAnOperationIsTriedInABrowser(t *testing.T) {
	t.Parallel()
	testtier.Long(t, "starts Chromium")
	p := apptest.Start(t)
	first, _ := p.App.First()
	tab := browsertest.Start(t).Tab(t)
	const form = "#createDocument .try "

	tab.Open(p.URL + "/docs/api/v1/documents")
	tab.Click(form + "summary")
	tab.Click(form + ".actions button")
	tab.Await("the page asks for a credential", `document.activeElement.name === "credential"`)
	tab.Fill("#credential input", first.APIKey)
	tab.Fill(form+"textarea[name=body]", `{"id":"hello","title":"Hello <b>","text":"It's kept."}`)
	tab.Click(form + ".actions button")
	tab.Await("the document is created", `document.querySelector("#createDocument .try-status").textContent.startsWith("201")`)
	tab.Await("the response is text", `document.querySelector("#createDocument .try-text").textContent.includes("Hello <b>")`)
	var command string
	tab.Eval(`document.querySelector("#createDocument .curl-line code").textContent`, &command)
	if !strings.Contains(command, `It'\''s kept.`) || !strings.Contains(command, "$KEEPSAKE_KEY") || strings.Contains(command, first.APIKey) {
		t.Errorf("the command is %s", command)
	}

	// The example of an import is of the chosen media type, and can be sent as it is.
	const load = "#importDocuments .try "
	tab.Click(load + "summary")
	tab.Eval(`{ const media = document.querySelector("#importDocuments .try select[name=media]");
		media.value = "application/x-ndjson"; media.dispatchEvent(new Event("change", {bubbles: true})) }`, nil)
	tab.Await("the example has lines", `document.querySelector("#importDocuments .try textarea[name=body]").value.startsWith('{"id":"opening-hours"')`)
	tab.Click(load + ".actions button")
	tab.Await("both documents are imported", `/"created": *2\b/.test(document.querySelector("#importDocuments .try-text").textContent)`)

	// A parameter of the path is encoded, and an error is shown like any response.
	tab.Click("#getDocument .try summary")
	tab.Fill("#getDocument .try input[name=id]", "no/such document")
	tab.Click("#getDocument .try .actions button")
	tab.Await("the document is missing", `document.querySelector("#getDocument .try-text").textContent.includes("not_found")`)
	if list := tab.Problems(); len(list) > 0 {
		t.Errorf("the pages had problems: %q", list)
	}
	if list := tab.Foreign(p.URL); len(list) > 0 {
		t.Errorf("the pages requested %q", list)
	}
}

func TestPagesAreAccessible(t *testing.T) {
	t.Parallel()
	testtier.Long(t, "starts Chromium")
	axe, err := os.ReadFile("../../../../tools/axe/node_modules/axe-core/axe.min.js")
	if err != nil {
		testtier.Missing(t, "axe (npm ci --prefix tools/axe --ignore-scripts)")
	}
	p := apptest.Start(t, apptest.NextVersion())
	release(t, p)
	tab := browsertest.Start(t).Tab(t)
	for name, path := range map[string]string{
		"docs": "/docs", "docs-guide": "/docs/guides/security", "docs-api": "/docs/api", "docs-operations": "/docs/api/v1/api-keys",
		"docs-errors": "/docs/errors", "docs-changelog": "/docs/changelog", "docs-search": "/docs/search?q=backup",
		"docs-next": "/docs/api/v2", "docs-next-operations": "/docs/api/v2/documents", "docs-migration": "/docs/api/migration/v1-to-v2",
	} {
		tab.Open(p.URL + path)
		if name == "docs-operations" {
			tab.Eval(`for (const e of document.querySelectorAll("#createAPIKey details")) e.open = true`, nil)
		}
		look(t, tab, string(axe), name)
	}
	if list := tab.Foreign(p.URL); len(list) > 0 {
		t.Errorf("the pages requested %q", list)
	}
}

// look checks the page in both colour schemes, on a desk and on a phone. With KEEPSAKE_SCREENSHOTS it writes pictures.
func look(t *testing.T, tab *browsertest.Tab, axe, name string) {
	t.Helper()
	for _, dark := range []bool{false, true} {
		tab.Dark(dark)
		for _, width := range []int{1280, 360} {
			tab.Size(width, 800)
			view := name + map[bool]string{false: "-light", true: "-dark"}[dark] + map[bool]string{false: "", true: "-phone"}[width == 360]
			var wide int
			tab.Eval("document.documentElement.scrollWidth", &wide)
			if wide > width {
				t.Errorf("%s: the page is %d pixels wide", view, wide)
			}
			if dir := os.Getenv("KEEPSAKE_SCREENSHOTS"); dir != "" {
				tab.Screenshot(filepath.Join(dir, view+".png"))
			}
		}
		tab.Size(1280, 800)
		var found []string
		tab.Eval(axe+`;axe.run({runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]}).then(r =>
			r.violations.map(v => v.id + ": " + v.nodes.slice(0, 5).map(n => n.html + " " + n.failureSummary).join(" | ")))`, &found)
		for _, violation := range found {
			t.Errorf("%s: %.900s", name, violation)
		}
	}
}
