package consoletest

import (
	"compress/gzip"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"keepsake/client"
	"keepsake/internal/app/apptest"
	"keepsake/internal/govern/account"
	"keepsake/internal/testing/await"
)

// upload sends what write writes as a file to the import, while it is written. fields are names and values of the form.
func (v *visitor) upload(write func(io.Writer) error, fields ...string) page {
	v.t.Helper()
	return v.uploadTo("/console/documents/import", write, fields...)
}

func (v *visitor) uploadTo(path string, write func(io.Writer) error, fields ...string) page {
	v.t.Helper()
	body, to := io.Pipe()
	form := multipart.NewWriter(to)
	go func() {
		var err error
		for i := 0; i < len(fields) && err == nil; i += 2 {
			err = form.WriteField(fields[i], fields[i+1])
		}
		var part io.Writer
		if err == nil {
			part, err = form.CreateFormFile("file", "documents.ndjson")
		}
		if err == nil {
			err = write(part)
		}
		if err == nil {
			err = form.Close()
		}
		to.CloseWithError(err)
	}()
	r, err := http.NewRequestWithContext(v.t.Context(), http.MethodPost, v.p.URL+path, body)
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
	}).want(t, 400, "A row must have at most")
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

// products is a table whose columns are not called like fields.
const products = "sku;name;description;categories;price\n" +
	"OL-7;Oak lamp;A dimmable lamp of oiled oak.;light|living room;18.5\n" +
	"WC-2;Wall clock;Silent movement, 30 cm.;living room;39\n" +
	"OL-8;;;;7\n"

// text returns what writes a text as a file.
func text(text string) func(io.Writer) error {
	return func(to io.Writer) error {
		_, err := io.WriteString(to, text)
		return err
	}
}

// zipped returns what writes a text as a compressed file.
func zipped(text string) func(io.Writer) error {
	return func(to io.Writer) error {
		pack := gzip.NewWriter(to)
		if _, err := io.WriteString(pack, text); err != nil {
			return err
		}
		return pack.Close()
	}
}

// chosenIn returns the fields of the mapping that a page shows, as its form would send them.
func chosenIn(t *testing.T, p page) []string {
	t.Helper()
	var fields []string
	for _, row := range regexp.MustCompile(`(?s)name="column" value="([^"]*)">.*?</select>`).FindAllStringSubmatch(p.text, -1) {
		option := regexp.MustCompile(`<option value="([^"]*)" selected>`).FindStringSubmatch(row[0])
		if option == nil {
			t.Fatalf("nothing is chosen for %s", row[1])
		}
		fields = append(fields, "column", row[1], "becomes", option[1])
	}
	return fields
}

// The page once took JSON in the form of this API only.
func TestATableIsImportedAsTheFormSays(t *testing.T) {
	t.Parallel()
	p := apptest.Start(t)
	v := admin(t, p)
	look := v.uploadTo("/console/documents/import/preview", zipped(products)).want(t, 200, "What the columns become", "Wall clock", "price: 18.5",
		"The file has 3 rows", "1 row would be left out", "title or text is required")
	chosen := chosenIn(t, look)
	if got := strings.Join(chosen, " "); got != "column sku becomes id column name becomes title column description becomes text column categories becomes tags column price becomes " {
		t.Fatalf("guessed %s", got)
	}
	if page, err := operator(t, p).ListDocuments(t.Context(), client.DocumentQuery{Limit: 1}); err != nil || len(page.Items) > 0 {
		t.Fatalf("looking at a file stored %d documents: %v", len(page.Items), err)
	}

	// The article number becomes metadata like the price, and the tags become a part of the text.
	chosen[3], chosen[15] = "", "text"
	v.upload(zipped(products), append(chosen, "rest", "metadata", "into", "shop", "texts", "categories,description")...).
		want(t, 200, "Left out", ">3<", ">2<", "Tune the collection shop")
	found, err := operator(t, p).Search(t.Context(), client.Query{Q: "oak", Collection: "shop"})
	if err != nil || len(found.Results) != 1 {
		t.Fatalf("found %+v, %v", found, err)
	}
	stored, err := operator(t, p).Document(t.Context(), found.Results[0].ID)
	if err != nil || stored.Metadata["sku"] != "OL-7" || stored.Text != "light|living room\n\nA dimmable lamp of oiled oak." || len(stored.Tags) != 0 {
		t.Errorf("stored %+v, %v", stored, err)
	}
}

func TestAMappingThatCannotBeIsRefusedAndKept(t *testing.T) {
	t.Parallel()
	v := admin(t, apptest.Start(t))
	twice := []string{"column", "sku", "becomes", "title", "column", "name", "becomes", "title", "rest", "drop"}
	again := v.uploadTo("/console/documents/import/preview", text(products), twice...).want(t, 200, "Both “sku” and “name” are the title")
	if got := chosenIn(t, again); got[3] != "title" || got[7] != "title" {
		t.Errorf("the form lost what was chosen: %q", got)
	}
	v.upload(text(products), twice...).want(t, 400, "Nothing was imported")
	v.upload(text(products), "column", "other", "becomes", "title", "rest", "drop").want(t, 400, "no column")
	v.upload(text("a;b\n1;2\n")).want(t, 400, "Nothing is the title or the text")
	v.uploadTo("/console/documents/import/preview", text("a;b\n1;2\n")).want(t, 200, "Nothing is the title or the text")
	v.uploadTo("/console/documents/import/preview", text("title;text\nK\xf6ln;x\n")).want(t, 400, "not UTF-8")
	v.uploadTo("/console/documents/import/preview", text("")).want(t, 200, "The file has no rows")

	// Cells that are parted by something else are other columns, so what was chosen of the old ones is not taken.
	v.uploadTo("/console/documents/import/preview", text("title;text\nK,x;y\n"), append(twice, "delimiter", ",", "delimited", "")...).
		want(t, 200, "title;text")
}

// A script sends the beginning of a long file, which ends anywhere.
func TestTheBeginningOfAFileIsEnoughToLookAtIt(t *testing.T) {
	t.Parallel()
	v := admin(t, apptest.Start(t))
	array := `[{"name":"Oak lamp","description":"Of oak."},{"name":"Wall clock","description":"Silent."},{"name":"Book`
	for name, write := range map[string]func(io.Writer) error{
		"a table": text(products[:len(products)-6]),
		"lines":   text(strings.ReplaceAll(array[1:], "},{", "}\n{")),
		"array":   text(array),
	} {
		got := v.uploadTo("/console/documents/import/preview", write, "head", "true").want(t, 200, "Oak lamp", "were not looked at yet")
		if strings.Contains(got.text, "Book") || strings.Contains(got.text, "OL-8") {
			t.Errorf("%s: the page shows the row that was cut off", name)
		}
	}
	v.uploadTo("/console/documents/import/preview", text(array)).want(t, 400, "cut off")
}

func TestAViewerImportsNothing(t *testing.T) {
	t.Parallel()
	p := apptest.Start(t)
	v := tenant(t, p, "free", string(account.RoleViewer))
	v.get("/console/documents/import").want(t, 403)
	v.uploadTo("/console/documents/import/preview", text(products)).want(t, 403)
	v.upload(text(products)).want(t, 403)
}
