// Command witness creates what a later release is tested with: a data folder that a program of a release has filled, as
// folder.tar.gz, and its checksum.
//
//	go run ./deploy/witness bin/keepsake internal/testing/upgradetest/released/0.1.0
//
// In the archive, data is the folder, and witness.json contains the credentials and what the program answered.
package main

import (
	"archive/tar"
	"bufio"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// Witness is witness.json.
type Witness struct {
	Key      string `json:"key"` // an API key with all scopes
	Email    string `json:"email"`
	Password string `json:"password"`
	// Answers are by path. They lack what changes with time.
	Answers map[string]any `json:"answers"`
}

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: witness PROGRAM FOLDER")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "witness:", err)
		os.Exit(1)
	}
}

func run(program, out string) error {
	temp, err := os.MkdirTemp("", "keepsake-witness-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(temp)
	w, err := fill(program, filepath.Join(temp, "data"))
	if err != nil {
		return err
	}
	text, err := json.MarshalIndent(w, "", "  ")
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(temp, "witness.json"), text, 0o600); err != nil {
		return err
	}
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	t := tar.NewWriter(z)
	if err := errors.Join(t.AddFS(os.DirFS(temp)), t.Close(), z.Close(), os.MkdirAll(out, 0o755)); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(out, "folder.tar.gz"), packed.Bytes(), 0o644); err != nil { //nolint:gosec // everybody can read it
		return err
	}
	sum := fmt.Sprintf("%x  folder.tar.gz\n", sha256.Sum256(packed.Bytes()))
	return os.WriteFile(filepath.Join(out, "checksums.txt"), []byte(sum), 0o644) //nolint:gosec // everybody can read it
}

// fill starts a program on a new data folder, fills it, asks for what it contains, and stops the program.
func fill(program, data string) (w *Witness, err error) {
	cmd := exec.Command(program, "serve", "--data", data, "--listen", "127.0.0.1:0", "--backend-listen", "127.0.0.1:0")
	cmd.Env = slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "KEEPSAKE_") })
	said, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	cmd.Stderr = cmd.Stdout
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	lines := bufio.NewReader(said)
	url, log, err := address(lines)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("the program does not start: %s", log), cmd.Wait())
	}
	drained := make(chan struct{})
	go func() {
		defer close(drained)
		_, _ = io.Copy(io.Discard, lines) // until the program ends
	}()
	defer func() {
		stopped := cmd.Process.Signal(syscall.SIGTERM)
		if stopped != nil {
			stopped = errors.Join(stopped, cmd.Process.Kill())
		}
		<-drained
		err = errors.Join(err, stopped, cmd.Wait())
	}()

	first, err := os.ReadFile(filepath.Join(data, "first-start.json"))
	if err != nil {
		return nil, err
	}
	var created struct{ APIKey string }
	if err := json.Unmarshal(first, &created); err != nil {
		return nil, err
	}
	if err := os.Remove(filepath.Join(data, "first-start.json")); err != nil {
		return nil, err
	}
	w = &Witness{Key: created.APIKey, Email: "ada@example.com", Password: "an analytical engine", Answers: map[string]any{}}
	for _, c := range contents(w) {
		if _, err := send(url, w.Key, "POST", c.path, c.body); err != nil {
			return nil, err
		}
	}
	for _, path := range []string{
		"/api/v1/documents/quince", "/api/v1/documents/medlar", "/api/v1/documents/sloe", "/api/v1/memories?subjectId=p-1", "/api/v1/memories?subjectId=p-2",
		"/api/v1/memories/subjects", "/api/v1/developer/api-keys", "/api/v1/admin/users", "/api/v1/admin/workspaces",
	} {
		if w.Answers[path], err = send(url, w.Key, "GET", path, ""); err != nil {
			return nil, err
		}
		forget(w.Answers[path])
	}
	return w, nil
}

// address reads the output of a program until it says where it serves. It returns what it has read if there is no address.
func address(lines *bufio.Reader) (url, log string, err error) {
	for {
		line, err := lines.ReadString('\n')
		if url, is := strings.CutPrefix(strings.TrimSpace(line), "Keepsake is ready at "); is {
			return url, log, nil
		}
		log += line
		if err != nil {
			return "", log, err
		}
	}
}

type content struct{ path, body string }

func contents(w *Witness) []content {
	return []content{
		{"/api/v1/documents", `{"id":"quince","title":"Quince","text":"Quinces ripen in October.","tags":["fruit"],"metadata":{"year":2026}}`},
		{"/api/v1/documents", `{"id":"medlar","title":"Medlar","text":"Medlars are eaten after the first frost.","collection":"orchard"}`},
		{"/api/v1/documents", `{"id":"sloe","title":"Schlehe","text":"Schlehen wachsen in Hecken.","metadata":{"language":"de"}}`},
		{"/api/v1/memories", `{"subjectId":"p-1","text":"Prefers tea to coffee.","key":"drink","tags":["taste"]}`},
		{"/api/v1/memories", `{"subjectId":"p-1","text":"Moved to Lisbon.","kind":"event","occurredAt":"2026-03-01T00:00:00Z"}`},
		{"/api/v1/memories", `{"subjectId":"p-2","text":"Plays the cello.","pinned":true}`},
		{"/api/v1/developer/api-keys", `{"name":"reader","scopes":["read"],"rateLimit":{"requestsPerMinute":60}}`},
		{"/api/v1/admin/users", fmt.Sprintf(`{"email":%q,"password":%q,"name":"Ada","role":"admin"}`, w.Email, w.Password)},
	}
}

// send sends a request and returns its JSON.
func send(url, key, method, path, body string) (answer any, err error) {
	req, err := http.NewRequest(method, url+path, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("X-API-Key", key)
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		return nil, err
	}
	if res.StatusCode >= http.StatusMultipleChoices {
		return nil, fmt.Errorf("%s %s: %d %s", method, path, res.StatusCode, text)
	}
	err = json.Unmarshal(text, &answer)
	return answer, err
}

// forget removes the times of use from an answer, which change with each request.
func forget(answer any) {
	switch v := answer.(type) {
	case []any:
		for _, item := range v {
			forget(item)
		}
	case map[string]any:
		delete(v, "lastUsedAt")
		delete(v, "lastLoginAt")
		for _, field := range v {
			forget(field)
		}
	}
}
