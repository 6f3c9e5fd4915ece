package client_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"keepsake/client"
)

// rows are the rows of a source, each on a line of its own; a blank one cannot be read.
type rows struct {
	header string
	list   []string
	at     int
}

func (r *rows) Header() []byte {
	if r.header == "" {
		return nil
	}
	return []byte(r.header)
}

func (r *rows) Next() ([]byte, int64, error) {
	if r.at == len(r.list) {
		return nil, 0, io.EOF
	}
	r.at++
	line := int64(100 * r.at)
	if r.list[r.at-1] == "" {
		return nil, line, &client.RefusedRow{ImportError: client.ImportError{Line: line, Field: "body", Issue: "format", Message: "x"}}
	}
	return []byte(r.list[r.at-1]), line, nil
}

// bodies records what is sent, and refuses the line of each request that is named.
type bodies struct {
	refuse int
	sent   []string
	query  []string
	media  []string
}

func (b *bodies) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	text, _ := io.ReadAll(r.Body)
	b.sent, b.query, b.media = append(b.sent, string(text)), append(b.query, r.URL.RawQuery), append(b.media, r.Header.Get("Content-Type"))
	w.Header().Set("Content-Type", "application/json")
	if b.refuse > 0 {
		fmt.Fprintf(w, `{"received":2,"created":1,"failed":1,"errors":[{"line":%d,"field":"id","issue":"format"}],"issues":[{"field":"id","issue":"format","count":1}]}`, b.refuse)
		return
	}
	fmt.Fprint(w, `{"received":2,"created":2,"errors":[],"issues":[]}`)
}

func importRows(t *testing.T, b *bodies, r *rows, o client.ImportOptions) *client.DocumentImport {
	t.Helper()
	server := httptest.NewServer(b)
	t.Cleanup(server.Close)
	c, err := client.New(server.URL, "kpsk_x")
	if err != nil {
		t.Fatal(err)
	}
	done, err := c.ImportRows(t.Context(), r, o, nil)
	if err != nil {
		t.Fatal(err)
	}
	return done
}

func TestRowsAreSentInPartsWithTheirHeader(t *testing.T) {
	t.Parallel()
	big := strings.Repeat("x", 3<<20)
	b := &bodies{refuse: 3}
	r := &rows{header: "a,b\n", list: []string{"1,\"2\n2\"\n", big + ",\n", "", big + ",3\n"}}
	done := importRows(t, b, r, client.ImportOptions{ID: "a", Text: []string{"b", "c"}, Into: "i", Rest: "drop"})
	if len(b.sent) != 2 || !strings.HasPrefix(b.sent[0], "a,b\n1,") || !strings.HasPrefix(b.sent[1], "a,b\nxxx") || b.media[1] != "text/csv" {
		t.Fatalf("sent %d parts of %v", len(b.sent), b.media)
	}
	if b.query[0] != "id=a&into=i&rest=drop&text=b%2Cc" {
		t.Errorf("asked with %s", b.query[0])
	}
	var lines []int64
	for _, e := range done.Errors {
		lines = append(lines, e.Line)
	}
	slices.Sort(lines)
	// Line 3 of the first part is the second line of the first row; line 3 of the second part would be the second of its only row.
	if fmt.Sprint(lines) != "[101 300 401]" || done.Received != 5 || done.Failed != 3 {
		t.Errorf("lines %v of %+v", lines, done.Import)
	}
}

func TestARowThatIsRepeatedIsCounted(t *testing.T) {
	t.Parallel()
	b := &bodies{}
	r := &repeating{}
	server := httptest.NewServer(b)
	t.Cleanup(server.Close)
	c, err := client.New(server.URL, "kpsk_x")
	if err != nil {
		t.Fatal(err)
	}
	done, err := c.ImportRows(t.Context(), r, client.ImportOptions{}, nil)
	if err != nil || done.Received != 3 || done.Failed != 0 || len(done.Issues) != 1 || done.Issues[0].Count != 1 {
		t.Errorf("got %+v, %v", done, err)
	}
}

// repeating is a row and an equal one.
type repeating struct{ at int }

func (*repeating) Header() []byte { return nil }

func (r *repeating) Next() ([]byte, int64, error) {
	r.at++
	switch r.at {
	case 1:
		return []byte("{}\n"), 1, nil
	case 2:
		return nil, 2, &client.RefusedRow{Repeated: true}
	default:
		return nil, 0, io.EOF
	}
}

func TestARowThatCannotBeReadKeepsACollection(t *testing.T) {
	t.Parallel()
	for row, want := range map[string]string{"{}\n": "into=i&replace=true", "": "into=i"} {
		b := &bodies{}
		importRows(t, b, &rows{list: []string{"{}\n", row}}, client.ImportOptions{Into: "i", Replace: true})
		if len(b.query) != 1 || b.query[0] != want {
			t.Errorf("asked with %q, want %s", b.query, want)
		}
	}
}
