//go:build unix

package deploy_test

import (
	"encoding/json"
	"net"
	"net/http"
	"net/http/httptest"
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

// TestTutorialBuildsWhatItSays runs the commands of the tutorial, then the search box in a browser and the bot with a model.
func TestTutorialBuildsWhatItSays(t *testing.T) {
	t.Parallel()
	testtier.Long(t, "starts the program and Chromium")
	r := runPage(t, "docs/tutorial.md", `echo "BOT=$BOT_KEY"`)
	for _, want := range []string{"4 created", "Gurgling radiators", "insufficient_scope", only(t, tutorial, ""), "Prefers messages to calls.", `"receiptId"`} {
		if !strings.Contains(r.output, want) {
			t.Errorf("the commands print %s\nwant in it %s", r.output, want)
		}
	}

	t.Run("search box", func(t *testing.T) {
		site := siteAt(t, r.free("3000"), r.dir)
		stranger := siteAt(t, "127.0.0.1:0", r.dir)
		useSearchBox(t, site, stranger)
	})
	t.Run("bot with a model", func(t *testing.T) {
		_, key, _ := strings.Cut(r.output, "BOT=")
		chat := &scripted{}
		server := httptest.NewServer(chat)
		defer server.Close()
		said, err := r.shell("printf '%s\\n' 'My boiler is a TX-4410.' 'It shows E7.' | python3 bot.py",
			"KEEPSAKE_URL="+r.process.URL, "BOT_KEY="+strings.TrimSpace(key), "CHAT_URL="+server.URL, "CHAT_KEY=chat-key").CombinedOutput()
		if err != nil || string(said) != "answer 1\nanswer 2\n" {
			t.Errorf("the bot says %q, %v", said, err)
		}
		if last := chat.last(); !strings.Contains(last, "clean the fan") || !strings.Contains(last, "customer: My boiler is a TX-4410.") ||
			strings.Contains(last, "answer 1") {
			t.Errorf("the model got %s", last)
		}
	})
}

// siteAt serves a folder at an address and returns its URL.
func siteAt(t *testing.T, address, dir string) string {
	t.Helper()
	listener, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	site := &httptest.Server{Listener: listener, Config: &http.Server{Handler: http.FileServer(http.Dir(dir))}}
	site.Start()
	t.Cleanup(site.Close)
	return site.URL
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
