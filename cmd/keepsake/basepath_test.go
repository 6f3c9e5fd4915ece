package main

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"keepsake/internal/app/apptest"
	"keepsake/internal/app/config"
)

// belowPath is a program with a path in publicUrl, behind a proxy that passes on what is below the path, and the names that must be
// at the root. It takes the path away if strip is set.
func belowPath(t *testing.T, strip bool) (p *apptest.Running, public string) {
	t.Helper()
	const path = "/keepsake"
	var target *url.URL
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasPrefix(r.URL.Path, path+"/") && !strings.HasPrefix(r.URL.Path, "/.well-known/") {
			t.Errorf("%s %s is not below the path", r.Method, r.URL.Path)
			http.NotFound(w, r)
			return
		}
		forward := httputil.ReverseProxy{Rewrite: func(out *httputil.ProxyRequest) {
			out.SetURL(target)
			if strip {
				out.Out.URL.Path, out.Out.URL.RawPath = strings.TrimPrefix(out.In.URL.Path, path), strings.TrimPrefix(out.In.URL.RawPath, path)
			}
		}, FlushInterval: -1}
		forward.ServeHTTP(w, r)
	}))
	t.Cleanup(proxy.Close)
	public = proxy.URL + path
	p = apptest.Start(t, apptest.With(func(c *config.Config) { c.PublicURL = public }))
	var err error
	if target, err = url.Parse(p.URL); err != nil {
		t.Fatal(err)
	}
	return p, public
}

// Every command that works on a server takes an address with a path.
func TestCommandsWorkBelowAPath(t *testing.T) {
	t.Parallel()
	for name, strip := range map[string]bool{"a proxy that keeps the path": false, "a proxy that takes the path away": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, public := belowPath(t, strip)
			dir := t.TempDir()
			file := func(name, text string) string {
				t.Helper()
				path := filepath.Join(dir, name)
				if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
				return path
			}
			documents := file("documents.ndjson", `{"id":"a@b+c=d","text":"a"}`+"\n"+`{"id":"boiler","text":"Bleed the radiators."}`+"\n")
			memories := file("memories.ndjson", `{"subjectId":"p|4711","text":"Likes tea."}`+"\n")
			ping := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"search","arguments":{"query":"radiators"}}}`
			for _, c := range []struct{ args, in, want string }{
				{"doctor", "", "healthy"},
				{"keys list", "", "first key"},
				{"keys create --name website --scopes read", "", "kpsk_"},
				{"documents import " + documents, "", "2 created"},
				{"documents export", "", `"id":"boiler"`},
				{"mcp", ping, `"url":"` + public + `/api/v1/documents/boiler"`},
				{"mcp --url " + public + "/ai/mcp/", ping, `"url":"` + public + `/api/v1/documents/boiler"`},
				{"documents delete a@b+c=d --yes", "", "Deleted 1"},
				{"memories import --in " + memories, "", "1 created"},
				{"memories export --subject p|4711", "", "Likes tea."},
				{"users list", "", "admin@localhost"},
				{"workspaces list", "", "default"},
				{"tiers list", "", "unlimited"},
				{"versions list", "", "active"},
				{"usage", "", "requests"},
				{"audit list", "", "api_key.created"},
				{"audit verify", "", ""},
				{"webhooks list", "", ""},
				{"conformance --only TheStartPage", "", "J start page"},
			} {
				args := strings.Fields(c.args)
				for _, address := range []string{public, public + "/"} {
					var out, errs bytes.Buffer
					st := &stage{in: strings.NewReader(c.in + "\n"), out: &out, err: &errs, now: time.Now, env: []string{"KEEPSAKE_URL=" + address, "KEEPSAKE_KEY=" + p.Key}}
					if code := run(args, st); code != exitOK || !strings.Contains(out.String(), c.want) {
						t.Errorf("%s with %s: exit code %d, want %q\n%s%s", c.args, address, code, c.want, out.String(), errs.String())
					}
					if strings.Contains(c.args, "import") || strings.Contains(c.args, "delete") {
						break // a second time, it does something else
					}
				}
			}
		})
	}
}
