package deploy_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"keepsake/internal/testing/browsertest"
	"keepsake/internal/testing/programtest"
	"keepsake/internal/testing/testtier"
)

// block is a block of code of a page.
type block struct {
	language string
	reason   string // after the language: what it needs
	text     string
}

var codeBlock = regexp.MustCompile("(?ms)^```(\\w*) ?([^\n]*)\n(.*?)^```$")

func blocksOf(t *testing.T, page string) (list []block) {
	t.Helper()
	for _, m := range codeBlock.FindAllStringSubmatch(read(t, page), -1) {
		list = append(list, block{m[1], m[2], m[3]})
	}
	return list
}

// only returns the block of a page in a language.
func only(t *testing.T, page, language string) string {
	t.Helper()
	var found []string
	for _, b := range blocksOf(t, page) {
		if b.language == language {
			found = append(found, b.text)
		}
	}
	if len(found) != 1 {
		t.Fatalf("%s has %d blocks of %s, want one", page, len(found), language)
	}
	return found[0]
}

const (
	tutorial  = "../docs/tutorial.md"
	searchBox = "../docs/example/searchbox/index.html"
	bot       = "../docs/example/supportbot/bot.py"
)

func TestTutorialShowsTheExamples(t *testing.T) {
	t.Parallel()
	for language, file := range map[string]string{"html": searchBox, "python": bot} {
		if only(t, tutorial, language) != read(t, file) {
			t.Errorf("%s and %s differ: copy one to the other", tutorial, file)
		}
	}
}

// commandsOfTutorial returns the commands of the tutorial but those that build and start servers, and what it says the bot prints.
func commandsOfTutorial(t *testing.T) (script, prints string) {
	t.Helper()
	var b strings.Builder
	for _, block := range blocksOf(t, tutorial) {
		switch {
		case block.language == "":
			prints = block.text
		case block.language == "sh" && (block.reason == "" || block.reason == "needs index.html" || block.reason == "needs bot.py"):
			b.WriteString(block.text)
		}
	}
	return b.String(), prints
}

// TestTutorialBuildsWhatItSays runs the tutorial: its commands in their order, then the search box in a browser and the bot with
// a model.
func TestTutorialBuildsWhatItSays(t *testing.T) {
	t.Parallel()
	testtier.Long(t, "builds and starts the program, and starts Chromium")
	for _, name := range []string{"bash", "curl", "sed", "python3"} {
		if _, err := exec.LookPath(name); err != nil {
			testtier.Missing(t, name)
		}
	}
	dir, bin := t.TempDir(), t.TempDir()
	site := httptest.NewServer(http.FileServer(http.Dir(dir)))
	t.Cleanup(site.Close)
	stranger := httptest.NewServer(http.FileServer(http.Dir(dir)))
	t.Cleanup(stranger.Close)
	p := programtest.Start(t, filepath.Join(t.TempDir(), "data"), programtest.Flags("--cors-origins", site.URL))
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(os.Symlink(programtest.Binary(t), filepath.Join(bin, "keepsake")))
	here := func(text string) []byte { return []byte(strings.ReplaceAll(text, "http://localhost:8080", p.URL)) }
	must(os.WriteFile(filepath.Join(dir, "index.html"), here(read(t, searchBox)), 0o600))
	must(os.WriteFile(filepath.Join(dir, "bot.py"), []byte(read(t, bot)), 0o600))

	script, prints := commandsOfTutorial(t)
	script = string(here(strings.Replace(script, "KEEPSAKE_KEY=kpsk_…", "KEEPSAKE_KEY="+p.Key, 1)))
	run := func(script string, env ...string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "bash", "-e", "-c", script)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), append(env, "PATH="+bin+":"+os.Getenv("PATH"))...)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return string(out)
	}
	out := run(script + "\necho BOT=$BOT_KEY\n")
	for _, want := range []string{"4 created", "Gurgling radiators", "insufficient_scope", prints, "Prefers messages to calls.", `"receiptId"`} {
		if !strings.Contains(out, want) {
			t.Errorf("the commands print %s\nwant in it %s", out, want)
		}
	}

	t.Run("search box", func(t *testing.T) { useSearchBox(t, site.URL, stranger.URL) })
	t.Run("bot with a model", func(t *testing.T) {
		_, key, _ := strings.Cut(out, "BOT=")
		chat := &scripted{}
		server := httptest.NewServer(chat)
		defer server.Close()
		said := run("printf '%s\\n' 'My boiler is a TX-4410.' 'It shows E7.' | python3 bot.py",
			"KEEPSAKE_URL="+p.URL, "BOT_KEY="+strings.TrimSpace(key), "CHAT_URL="+server.URL, "CHAT_KEY=chat-key")
		if said != "answer 1\nanswer 2\n" {
			t.Errorf("the bot says %q", said)
		}
		if last := chat.last(); !strings.Contains(last, "clean the fan") || !strings.Contains(last, "customer: My boiler is a TX-4410.") ||
			strings.Contains(last, "answer 1") {
			t.Errorf("the model got %s", last)
		}
	})
}

