package reference

import (
	"cmp"
	"html"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"keepsake/internal/web/api"
)

// part is what follows a heading of a guide, or an operation, or an error code: what a search finds.
type part struct {
	Where, Title, Path string
	Text               string
	lower              string // of the title and the text
}

var partStart = regexp.MustCompile(`<h[1-6] id="([^"]*)">(.*?)</h[1-6]>`)

var tag = regexp.MustCompile(`<[^>]*>`)

func withoutTags(s string) string { return html.UnescapeString(tag.ReplaceAllString(s, "")) }

// partsOf splits a guide at its headings.
func partsOf(g *guide) []part {
	starts := partStart.FindAllStringSubmatchIndex(g.HTML, -1)
	list := make([]part, 0, len(starts))
	for i, at := range starts {
		end := len(g.HTML)
		if i+1 < len(starts) {
			end = starts[i+1][0]
		}
		p := newPart(g.Title, withoutTags(g.HTML[at[4]:at[5]]), g.Path+"#"+g.HTML[at[2]:at[3]], withoutTags(g.HTML[at[1]:end]))
		list = append(list, p)
	}
	return list
}

func newPart(where, title, path, text string) part {
	text = strings.Join(strings.Fields(text), " ")
	return part{Where: where, Title: title, Path: path, Text: text, lower: strings.ToLower(title + " " + text)}
}

// maxQuery is the longest text that a search looks for, in bytes.
const maxQuery = 200

// maxFound is how many parts a search returns.
const maxFound = 30

// find returns the parts with all words of a query, those with words in the title first.
func find(parts []part, query string) []part {
	words := strings.Fields(strings.ToLower(query[:min(len(query), maxQuery)]))
	if len(words) == 0 {
		return nil
	}
	type hit struct {
		part
		score int
	}
	var hits []hit
	for _, p := range parts {
		score := 1
		title := strings.ToLower(p.Title)
		for _, word := range words {
			if !strings.Contains(p.lower, word) {
				score = 0
				break
			}
			if strings.Contains(title, word) {
				score += 10
			}
			score += min(strings.Count(p.lower, word), 5)
		}
		if score > 0 {
			p.Text = excerpt(p.Text, words[0])
			hits = append(hits, hit{p, score})
		}
	}
	slices.SortStableFunc(hits, func(a, b hit) int { return cmp.Compare(b.score, a.score) })
	list := make([]part, 0, maxFound)
	for _, h := range hits[:min(len(hits), maxFound)] {
		list = append(list, h.part)
	}
	return list
}

// excerpt returns the text around a word.
func excerpt(text, word string) string {
	const before, length = 60, 180
	runes := []rune(text)
	if len(runes) <= length {
		return text
	}
	start := 0
	if i := strings.Index(strings.ToLower(text), word); i > 0 {
		start = max(min(len([]rune(strings.ToLower(text)[:i])), len(runes))-before, 0)
	}
	end := min(start+length, len(runes))
	out := strings.TrimSpace(string(runes[start:end]))
	if start > 0 {
		out = "… " + out
	}
	if end < len(runes) {
		out += " …"
	}
	return out
}

// parts returns everything that can be found: guides, operations of the current version, and error codes.
func (v *visit) parts() []part {
	var list []part
	if d := v.description(v.versions.Current().Number); d != nil {
		for i := range d.Groups {
			g := &d.Groups[i]
			for j := range g.Operations {
				op := &g.Operations[j]
				list = append(list, newPart("API, "+g.Name, op.Summary, d.path()+"/"+g.Slug+"#"+op.ID, op.Method+" "+op.Path+" "+op.ID+" "+op.Text))
			}
		}
	}
	for _, e := range errorCodes() {
		list = append(list, newPart("Error codes", e.Name, "/docs/errors#"+e.Name, e.Meaning+" "+e.Action))
	}
	for _, g := range v.r.guides() {
		list = append(list, g.parts...)
	}
	return list
}

// searched serves the search, which depends on its query and is not kept.
func (r *Reference) searched(from *api.Visit) api.WebResponse {
	v := &visit{r: r, from: from, at: from.At(), versions: r.o.Versions(), status: http.StatusOK}
	v.Title, v.Query = "Search", strings.TrimSpace(from.URL.Query().Get("q"))
	if len(v.Query) > maxQuery {
		v.Query = strings.ToValidUTF8(v.Query[:maxQuery], "")
	}
	return v.respond(searchPage(v, find(v.parts(), v.Query)))
}
