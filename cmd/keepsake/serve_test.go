package main

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"keepsake/internal/app/apptest"
	"keepsake/internal/app/config"
	"keepsake/internal/app/instance"
	"keepsake/internal/testing/await"
)

func TestFirstStartShowsWorkingCommandsOnce(t *testing.T) {
	t.Parallel()
	cfg := config.Default()
	cfg.Data, cfg.Listen, cfg.BackendListen = filepath.Join(t.TempDir(), "d"), "127.0.0.1:0", "127.0.0.1:0"
	serveOnce := func(look func(shown string)) string {
		ctx, stop := context.WithCancel(t.Context())
		var out, log apptest.Buffer
		done := make(chan error, 1)
		go func() { done <- serve(ctx, &stage{out: &out, err: &log, tty: true, now: time.Now}, cfg, false) }()
		await.Until(t, "the server logs that it serves", func() bool {
			select {
			case err := <-done:
				t.Fatalf("serve ended: %v", err)
			default:
			}
			return strings.Contains(log.String(), `"msg":"serving"`)
		})
		look(out.String())
		stop()
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		return log.String()
	}
	log := serveOnce(func(shown string) {
		if _, err := os.Stat(instance.FirstStartPath(cfg.Data)); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("the secrets were shown and lie in the folder too: %v", err)
		}
		if n := strings.Count(shown, "/console/setup#kpsu_"); n != 1 {
			t.Errorf("want one setup link, got %d in:\n%s", n, shown)
		}
		lines := curlLines(shown)
		wants := []string{`"id":"hello"`, `"total":1`, `"subjectId":"p-4711"`, `"rank":1`}
		if len(lines) != len(wants) {
			t.Fatalf("want %d lines to paste, got %q in:\n%s", len(wants), lines, shown)
		}
		for i, want := range wants {
			if got := curl(t, lines[i]); !strings.Contains(got, want) {
				t.Errorf("%v: %s", lines[i], got)
			}
		}
	})
	if strings.Contains(log, "kpsk_") || strings.Contains(log, "kpsu_") {
		t.Errorf("a secret is in the log: %s", log)
	}
	serveOnce(func(shown string) {
		if strings.Contains(shown, "password") || strings.Contains(shown, "kpsk_") || strings.Contains(shown, "kpsu_") {
			t.Errorf("the second start shows %s", shown)
		}
	})
}

// curlLines cuts the commands out of a text and into words, as a shell does: single quotes, and lines that go on after a
// backslash.
func curlLines(text string) [][]string {
	var commands [][]string
	for line := range strings.Lines(strings.ReplaceAll(text, "\\\n", " ")) {
		if !strings.HasPrefix(strings.TrimSpace(line), "curl ") {
			continue
		}
		var words []string
		for i, piece := range strings.Split(strings.TrimSpace(line), "'") {
			if i%2 == 1 {
				words = append(words, piece)
			} else {
				words = append(words, strings.Fields(piece)...)
			}
		}
		commands = append(commands, words)
	}
	return commands
}

// curl does what curl does with these words.
func curl(t *testing.T, words []string) string {
	t.Helper()
	var method, url, body string
	header := http.Header{}
	for i := 1; i < len(words); i++ {
		switch words[i] {
		case "-X":
			i++
			method = words[i]
		case "-d":
			i++
			body = words[i]
		case "-H":
			i++
			name, value, _ := strings.Cut(words[i], ": ")
			header.Set(name, value)
		default:
			url = words[i]
		}
	}
	if method == "" && body != "" {
		method = http.MethodPost
	}
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header = header
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	answer, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(answer)
}

func TestAnImportDrawsItsProgressOnATerminalOnly(t *testing.T) {
	t.Parallel()
	data := filepath.Join(t.TempDir(), "d")
	file := filepath.Join(t.TempDir(), "notes.ndjson")
	if err := os.WriteFile(file, []byte(`{"id":"a","title":"A"}`+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	keepsake := func(errTTY bool, args ...string) (out, err string) {
		t.Helper()
		var o, e apptest.Buffer
		st := &stage{out: &o, err: &e, errTTY: errTTY, now: time.Now}
		if code := run(args, st); code != exitOK {
			t.Fatalf("%q: exit code %d: %s", args, code, e.String())
		}
		return o.String(), e.String()
	}
	keepsake(false, "init", "--data", data)
	for _, terminal := range []bool{true, false} {
		out, drawn := keepsake(terminal, "documents", "import", file, "--data", data)
		if !strings.HasPrefix(out, "1 lines: ") {
			t.Errorf("terminal %v: printed %q", terminal, out)
		}
		if strings.Contains(drawn, "importing") != terminal {
			t.Errorf("terminal %v: drawn %q", terminal, drawn)
		}
	}
}
