package consoletest

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"keepsake/internal/app/apptest"
	"keepsake/internal/testing/await"
)

// signedInCookies signs in and returns the header Cookie of the session.
func signedInCookies(t *testing.T, p *apptest.Running) string {
	t.Helper()
	first, _ := p.App.First()
	b := &below{t, p.URL, &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
	res, _ := b.do("POST", "/console/sign-in", url.Values{"email": {first.Email}, "password": {first.Password}})
	var cookies []string
	for _, cookie := range res.Cookies() {
		cookies = append(cookies, cookie.Name+"="+cookie.Value)
	}
	return strings.Join(cookies, "; ")
}

// noFault waits for the line about a request, which must not be an error of the server.
func noFault(t *testing.T, log *apptest.Buffer, route string) {
	t.Helper()
	line := ""
	await.Until(t, "the request to "+route+" is logged", func() bool {
		for l := range strings.Lines(log.String()) {
			if strings.Contains(l, `"msg":"request"`) && strings.Contains(l, `"route":"`+route+`"`) {
				line = l
			}
		}
		return line != ""
	})
	if !strings.Contains(line, `"status":503,`) && !strings.Contains(line, `"status":400,`) { // 400 for half a form
		t.Errorf("got %s", line)
	}
	if strings.Contains(log.String(), `"level":"ERROR"`) {
		t.Errorf("an error was logged:\n%s", log)
	}
}

func TestVisitorWhoLeavesAPageIsNoError(t *testing.T) {
	t.Parallel()
	for _, at := range []struct{ method, path, statement string }{
		{"GET", "/console/documents", "FROM document "}, {"GET", "/console/keys", "FROM api_key k"},
	} {
		var log apptest.Buffer
		var leave atomic.Pointer[context.CancelFunc]
		p := apptest.Start(t, apptest.Log(&log), apptest.Statements(func(ctx context.Context, text string) {
			if !strings.Contains(text, at.statement) {
				return
			}
			if cancel := leave.Swap(nil); cancel != nil {
				(*cancel)()
				<-ctx.Done() // the server notices that the connection is closed
			}
		}))
		cookies := signedInCookies(t, p)
		ctx, cancel := context.WithCancel(t.Context())
		leave.Store(&cancel)
		r, err := http.NewRequestWithContext(ctx, at.method, p.URL+at.path, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Cookie", cookies)
		if res, err := http.DefaultClient.Do(r); err == nil {
			res.Body.Close()
			t.Errorf("%s: answered with %s before the visitor left", at.path, res.Status)
			continue
		}
		noFault(t, &log, at.path)
	}
}

func TestVisitorWhoLeavesInTheMiddleOfAFormIsNoError(t *testing.T) {
	t.Parallel()
	for path, head := range map[string]string{
		"/console/documents/import": "Content-Type: multipart/form-data; boundary=b\r\n\r\n--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"f\"\r\n\r\n{\"id\":\"a\",\"title\":\"A\"}\n{\"id\":",
		"/console/keys/new":         "Content-Type: application/x-www-form-urlencoded\r\n\r\nname=half",
	} {
		var log apptest.Buffer
		p := apptest.Start(t, apptest.Log(&log))
		cookies := signedInCookies(t, p)
		conn, err := net.Dial("tcp", strings.TrimPrefix(p.URL, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(conn, "POST "+path+" HTTP/1.1\r\nHost: a\r\nContent-Length: 5000\r\nCookie: "+cookies+"\r\n"+head); err != nil {
			t.Fatal(err)
		}
		conn.Close()
		noFault(t, &log, path)
	}
}