// useSearchBox types into the search box from its own site, and from one that may not call the API.
func useSearchBox(t *testing.T, site, stranger string) {
	browser := browsertest.Start(t)
	tab := browser.Tab(t)
	tab.Open(site + "/")
	tab.Fill("input", "gurg")
	tab.Await("the unfinished word is found", `document.querySelector("li mark")?.textContent === "gurgles"`)
	tab.Fill("input", "presure")
	tab.Await("the misspelled word is found", `document.querySelector("p").textContent === "2 found" && document.querySelector("li").textContent.includes("pressure")`)
	tab.Fill("input", "<b>nothing</b>xyz")
	tab.Await("nothing is found", `document.querySelector("p").textContent === "0 found" && !document.querySelector("li")`)
	if list := tab.Problems(); len(list) > 0 {
		t.Errorf("the page had problems: %q", list)
	}

	tab = browser.Tab(t)
	tab.Open(stranger + "/")
	var refused bool
	tab.Eval(`fetch(document.querySelector("script").textContent.match(/server = "([^"]*)"/)[1] + "/api/versions").then(() => false, () => true)`, &refused)
	if !refused {
		t.Error("a page of another origin reads an answer")
	}
}

// scripted is a server with the chat API of OpenAI, which counts its answers.
type scripted struct {
	mu     sync.Mutex
	number int
	prompt string // of the last request
}

func (s *scripted) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var asked struct {
		Messages []struct{ Role, Content string } `json:"messages"`
	}
	if json.NewDecoder(r.Body).Decode(&asked) != nil || len(asked.Messages) != 2 || r.URL.Path != "/chat/completions" ||
		r.Header.Get("Authorization") != "Bearer chat-key" {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.number++
	s.prompt = asked.Messages[0].Content
	answer := map[string]string{"role": "assistant", "content": "answer " + string(rune('0'+s.number))}
	_ = json.NewEncoder(w).Encode(map[string]any{"choices": []any{map[string]any{"message": answer}}}) // the program reports a failure
}

func (s *scripted) last() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.prompt
}

// TestUsersSignInFromAPage runs the script of the page about browsers, from an origin that may call the API.
func TestUsersSignInFromAPage(t *testing.T) {
	t.Parallel()
	testtier.Long(t, "builds and starts the program, and starts Chromium")
	site := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(site.Close)
	p := programtest.Start(t, filepath.Join(t.TempDir(), "data"), programtest.Flags("--cors-origins", site.URL))
	p.Must(201, "PUT", "/api/v1/documents/boiler", map[string]any{"text": "Bleed the radiators."})
	p.Must(201, "POST", "/api/v1/admin/users", map[string]any{"email": "ada@example.com", "role": "viewer", "password": "a password for the page"})
	script := strings.ReplaceAll(only(t, "../docs/browser.md", "js"), "http://localhost:8080", p.URL)
	tab := browsertest.Start(t).Tab(t)
	tab.Open(site.URL)
	var got struct {
		Total   int
		Refused string
		Renewed bool
	}
	tab.Eval(`(async () => {`+script+`
		await signIn("ada@example.com", "a password for the page");
		const { total } = await call("/api/v1/search", { q: "radiator" });
		const before = session.accessToken;
		session.ends = 0; // the access token is about to end
		await call("/api/v1/search", { q: "radiator" });
		const refused = await call("/api/v1/memories/recall", { subjectId: "p-1", query: "tea" }).catch((e) => e.message);
		return { total, refused, renewed: before !== session.accessToken };
	})()`, &got)
	if got.Total != 1 || !got.Renewed || !strings.Contains(got.Refused, "memory:read") {
		t.Errorf("got %+v", got)
	}
}
