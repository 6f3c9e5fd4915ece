package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"keepsake/internal/app/apptest"
)

// What the commands print of metadata has the numbers as the API sends them, to the last digit.
func TestNumbersArePrintedAsStored(t *testing.T) {
	t.Parallel()
	p := apptest.Start(t)
	texts := []string{
		"0", "-1", "1.5", "0.1e-7", "1e-6", "0.000001", "0.0000001", "9007199254740991", "9007199254740992", "9007199254740994", "-9007199254740994",
		"1152921504606846976", "9223372036854775808", "18446744073709551616", "100000000000000000000", "1e20", "1e21", "1e22", "1.7976931348623157e308",
		"5e-324", "2.2250738585072014e-308", "0.1", "0.30000000000000004", "123456789.123456789", "1e300", "-1e-300",
	}
	for random := rand.New(rand.NewPCG(1, 2)); len(texts) < 32; {
		if f := math.Float64frombits(random.Uint64()); !math.IsNaN(f) && !math.IsInf(f, 0) {
			texts = append(texts, strconv.FormatFloat(f, 'g', -1, 64))
		}
	}
	var members []string
	for i, text := range texts {
		members = append(members, fmt.Sprintf(`"n%02d":%s`, i, text))
	}
	metadata := "{" + strings.Join(members, ",") + "}"

	// numbers returns the numbers of metadata in their spelling.
	numbers := func(from json.RawMessage) []string {
		t.Helper()
		var values map[string]json.Number
		if err := json.Unmarshal(from, &values); err != nil || len(values) != len(texts) {
			t.Fatalf("the metadata %s: %v", from, err)
		}
		list := make([]string, len(texts))
		for i := range texts {
			list[i] = string(values[fmt.Sprintf("n%02d", i)])
		}
		return list
	}
	type record struct {
		ID       string
		Metadata json.RawMessage
		Items    []record
	}
	send := func(method, path, body string) record {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), method, p.URL+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("X-API-Key", p.Key)
		r.Header.Set("Content-Type", "application/json")
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		text, err := io.ReadAll(res.Body)
		var got record
		if err != nil || res.StatusCode >= 300 || json.Unmarshal(text, &got) != nil {
			t.Fatalf("%s %s: %s %s, %v", method, path, res.Status, text, err)
		}
		return got
	}
	printed := func(args ...string) record {
		t.Helper()
		var out, errs bytes.Buffer
		st := &stage{in: strings.NewReader(""), out: &out, err: &errs, env: []string{"KEEPSAKE_URL=" + p.URL, "KEEPSAKE_KEY=" + p.Key}}
		if code := run(args, st); code != exitOK {
			t.Fatalf("%q: exit code %d, %s", args, code, errs.String())
		}
		var got record
		if text := bytes.TrimSpace(out.Bytes()); bytes.HasPrefix(text, []byte("[")) {
			text = append(append([]byte(`{"items":`), text...), '}')
			if err := json.Unmarshal(text, &got); err != nil {
				t.Fatal(err)
			}
		} else if err := json.Unmarshal(text, &got); err != nil {
			t.Fatalf("%q: %v in %s", args, err, text)
		}
		return got
	}
	document := send("PUT", "/api/v1/documents/a", `{"text":"a","metadata":`+metadata+`}`)
	want := numbers(document.Metadata)
	for i, text := range want {
		sent, _ := strconv.ParseFloat(texts[i], 64)
		if got, err := strconv.ParseFloat(text, 64); err != nil || got != sent {
			t.Errorf("%s is stored as %s", texts[i], text)
		}
	}
	send("POST", "/api/v1/memories", `{"subjectId":"ada","text":"a","metadata":`+metadata+`}`)

	key := send("POST", "/api/v1/developer/api-keys", `{"name":"n","scopes":["read"],"metadata":`+metadata+`}`)
	for name, got := range map[string]json.RawMessage{
		"documents export": printed("documents", "export").Metadata,
		"memories export":  printed("memories", "export", "--subject", "ada").Metadata,
		"keys get":         printed("keys", "get", key.ID, "--json").Metadata,
	} {
		for i, text := range numbers(got) {
			if text != want[i] {
				t.Errorf("%s prints %s, stored is %s", name, text, want[i])
			}
		}
	}
	for _, k := range printed("keys", "list", "--json").Items {
		if k.ID == key.ID {
			for i, text := range numbers(k.Metadata) {
				if text != want[i] {
					t.Errorf("keys list prints %s, stored is %s", text, want[i])
				}
			}
			return
		}
	}
	t.Error("keys list lacks the key")
}
