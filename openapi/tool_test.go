package openapi_test

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
)

// The tests of this file keep what tools make of the document usable: generated clients, references and linters.

func TestEveryTagIsDescribed(t *testing.T) {
	t.Parallel()
	doc := decoded(t, read(t, "v1.json"))
	described := map[string]bool{}
	tags, _ := doc["tags"].([]any)
	for _, tag := range tags {
		tag := tag.(map[string]any)
		text, _ := tag["description"].(string)
		described[tag["name"].(string)] = text != ""
	}
	used := map[string]bool{}
	for name, op := range operations(doc) {
		for _, tag := range op["tags"].([]any) {
			used[tag.(string)] = true
			if !described[tag.(string)] {
				t.Errorf("%s: the tag %q has no description; add one to v1.DescribeTags", name, tag)
			}
		}
	}
	for tag := range described {
		if !used[tag] {
			t.Errorf("no operation has the tag %q", tag)
		}
	}
}

func TestSecurityIsAlwaysWritten(t *testing.T) {
	t.Parallel()
	var open []string
	for name, op := range operations(decoded(t, read(t, "v1.json"))) {
		security, ok := op["security"].([]any)
		if !ok {
			t.Errorf("%s has no list security; an operation without credentials needs an empty one", name)
		}
		if len(security) == 0 {
			open = append(open, name)
		}
	}
	slices.Sort(open)
	want := []string{
		"GET /.well-known/jwks.json", "GET /.well-known/oauth-protected-resource/ai/mcp", "GET /api/versions", "GET /livez", "GET /metrics", "GET /readyz",
		"POST /api/auth/login", "POST /api/auth/refresh",
	}
	if !slices.Equal(open, want) {
		t.Errorf("operations without credentials: %v, want %v", open, want)
	}
}

func TestErrorsAndHeadersAreShared(t *testing.T) {
	t.Parallel()
	doc := decoded(t, read(t, "v1.json"))
	checkHeaders := func(where string, response map[string]any) {
		headers, _ := response["headers"].(map[string]any)
		for name, header := range headers {
			if header.(map[string]any)["$ref"] != "#/components/headers/"+name {
				t.Errorf("%s: the header %s is not a reference to a shared one", where, name)
			}
		}
	}
	for name, response := range at(doc, "components", "responses") {
		checkHeaders(name, response.(map[string]any))
	}
	for name, op := range operations(doc) {
		for status, response := range at(op, "responses") {
			response := response.(map[string]any)
			checkHeaders(name+" "+status, response)
			ref, _ := response["$ref"].(string)
			if status >= "300" && !strings.HasPrefix(ref, "#/components/responses/") {
				t.Errorf("%s: response %s is not a reference to a shared one", name, status)
			}
		}
	}
	if n := len(at(doc, "components", "responses")); n > 13 {
		t.Errorf("there are %d shared responses, want one for each status", n)
	}
}

// Generators make a member with a default required, although a request can omit it. Its description has the default.
func TestBodiesHaveNoDefaults(t *testing.T) {
	t.Parallel()
	for name, schema := range at(decoded(t, read(t, "v1.json")), "components", "schemas") {
		properties, _ := schema.(map[string]any)["properties"].(map[string]any)
		for member, of := range properties {
			if of.(map[string]any)["default"] != nil {
				t.Errorf("%s.%s has a default", name, member)
			}
		}
	}
}

// TestOnePairOfPathsIsAmbiguous finds pairs of paths that match the same URL. Both paths of the known pair are promised.
// IDs of memories begin with mem_, so no URL of a memory's history is one of a subject.
func TestOnePairOfPathsIsAmbiguous(t *testing.T) {
	t.Parallel()
	var found []string
	paths := slices.Sorted(maps.Keys(at(decoded(t, read(t, "v1.json")), "paths")))
	for i, a := range paths {
		for _, b := range paths[:i] {
			if ambiguous(a, b) {
				found = append(found, a+" and "+b)
			}
		}
	}
	want := []string{"/api/v1/memories/{id}/history and /api/v1/memories/subjects/{subjectId}"}
	if !slices.Equal(found, want) {
		t.Errorf("ambiguous paths: %v, want only %v", found, want)
	}
	for pair, want := range map[[2]string]bool{
		{"/a/{x}", "/a/{y}"}: true, {"/{x}/a", "/b/{y}"}: true,
		{"/a/{x}", "/a/b"}: false, {"/a/{x}/c", "/a/{y}/d"}: false, {"/a/{x}", "/a/{y}/d"}: false,
	} {
		if ambiguous(pair[0], pair[1]) != want {
			t.Errorf("ambiguous(%q, %q) is %v", pair[0], pair[1], !want)
		}
	}
}

// ambiguous reports whether a URL can match both paths and neither is more specific: it has text for each parameter that
// the other has text for.
func ambiguous(a, b string) bool {
	as, bs := strings.Split(a, "/"), strings.Split(b, "/")
	if len(as) != len(bs) {
		return false
	}
	var aIsText, bIsText bool
	for i := range as {
		aIs, bIs := strings.HasPrefix(as[i], "{"), strings.HasPrefix(bs[i], "{")
		switch {
		case !aIs && !bIs && as[i] != bs[i]:
			return false
		case aIs && !bIs:
			bIsText = true
		case bIs && !aIs:
			aIsText = true
		}
	}
	return aIsText == bIsText
}

// fragment is how a description begins that is not a sentence of its own.
var fragment = regexp.MustCompile(`^(Of|Only (from|before|who|entries)|From|In|Null|Any|All of|When|Where|That|It|They|Those|These)\b`)

func TestTextsAreSentences(t *testing.T) {
	t.Parallel()
	doc := decoded(t, read(t, "v1.json"))
	for name, op := range operations(doc) {
		summary := op["summary"].(string)
		if !unicode.IsUpper([]rune(summary)[0]) || strings.HasSuffix(summary, ".") {
			t.Errorf("%s: the summary %q is not an imperative without a full stop", name, summary)
		}
	}
	describe(doc, "", func(where, text string) {
		first := []rune(text)[0]
		if !unicode.IsUpper(first) || !strings.HasSuffix(text, ".") || fragment.MatchString(text) || len(strings.Fields(text)) < 2 {
			t.Errorf("%s: the description %q is not a sentence", where, text)
		}
	})
}

// describe calls found with every description in v.
func describe(v any, where string, found func(where, text string)) {
	switch v := v.(type) {
	case map[string]any:
		for name, member := range v {
			if text, ok := member.(string); ok && name == "description" {
				found(where, text)
			} else {
				describe(member, where+"/"+name, found)
			}
		}
	case []any:
		for _, item := range v {
			describe(item, where, found)
		}
	}
}
