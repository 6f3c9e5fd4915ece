package consoletest

import (
	"fmt"
	"html"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"keepsake/client"
	"keepsake/internal/app/apptest"
)

// link returns the address of a link of the page with a label; empty if there is none.
func (p page) link(label string) string {
	found := regexp.MustCompile(`<a class="button" href="([^"]*)">` + label + `</a>`).FindStringSubmatch(p.text)
	if found == nil {
		return ""
	}
	return html.UnescapeString(found[1])
}

func TestListsLeadForwardAndBack(t *testing.T) {
	t.Parallel()
	p := apptest.Start(t)
	c := operator(t, p)
	for i := range 52 {
		if _, err := c.CreateMemory(t.Context(), client.NewMemory{SubjectID: "ada", Kind: "fact", Text: fmt.Sprintf("Fact number %d.", i)}); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 42 {
		if _, err := c.PutDocument(t.Context(), client.NewDocument{ID: fmt.Sprintf("d-%02d", i), Text: "radiators"}, nil); err != nil {
			t.Fatal(err)
		}
	}
	v := admin(t, p)
	for _, list := range []struct {
		path, first, last string // what only the first and the last page show
		pages             int
	}{
		{"/console/memories/ada?kind=fact", "Fact number 51.", "Fact number 0.", 2},
		{"/console/documents", "d-41", "d-00", 3},
	} {
		at := v.get(list.path).want(t, 200, list.first)
		if at.link("Previous page") != "" || at.link("First page") != "" {
			t.Errorf("%s: the first page leads back", list.path)
		}
		for range list.pages - 1 {
			at = v.get(at.link("Next page")).want(t, 200)
		}
		at.want(t, 200, list.last)
		if at.link("Next page") != "" || strings.Contains(at.text, list.first) {
			t.Errorf("%s: the last page is not the last", list.path)
		}
		if list.pages > 2 {
			v.get(at.link("First page")).want(t, 200, list.first)
		}
		for range list.pages - 1 {
			at = v.get(at.link("Previous page")).want(t, 200)
		}
		at.want(t, 200, list.first)
	}
}

// fields are the fields of the form whose button has a label.
func (p page) fields(label string) url.Values {
	form := regexp.MustCompile(`<input type="hidden" name="([a-z]+)" value="([^"]*)">`)
	before, _, found := strings.Cut(p.text, "<button>"+label+"</button>")
	if !found {
		return nil
	}
	values := url.Values{}
	for _, field := range form.FindAllStringSubmatch(before[strings.LastIndex(before, "<form"):], -1) {
		values.Add(field[1], html.UnescapeString(field[2]))
	}
	return values
}

func TestSearchResultsLeadForwardAndBack(t *testing.T) {
	t.Parallel()
	p := apptest.Start(t)
	c := operator(t, p)
	for i := range 22 {
		if _, err := c.PutDocument(t.Context(), client.NewDocument{ID: fmt.Sprintf("d-%02d", i), Collection: "manuals", Text: "radiators"}, nil); err != nil {
			t.Fatal(err)
		}
	}
	v := admin(t, p)
	first := v.post("/console/documents", url.Values{"q": {"radiators"}, "collection": {"manuals"}}).want(t, 200, "d-00")
	second := v.post("/console/documents", first.fields("Next page")).want(t, 200, "d-21")
	if strings.Contains(second.text, "/console/documents/d-00") || second.fields("Next page") != nil {
		t.Errorf("the second page shows %s", second.text)
	}
	back := second.fields("Previous page")
	if back.Get("q") != "radiators" || back.Get("collection") != "manuals" {
		t.Errorf("the form has %v", back)
	}
	v.post("/console/documents", back).want(t, 200, "/console/documents/d-00")
}
