// Package browsertest opens pages in headless Chromium for tests. It uses the DevTools protocol over a pipe, so it needs no
// library and no port.
package browsertest

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"keepsake/internal/testing/await"
	"keepsake/internal/testing/testtier"
)

// patience is how long a reply of the browser may take. It only ends a test that hangs.
const patience = time.Minute

// Browser is a running Chromium.
type Browser struct {
	t    testing.TB
	to   io.Writer
	mu   sync.Mutex
	next int
	wait map[int]chan reply
	tabs map[string]*Tab // by session
}

type message struct {
	ID        int             `json:"id,omitempty"`
	Method    string          `json:"method,omitempty"`
	Params    json.RawMessage `json:"params,omitempty"`
	SessionID string          `json:"sessionId,omitempty"`
	Result    json.RawMessage `json:"result,omitempty"`
	Error     *struct {
		Message string `json:"message"`
	} `json:"error,omitempty"`
}

type reply struct {
	result json.RawMessage
	err    error
}

// Start starts Chromium, which ends with the test. It skips the test if Chromium is not installed.
func Start(t testing.TB) *Browser {
	t.Helper()
	path := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if found, err := exec.LookPath(name); err == nil {
			path = found
			break
		}
	}
	if path == "" || runtime.GOOS == "windows" {
		testtier.Missing(t, "chromium")
	}
	toBrowser, send, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	receive, fromBrowser, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(path, "--headless=new", "--remote-debugging-pipe", "--no-first-run", "--disable-gpu", "--no-sandbox", "--disable-dev-shm-usage",
		"--disable-background-networking", "--disable-component-update", "--disable-sync", "--hide-scrollbars", "--lang=en-GB", "--user-data-dir="+t.TempDir())
	cmd.ExtraFiles = []*os.File{toBrowser, fromBrowser} // descriptors 3 and 4
	cmd.Env = append(os.Environ(), "TZ=Europe/Berlin", "LANGUAGE=en_GB")
	if err := cmd.Start(); err != nil {
		t.Fatalf("start chromium: %v", err)
	}
	toBrowser.Close()
	fromBrowser.Close()
	b := &Browser{t: t, to: send, wait: map[int]chan reply{}, tabs: map[string]*Tab{}}
	done := make(chan struct{})
	go func() { defer close(done); b.read(receive) }()
	t.Cleanup(func() {
		_, _ = b.call("", "Browser.close", nil)
		_ = cmd.Wait()
		<-done
		send.Close()
		receive.Close()
	})
	return b
}

