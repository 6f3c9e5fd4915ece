package app_test

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"keepsake/internal/app/apptest"
)

func TestMessagesNameTheProblem(t *testing.T) {
	t.Parallel()
	p := apptest.Start(t)
	for _, tc := range []struct {
		method, path, media, body string
		token                     bool // the key is sent as an access token
		want                      string
	}{
		{"POST", "/api/v1/memories", "", `{"subject":"ada","text":"tea"}`, false, `There is no field "subject". Did you mean "subjectId"?`},
		{"POST", "/api/v1/developer/api-keys", "", `{"name":"n","scopes":"read"}`, false, `scopes must be an array, not a string.`},
		{"POST", "/api/v1/memories", "", "{\n\"subjectId\" \"ada\"}", false, `The body is not valid JSON: line 2, column 13.`},
		{"POST", "/api/v1/memories", "text/plain", `{}`, false, `The body must be application/json in UTF-8, not "text/plain".`},
		{"POST", "/api/v1/memories", "", `{"user_id":"ada","text":"tea"}`, false, `There is no field "user_id". Did you mean "subjectId"?`},
		{"POST", "/api/v1/memories", "", `{"subjectId":"ada","messages":[{"role":"user","content":"tea"}]}`, false, `There is no field "messages". Did you mean "text"?`},
		{"POST", "/api/v1/memories", "", `{"subjectId":"ada","content":"tea"}`, false, `There is no field "content". Did you mean "text"?`},
		{"GET", "/api/v1/documents?page=2", "", "", false, `There is no query parameter "page". Use "cursor", with the nextCursor of the page before.`},
		{"GET", "/api/v1/search?q=a&limt=3", "", "", false, `There is no query parameter "limt". Did you mean "limit"?`},
		{"GET", "/api/v1/profile", "", "", true, `This is an API key, not an access token. API keys go in the header X-API-Key.`},
		{"GET", "/api/v1/search?q=a", "", "", true, `An API key was sent in the header Authorization. API keys go in the header X-API-Key.`},
		{"GET", "/api/v1/memories/mem_00000000000000000000000000", "", "", false, `Memory not found.`},
		{"GET", "/api/v1/documents/none", "", "", false, `Document not found.`},
		{"GET", "/api/v1/developer/api-keys/key_00000000000000000000000000", "", "", false, `API key not found.`},
		{"GET", "/api/v1/admin/versions/9", "", "", false, `Version not found.`},
		{"GET", "/api/v1/none", "", "", false, `There is no such path at this address. /openapi.json and, in a browser, /docs of the API list all paths.`},
		{"POST", "/api/v1/documents", "", `{"name":"Lamp"}`, false, `There is no field "name". Did you mean "title"?`},
		{"POST", "/api/v1/documents", "", `{"title":"Lamp","price":3}`, false, `There is no field "price". Fields of your own go into "metadata".`},
		{"POST", "/api/v1/memories", "", `{"subjectId":"Ada King","text":"tea"}`, false, `subjectId must have 1 to 128 letters, digits and . _ : @ | + = -, and must not begin with . : or @`},
	} {
		r, err := http.NewRequestWithContext(t.Context(), tc.method, p.URL+tc.path, strings.NewReader(tc.body))
		if err != nil {
			t.Fatal(err)
		}
		if tc.media == "" {
			tc.media = "application/json"
		}
		r.Header.Set("Content-Type", tc.media)
		if tc.token {
			r.Header.Set("Authorization", "Bearer "+p.Key)
		} else {
			r.Header.Set("X-API-Key", p.Key)
		}
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		var body struct{ Message string }
		if err != nil || json.Unmarshal(text, &body) != nil || body.Message != tc.want {
			t.Errorf("%s %s %s: got %d %s %v, want %s", tc.method, tc.path, tc.body, resp.StatusCode, text, err, tc.want)
		}
	}
}
