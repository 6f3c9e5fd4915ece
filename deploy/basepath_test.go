package deploy_test

import (
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"keepsake/internal/testing/await"
	"keepsake/internal/testing/browsertest"
	"keepsake/internal/testing/enginetest"
	"keepsake/internal/testing/programtest"
	"keepsake/internal/testing/testtier"
)

const (
	settingsPage = "../docs/settings.md"
	belowPath    = "/keepsake"
)

// recipe returns the locations of docs/settings.md for an instance below a path.
func recipe(t *testing.T, instance string) string {
	t.Helper()
	for _, block := range regexp.MustCompile("(?s)```nginx\n(.*?)```").FindAllStringSubmatch(read(t, settingsPage), -1) {
		if strings.Contains(block[1], "location "+belowPath+"/") {
			return regexp.MustCompile(`http://[a-z0-9.-]+:8080`).ReplaceAllString(block[1], "http://"+instance)
		}
	}
	t.Fatalf("%s has no recipe for nginx below a path", settingsPage)
	return ""
}

// certificate writes the certificate of an httptest server, which is for 127.0.0.1, and its key.
func certificate(t *testing.T) (cert, key string) {
	t.Helper()
	lender := httptest.NewTLSServer(nil)
	defer lender.Close()
	private, err := x509.MarshalPKCS8PrivateKey(lender.TLS.Certificates[0].PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	cert, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	for path, block := range map[string]*pem.Block{
		cert: {Type: "CERTIFICATE", Bytes: lender.TLS.Certificates[0].Certificate[0]},
		key:  {Type: "PRIVATE KEY", Bytes: private},
	} {
		if err := os.WriteFile(path, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return cert, key
}

// A person uses an instance that has a path on another site: signs in, creates a key, searches as they type, and tries an operation
// in the documentation. Nothing that the pages request is above the path.
func TestABrowserUsesAnInstanceBelowAPath(t *testing.T) {
	t.Parallel()
	testtier.Long(t, "starts nginx and Chromium")
	for name, tc := range map[string]struct {
		scheme string
		adapt  func(locations string) string
	}{
		"the path is kept, over HTTPS": {"https", func(locations string) string { return locations }},
		"the path is taken away": {"http", func(locations string) string {
			return strings.Replace(locations, "location "+belowPath+"/ {", "location "+belowPath+"/ {\nrewrite ^"+belowPath+"(/.*)$ $1 break;", 1)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			host := net.JoinHostPort("127.0.0.1", enginetest.FreePort(t, net.IPv4zero))
			site := tc.scheme + "://" + host
			p := programtest.Start(t, filepath.Join(t.TempDir(), "data"),
				programtest.Env("KEEPSAKE_PUBLIC_URL="+site+belowPath, "KEEPSAKE_TRUSTED_PROXIES=127.0.0.1/32"))
			listen := "listen " + host
			if tc.scheme == "https" {
				cert, key := certificate(t)
				listen += fmt.Sprintf(" ssl; ssl_certificate %s; ssl_certificate_key %s", cert, key)
			}
			locations := tc.adapt(recipe(t, strings.TrimPrefix(p.URL, "http://")))
			runProxy(t, nginx(t, fmt.Sprintf("events {}\nhttp {\nserver {\n%s;\naccess_log off;\n%s\n}\n}\n", listen, locations)))

			const email, password = "ada@example.org", "correct horse battery staple"
			p.Must(http.StatusCreated, "POST", "/api/v1/admin/users", map[string]any{"email": email, "password": password, "role": "admin"})
			p.Must(http.StatusCreated, "PUT", "/api/v1/documents/boiler", map[string]any{"title": "Boiler", "text": "Bleed the radiators."})
			await.Until(t, "nginx listens", func() bool {
				conn, err := net.Dial("tcp", host)
				if err != nil {
					return false
				}
				conn.Close()
				return true
			})

			tab := browsertest.Start(t).Tab(t)
			tab.Do("Security.setIgnoreCertificateErrors", map[string]any{"ignore": true}, nil)
			base := site + belowPath
			tab.Open(base + "/")
			tab.Fill("input[name=email]", email)
			tab.Fill("input[name=password]", password)
			tab.Leave(func() { tab.Press("Enter") })
			cookies(t, tab, base)

			tab.Leave(func() { tab.Click(`nav a[href="` + belowPath + `/console/keys"]`) })
			tab.Leave(func() { tab.Click(`main a[href="` + belowPath + `/console/keys/new"]`) })
			tab.Fill("input[name=name]", "website")
			tab.Leave(func() { tab.Press("Enter") })
			var key string
			tab.Eval(`document.getElementById("secret").textContent`, &key)
			if text := tab.Text(); !strings.Contains(text, base+"/api/v1/") {
				t.Errorf("the page of the key names no address below the path: %s", text)
			}
			tab.Click("button[data-copy=secret]")
			tab.Await("the key is copied", `document.querySelector("button[data-copy=secret]").textContent === "Copied"`)

			// A script asks for the results while the person types.
			tab.Leave(func() { tab.Click(`nav a[href="` + belowPath + `/console/documents"]`) })
			tab.Fill("#q", "radiators")
			tab.Await("the document is found", `document.querySelector("#results mark")?.textContent === "radiators"`)
			tab.Leave(func() { tab.Click(`#results a[href="` + belowPath + `/console/documents/boiler"]`) })
			if text := tab.Text(); !strings.Contains(text, "Bleed the radiators.") {
				t.Errorf("the page of the document says %s", text)
			}

			// The documentation sends an operation.
			tab.Open(base + "/docs/api/v1/documents")
			const form = "#createDocument .try "
			tab.Click(form + "summary")
			tab.Eval(`document.querySelector("#credential input").value = ""`, nil)
			tab.Click(form + ".actions button")
			tab.Await("the page asks for a credential", `document.activeElement.name === "credential"`)
			tab.Fill("#credential input", p.Key)
			tab.Fill(form+"textarea[name=body]", `{"id":"hello","text":"It's kept."}`)
			tab.Click(form + ".actions button")
			tab.Await("the document is created", `document.querySelector("#createDocument .try-status").textContent.startsWith("201")`)
			var command string
			tab.Eval(`document.querySelector("#createDocument .curl-line code").textContent`, &command)
			if !strings.Contains(command, base+"/api/v1/documents") {
				t.Errorf("the command is %s", command)
			}
			for _, page := range []string{"/docs", "/docs/errors", "/docs/guides/security", "/docs/search?q=backup", "/llms.txt"} {
				tab.Open(base + page)
			}

			// Signing out is a form of the console, which a page of another path of the site cannot use.
			tab.Open(base + "/")
			tab.Leave(func() { tab.Click(`form[action="` + belowPath + `/console/sign-out"] button`) })
			tab.Await("the person is signed out", `document.querySelector("input[name=password]") !== null`)
			if list := tab.Problems(); len(list) > 0 {
				t.Errorf("the pages had problems: %q", list)
			}
			if list := tab.Foreign(base); len(list) > 0 {
				t.Errorf("the pages requested %q", list)
			}
		})
	}
}

// cookies wants the cookies of a session to be sent below the path alone and, over HTTPS, to say so by their names.
func cookies(t *testing.T, tab *browsertest.Tab, base string) {
	t.Helper()
	var got struct {
		Cookies []struct {
			Name, Path string
			Secure     bool
			HTTPOnly   bool
		}
	}
	tab.Do("Network.getCookies", map[string]any{"urls": []string{base + "/console/keys"}}, &got)
	if len(got.Cookies) != 2 {
		t.Errorf("the browser has the cookies %+v, want 2", got.Cookies)
	}
	secure := strings.HasPrefix(base, "https:")
	for _, c := range got.Cookies {
		if c.Path != belowPath || !c.HTTPOnly || c.Secure != secure || strings.HasPrefix(c.Name, "__Secure-") != secure {
			t.Errorf("the browser has the cookie %+v", c)
		}
	}
	tab.Do("Network.getCookies", map[string]any{"urls": []string{strings.TrimSuffix(base, belowPath) + "/other"}}, &got)
	if len(got.Cookies) != 0 {
		t.Errorf("another path of the site gets the cookies %+v", got.Cookies)
	}
}