// read handles replies and events until the browser ends.
func (b *Browser) read(from io.Reader) {
	in := bufio.NewReaderSize(from, 1<<20)
	for {
		line, err := in.ReadBytes(0)
		if err != nil {
			break
		}
		var m message
		if json.Unmarshal(line[:len(line)-1], &m) != nil {
			continue
		}
		b.mu.Lock()
		if wait := b.wait[m.ID]; m.ID != 0 && wait != nil {
			delete(b.wait, m.ID)
			r := reply{result: m.Result}
			if m.Error != nil {
				r.err = errors.New(m.Error.Message)
			}
			wait <- r
		} else if tab := b.tabs[m.SessionID]; tab != nil {
			tab.event(m)
		}
		b.mu.Unlock()
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, wait := range b.wait {
		wait <- reply{err: io.ErrUnexpectedEOF}
	}
	clear(b.wait)
}

func (b *Browser) call(session, method string, params any) (json.RawMessage, error) {
	if params == nil {
		params = struct{}{}
	}
	raw, err := json.Marshal(params)
	if err != nil {
		return nil, err
	}
	wait := make(chan reply, 1)
	b.mu.Lock()
	b.next++
	m := message{ID: b.next, Method: method, Params: raw, SessionID: session}
	b.wait[m.ID] = wait
	text, err := json.Marshal(m)
	if err == nil {
		_, err = b.to.Write(append(text, 0))
	}
	b.mu.Unlock()
	if err != nil {
		return nil, err
	}
	select {
	case r := <-wait:
		return r.result, r.err
	case <-time.After(patience):
		return nil, errors.New("the browser does not reply")
	}
}

// Tab is a page of the browser, with cookies of its own.
type Tab struct {
	b       *Browser
	t       testing.TB
	session string

	mu       sync.Mutex
	requests []string // addresses that the page has requested
	problems []string // errors of scripts, and what the content security policy refused
	dialogs  []string // messages of dialogs, which are accepted
	loads    int
}

// Tab opens an empty page.
func (b *Browser) Tab(t testing.TB) *Tab {
	t.Helper()
	tab := &Tab{b: b, t: t}
	var context struct {
		ID string `json:"browserContextId"`
	}
	b.must(t, "", "Target.createBrowserContext", nil, &context)
	var target struct {
		ID string `json:"targetId"`
	}
	b.must(t, "", "Target.createTarget", map[string]any{"url": "about:blank", "browserContextId": context.ID}, &target)
	var attached struct {
		Session string `json:"sessionId"`
	}
	b.must(t, "", "Target.attachToTarget", map[string]any{"targetId": target.ID, "flatten": true}, &attached)
	tab.session = attached.Session
	b.mu.Lock()
	b.tabs[tab.session] = tab
	b.mu.Unlock()
	for _, domain := range []string{"Page", "Runtime", "Network", "Log"} {
		tab.Do(domain+".enable", nil, nil)
	}
	tab.Size(1280, 860)
	return tab
}

func (b *Browser) must(t testing.TB, session, method string, params, result any) {
	t.Helper()
	raw, err := b.call(session, method, params)
	if err == nil && result != nil {
		err = json.Unmarshal(raw, result)
	}
	if err != nil {
		t.Fatalf("%s: %v", method, err)
	}
}

// event records what a test can ask for. The browser is locked.
func (tab *Tab) event(m message) {
	tab.mu.Lock()
	defer tab.mu.Unlock()
	var p struct {
		Request struct {
			URL string `json:"url"`
		} `json:"request"`
		Entry struct {
			Level, Source, Text string
		} `json:"entry"`
		ExceptionDetails struct {
			Text      string
			Exception struct{ Description string }
		} `json:"exceptionDetails"`
		Message string `json:"message"`
	}
	if json.Unmarshal(m.Params, &p) != nil {
		return
	}
	switch m.Method {
	case "Network.requestWillBeSent":
		tab.requests = append(tab.requests, p.Request.URL)
	case "Log.entryAdded":
		if p.Entry.Source == "security" || p.Entry.Level == "error" && p.Entry.Source != "network" {
			tab.problems = append(tab.problems, p.Entry.Text)
		}
	case "Runtime.exceptionThrown":
		tab.problems = append(tab.problems, p.ExceptionDetails.Text+" "+p.ExceptionDetails.Exception.Description)
	case "Page.javascriptDialogOpening":
		tab.dialogs = append(tab.dialogs, p.Message)
		go tab.b.call(tab.session, "Page.handleJavaScriptDialog", map[string]any{"accept": true}) //nolint:errcheck // the page waits if it fails
	case "Page.loadEventFired":
		tab.loads++
	}
}

// Do sends a command of the DevTools protocol.
func (tab *Tab) Do(method string, params, result any) {
	tab.t.Helper()
	tab.b.must(tab.t, tab.session, method, params, result)
}

// Size sets the size of the window.
func (tab *Tab) Size(width, height int) {
	tab.t.Helper()
	tab.Do("Emulation.setDeviceMetricsOverride", map[string]any{"width": width, "height": height, "deviceScaleFactor": 1, "mobile": false}, nil)
}

// Dark sets the colour scheme that the user prefers.
func (tab *Tab) Dark(dark bool) {
	tab.t.Helper()
	value := "light"
	if dark {
		value = "dark"
	}
	tab.Do("Emulation.setEmulatedMedia", map[string]any{"features": []any{map[string]string{"name": "prefers-color-scheme", "value": value}}}, nil)
}

// Open loads a page.
func (tab *Tab) Open(url string) {
	tab.t.Helper()
	tab.Leave(func() { tab.Do("Page.navigate", map[string]any{"url": url}, nil) })
}

// Leave does what makes the tab load another page, and waits until it has.
func (tab *Tab) Leave(do func()) {
	tab.t.Helper()
	before := tab.count()
	do()
	await.Until(tab.t, "the page loads", func() bool { return tab.count() > before })
}

func (tab *Tab) count() int {
	tab.mu.Lock()
	defer tab.mu.Unlock()
	return tab.loads
}

// Eval runs a script, waits for its promise, and decodes its value into result, which can be nil.
func (tab *Tab) Eval(script string, result any) {
	tab.t.Helper()
	if err := tab.eval(script, result); err != nil {
		tab.t.Fatalf("%.200s: %v", script, err)
	}
}

func (tab *Tab) eval(script string, result any) error {
	raw, err := tab.b.call(tab.session, "Runtime.evaluate", map[string]any{
		"expression": script, "awaitPromise": true, "returnByValue": true, "userGesture": true,
	})
	if err != nil {
		return err
	}
	var r struct {
		Result struct {
			Value json.RawMessage `json:"value"`
		} `json:"result"`
		ExceptionDetails *struct {
			Exception struct{ Description string }
		} `json:"exceptionDetails"`
	}
	if err := json.Unmarshal(raw, &r); err != nil {
		return err
	}
	if r.ExceptionDetails != nil {
		return errors.New(r.ExceptionDetails.Exception.Description)
	}
	if result == nil {
		return nil
	}
	return json.Unmarshal(r.Result.Value, result)
}

// Await waits until a script returns true.
func (tab *Tab) Await(what, script string) {
	tab.t.Helper()
	await.Until(tab.t, what, func() bool {
		var ok bool
		return tab.eval(script, &ok) == nil && ok // a page that is loading cannot run it
	})
}

// Text returns the text that the page shows.
func (tab *Tab) Text() string {
	tab.t.Helper()
	var text string
	tab.Eval("document.body.innerText", &text)
	return text
}

// Fill types a text into a field.
func (tab *Tab) Fill(selector, text string) {
	tab.t.Helper()
	tab.Eval(fmt.Sprintf("{ const e = document.querySelector(%q); e.focus(); e.select?.(); }", selector), nil)
	tab.Do("Input.insertText", map[string]any{"text": text}, nil)
}

// Click clicks the element of a selector with the mouse.
func (tab *Tab) Click(selector string) {
	tab.t.Helper()
	var at struct{ X, Y float64 }
	tab.Eval(fmt.Sprintf(`(() => { const e = document.querySelector(%q); e.scrollIntoView({block: "center", behavior: "instant"});
		const r = e.getBoundingClientRect(); return {x: r.x + r.width / 2, y: r.y + r.height / 2}; })()`, selector), &at)
	for _, kind := range []string{"mousePressed", "mouseReleased"} {
		tab.Do("Input.dispatchMouseEvent", map[string]any{"type": kind, "x": at.X, "y": at.Y, "button": "left", "clickCount": 1}, nil)
	}
}

// Press presses a key, such as Tab or Enter.
func (tab *Tab) Press(key string) {
	tab.t.Helper()
	codes := map[string]int{"Tab": 9, "Enter": 13, " ": 32, "Escape": 27}
	down := map[string]any{"type": "keyDown", "key": key, "windowsVirtualKeyCode": codes[key]}
	if key == "Enter" {
		down["text"] = "\r"
	} else if key == " " {
		down["text"] = " "
	}
	tab.Do("Input.dispatchKeyEvent", down, nil)
	tab.Do("Input.dispatchKeyEvent", map[string]any{"type": "keyUp", "key": key, "windowsVirtualKeyCode": codes[key]}, nil)
}

// Screenshot writes a picture of the whole page.
func (tab *Tab) Screenshot(path string) {
	tab.t.Helper()
	var shot struct{ Data string }
	tab.Do("Page.captureScreenshot", map[string]any{"captureBeyondViewport": true}, &shot)
	png, err := base64.StdEncoding.DecodeString(shot.Data)
	if err == nil {
		err = os.WriteFile(path, png, 0o644)
	}
	if err != nil {
		tab.t.Fatal(err)
	}
}

// Foreign returns the requests to other places than origin.
func (tab *Tab) Foreign(origin string) []string {
	tab.mu.Lock()
	defer tab.mu.Unlock()
	var list []string
	for _, url := range tab.requests {
		// The icon of a date field has a data URL.
		if !strings.HasPrefix(url, origin+"/") && !strings.HasPrefix(url, "about:") && !strings.HasPrefix(url, "data:") {
			list = append(list, url)
		}
	}
	return list
}

// Problems returns errors of scripts, and what the content security policy refused.
func (tab *Tab) Problems() []string {
	tab.mu.Lock()
	defer tab.mu.Unlock()
	return append([]string(nil), tab.problems...)
}

// Dialogs returns the messages of the dialogs that were opened.
func (tab *Tab) Dialogs() []string {
	tab.mu.Lock()
	defer tab.mu.Unlock()
	return append([]string(nil), tab.dialogs...)
}
