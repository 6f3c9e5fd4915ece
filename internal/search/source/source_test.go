package source_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"keepsake/internal/search/source"
)

func read(t *testing.T, in string, comma byte) (string, error) {
	t.Helper()
	r, err := source.Open(strings.NewReader(in), comma)
	if err != nil {
		return "", err
	}
	if _, err := r.Sample(2); err != nil {
		return "", err
	}
	var out strings.Builder
	if r.Columns != nil {
		fmt.Fprintf(&out, "%q ", r.Columns)
	}
	for {
		row, err := r.Next()
		if err == io.EOF {
			return out.String(), nil
		}
		if err != nil {
			return out.String(), err
		}
		if row.Err != nil {
			fmt.Fprintf(&out, "%d! ", row.Line)
			continue
		}
		fmt.Fprintf(&out, "%d %s ", row.Line, strings.TrimSuffix(string(row.Text), "\n"))
	}
}

func zipped(text string) string {
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	_, err := w.Write([]byte(text))
	if err := errors.Join(err, w.Close()); err != nil {
		panic(err)
	}
	return out.String()
}

func utf16(text string) string {
	out := "\xff\xfe"
	for _, c := range text {
		out += string([]byte{byte(c), 0})
	}
	return out
}

// twos returns rows with the numbers from 2 on.
func twos(n int) string {
	var out strings.Builder
	for i := range n {
		fmt.Fprintf(&out, "%d {\"b\":2} ", i+2)
	}
	return out.String()
}

func TestFilesOfManyForms(t *testing.T) {
	t.Parallel()
	const lines = `1 {"a":1} 2! 3 {"b":2} `
	for name, c := range map[string]struct{ in, want string }{
		"lines":                 {"{\"a\":1}\n{\n{\"b\":2}\n", lines},
		"lines with a mark":     {"\xef\xbb\xbf{\"a\":1}\n{\n{\"b\":2}", lines},
		"one line":              {`{"a":1}`, `1 {"a":1} `},
		"compressed":            {zipped("{\"a\":1}\n{\n{\"b\":2}\n"), lines},
		"UTF-16":                {utf16("a;b\r\n1;2\r\n"), `["a" "b"] 2 1,2 `},
		"an array":              {"[ {\"a\": 1},\n 2, {\"b\": [1, 2]} ]", `1 {"a":1} 2! 3 {"b":[1,2]} `},
		"an array in an object": {"{\"type\": \"x\",\n \"sizes\": [1, 2], \"features\": [{\"a\": 1}, {\"b\": 2}], \"more\": 1}", `1 {"a":1} 2 {"b":2} `},
		"an array in one line":  {`{"total":2,"hits":[{"a":1},{"b":2}]}` + "\n", `1 {"a":1} 2 {"b":2} `},
		"an array in long line": {`{"hits":[{"a":"` + strings.Repeat("x", 10) + `"}` + strings.Repeat(`,{"b":2}`, 10_000) + `]}`, `1 {"a":"xxxxxxxxxx"} ` + twos(10_000)},
		"arrays in lines":       {`{"a":[{"b":1}]}` + "\n" + `{"a":[{"b":2}]}`, `1 {"a":[{"b":1}]} 2 {"a":[{"b":2}]} `},
		"commas":                {"a,b\n\"1,\n2\",3\n4\n", `["a" "b"] 2 "1,` + "\n" + `2",3 4 4, `},
		"semicolons":            {"a;\"b,,,\"\n1,5;2\n", `["a" "b,,,"] 2 "1,5",2 `},
		"tabs":                  {"a\tb\n1\t2\n", `["a" "b"] 2 1,2 `},
		"nothing":               {" \n", ""},
	} {
		got, err := read(t, c.in, 0)
		if err != nil || got != c.want {
			t.Errorf("%s: got %q (%v), want %q", name, got, err, c.want)
		}
	}
	if got, err := read(t, "a:b\n[1]:2\n", ':'); err != nil || got != `["a" "b"] 2 [1],2 ` {
		t.Errorf("a delimiter that was given: got %q (%v)", got, err)
	}
	for name, c := range map[string]struct{ in, says string }{
		"a cut array":         {`[{"a":1}, {"b"`, "cut off"},
		"text after an array": {`[{"a":1}] x`, "after the JSON array"},
		"no array":            {"{\n\"a\": 1}", "without an array of objects"},
		"other bytes":         {"caf\xe9;b\n", "Latin-1"},
		"twice a column":      {"a,a\n", "column 2"},
	} {
		if got, err := read(t, c.in, 0); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: got %q, %v", name, got, err)
		}
	}
}

func TestALongRowIsRefusedAlone(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", source.MaxRow+1)
	for name, in := range map[string]string{
		"lines":    "{}\n{\"a\":\"" + long + "\"}\n{}",
		"an array": "[{},{\"a\":\"" + long + "\"},{}]",
		"a table":  "a\n1\n" + long + "\n2\n",
	} {
		got, err := read(t, in, 0)
		if err != nil || strings.Count(got, "!") != 1 || len(strings.Fields(got)) > 7 {
			t.Errorf("%s: %.100s, %v", name, got, err)
		}
	}
}

// A file of more than 64 KiB was once refused as Latin-1 if its first 64 KiB ended within a character.
func TestACharacterAtTheEndOfTheFirstBytesIsWhole(t *testing.T) {
	t.Parallel()
	for shift := range 4 {
		text := "title;text\n" + strings.Repeat("x", shift) + strings.Repeat("чайник 水壶 🫖 ", 6_000) + ";y\n"
		if _, err := source.Open(strings.NewReader(text), 0); err != nil {
			t.Errorf("shifted by %d: %v", shift, err)
		}
	}
	for _, text := range []string{"title\nK\xf6ln\n", "title\n" + strings.Repeat("K\xf6ln\n", 20_000)} {
		if _, err := source.Open(strings.NewReader(text), 0); err == nil {
			t.Error("Latin-1 was taken for UTF-8")
		}
	}
}
