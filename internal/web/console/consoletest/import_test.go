package consoletest

import (
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"strings"
	"testing"
	"time"

	"keepsake/client"
	"keepsake/internal/app/apptest"
	"keepsake/internal/testing/await"
)

// upload sends what write writes as a file, while it is written.
func (v *visitor) upload(write func(io.Writer) error) page {
	v.t.Helper()
	body, to := io.Pipe()
	form := multipart.NewWriter(to)
	go func() {
		part, err := form.CreateFormFile("file", "documents.ndjson")
		if err == nil {
			err = write(part)
		}
		if err == nil {
			err = form.Close()
		}
		to.CloseWithError(err)
	}()
	r, err := http.NewRequestWithContext(v.t.Context(), http.MethodPost, v.p.URL+"/console/documents/import", body)
	if err != nil {
		v.t.Fatal(err)
	}
	r.Header.Set("Content-Type", form.FormDataContentType())
	r.Header.Set("Origin", v.p.URL)
	res, err := v.http.Do(r)
	if err != nil {
		v.t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		v.t.Fatal(err)
	}
	return page{res, string(text)}
}

// documents writes documents of about 64 KiB with the numbers from first to before last.
func documents(to io.Writer, first, last int) error {
	text := strings.Repeat("radiators and pumps ", 3200)
	for i := first; i < last; i++ {
		if _, err := fmt.Fprintf(to, `{"id":"d%d","text":"%s"}`+"\n", i, text); err != nil {
			return err
		}
	}
	return nil
}

// A page once took files of up to 8 MiB only, and then contained all of the file in its command.
func TestFilesOfAnySizeAreImported(t *testing.T) {
	t.Parallel()
	p := apptest.Start(t)
	v := admin(t, p)
	got := v.upload(func(to io.Writer) error {
		if _, err := io.WriteString(to, `{"id":"bad"}`+"\n"); err != nil {
			return err
		}
		return documents(to, 0, 150) // 9 MiB
	}).want(t, 200, "151", "What to change", "--data-binary @FILE")
	if len(got.text) > 64<<10 || strings.Count(got.text, "@FILE") != 1 {
		t.Errorf("the page has %d bytes and %d commands with files", len(got.text), strings.Count(got.text, "@FILE"))
	}
	v.upload(func(to io.Writer) error {
		_, err := io.WriteString(to, strings.Repeat("x", 5<<20))
		return err
	}).want(t, 400, "longer than any document")
	v.upload(func(to io.Writer) error {
		_, err := io.WriteString(to, `[{"id":"a","text":"x"},{"id":"b","text":"y"}]`)
		return err
	}).want(t, 200, "new documents")
}

func TestAnImportOutlivesItsAccessToken(t *testing.T) {
	t.Parallel()
	clock := apptest.NewClock(time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC))
	p := apptest.Start(t, apptest.Clock(clock.Now))
	v := admin(t, p)
	got := v.upload(func(to io.Writer) error {
		if err := documents(to, 0, 80); err != nil { // more than a part
			return err
		}
		await.Until(t, "the first part is imported", func() bool {
			page, err := operator(t, p).ListDocuments(t.Context(), client.DocumentQuery{Limit: 1})
			return err == nil && len(page.Items) > 0
		})
		clock.Advance(20 * time.Minute)
		return documents(to, 80, 160)
	}).want(t, 200, ">160<")
	if len(got.Cookies()) != 2 {
		t.Errorf("the renewed session does not reach the browser: %v", got.Cookies())
	}
	v.get("/console/keys").want(t, 200)
}

func TestARenewedSessionReachesTheBrowserWithAnyResponse(t *testing.T) {
	t.Parallel()
	clock := apptest.NewClock(time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC))
	p := apptest.Start(t, apptest.Clock(clock.Now))
	v := admin(t, p)
	for _, path := range []string{"/console/alive", "/console/usage/csv"} {
		clock.Advance(20 * time.Minute)
		if got := v.get(path); got.StatusCode >= 300 || len(got.Cookies()) != 2 {
			t.Errorf("%s: got %d with the cookies %v", path, got.StatusCode, got.Cookies())
		}
		if got := v.get(path); got.StatusCode >= 300 || len(got.Cookies()) != 0 {
			t.Errorf("%s: got %d with the cookies %v", path, got.StatusCode, got.Cookies())
		}
	}
}
