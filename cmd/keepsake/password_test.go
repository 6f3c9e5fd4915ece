package main

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"keepsake/internal/testing/testtier"
)

// words are two random words with characters between them that mean something in an address, in YAML or in a shell.
func randomPassword(r *rand.Rand) (password string, words []string) {
	word := func() string {
		text := make([]byte, 8)
		for i := range text {
			text[i] = "ABCDEFGHJKLMNPQRSTUVWXYZ"[r.IntN(24)]
		}
		return string(text)
	}
	words = []string{word(), word()}
	between := make([]byte, 1+r.IntN(3))
	for i := range between {
		const special = `@:/?#%&=+ "'\[]{}!$,;|~<>*^` + "`"
		between[i] = special[r.IntN(len(special))]
	}
	return words[0] + string(between) + words[1], words
}

// TestNoCommandPrintsAPassword gives addresses with random passwords, encoded and as they are, in every place that takes one.
func TestNoCommandPrintsAPassword(t *testing.T) {
	t.Parallel()
	const seed = 33
	r := rand.New(rand.NewPCG(seed, seed))
	dir := t.TempDir()
	const closed = "127.0.0.1:1" // nothing listens there
	for round := range testtier.Rounds(10, 200) {
		password, words := randomPassword(r)
		shown := password
		if round%2 == 0 {
			shown = url.QueryEscape(password)
			if round%4 == 0 {
				shown = strings.ReplaceAll(shown, "+", "%20")
			}
		}
		postgres := "postgres://keepsake:" + shown + "@" + closed + "/db"
		inQuery := "postgres://keepsake@" + closed + "/db?sslmode=x&password=" + shown
		redis := "redis://:" + shown + "@" + closed
		web := "http://user:" + shown + "@" + closed
		data := filepath.Join(dir, "data")
		file := filepath.Join(dir, "secret")
		config := filepath.Join(dir, "keepsake.yaml")
		for path, text := range map[string]string{file: postgres + "\n", config: "databaseUrl: " + postgres + "\n"} {
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		const valid = "postgres://keepsake@" + closed + "/db"
		type call struct {
			args []string
			env  []string
		}
		var calls []call
		for _, command := range [][]string{
			{"serve"},
			{"init", "--admin-email", "a@example.org"},
			{"doctor"},
			{"keys", "list"},
			{"users", "list"},
			{"audit", "verify"},
			{"backup", "--out", filepath.Join(dir, "o", "b"), "--keys-out", filepath.Join(dir, "k", "b")},
			{"restore", "--in", file, "--keys-in", file},
		} {
			local := append(slices.Clone(command), "--data", data)
			for _, address := range []string{postgres, inQuery} {
				calls = append(calls, call{append(slices.Clone(local), "--database-url", address), nil})
			}
			calls = append(calls,
				call{append(slices.Clone(local), "--database-url", valid, "--keys-url", postgres), nil},
				call{local, []string{"KEEPSAKE_DATABASE_URL=" + postgres}},
				call{local, []string{"KEEPSAKE_DATABASE_URL_FILE=" + file}},
				call{local, []string{"KEEPSAKE_DATABASE_URL=" + valid, "KEEPSAKE_REDIS_URL=" + redis}},
				call{local, []string{"KEEPSAKE_EMBEDDINGS_MODEL=m", "KEEPSAKE_EMBEDDINGS_URL=" + web}},
				call{local, []string{"KEEPSAKE_PUBLIC_URL=" + web}},
				call{local, []string{"KEEPSAKE_CORS_ORIGINS=" + web}},
				call{append(slices.Clone(local), "--config", config), nil},
				call{append(slices.Clone(command), "--data", postgres), nil},
				call{append(slices.Clone(local), postgres), nil},
			)
		}
		for _, address := range []string{postgres, inQuery, strings.Replace(postgres, "//", "/", 1), strings.Replace(postgres, "postgres", "postgress", 1), "host=db password=" + words[0]} {
			calls = append(calls,
				call{[]string{"migrate", "--from", address, "--to", filepath.Join(dir, "to")}, nil},
				call{[]string{"migrate", "--from", filepath.Join(dir, "from"), "--to", address}, nil})
		}
		calls = append(calls, call{[]string{postgres}, nil}, call{[]string{"keys", postgres}, nil},
			call{[]string{"keys", "list", "--url", web}, nil}, call{[]string{"doctor", "--url", web}, nil},
			call{[]string{"conformance", "--url", web, "--key", "k"}, nil})
		r.Shuffle(len(calls), func(i, j int) { calls[i], calls[j] = calls[j], calls[i] })
		for _, c := range calls[:15] {
			var out bytes.Buffer
			code := run(c.args, &stage{in: strings.NewReader(""), out: &out, err: &out, env: c.env, now: time.Now})
			if code == exitOK {
				t.Errorf("%q with %q succeeded", c.args, c.env)
			}
			for _, word := range words {
				if strings.Contains(out.String(), word) {
					t.Errorf("%s printed a part of the password %q:\n%s", fmt.Sprint(c.args, c.env), password, &out)
				}
			}
		}
	}
}

func TestAnExampleOfADatabaseIsPrintedWhole(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	code := run([]string{"serve", "--data", filepath.Join(t.TempDir(), "data"), "--database-url", "mysql://db/keepsake"},
		&stage{in: strings.NewReader(""), out: &out, err: &out, now: time.Now})
	if code != exitUsage || !strings.Contains(out.String(), "such as postgres://db.example.org/keepsake\n") {
		t.Errorf("exit code %d:\n%s", code, &out)
	}
}
