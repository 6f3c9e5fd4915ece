package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/url"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	keepsake "keepsake/client"
)

// Sizes of the measurement.
const (
	loadClients   = 20
	loadDocuments = 10_000
	perFigure     = 600 // requests
)

// usual are the requests that are measured.
var usual = []struct{ name, path string }{
	{"health", "/api/v1/health"},
	{"search, a rare word", searchFor("w4321")},
	{"search, two frequent words", searchFor("harbour lantern")},
}

// loads are what the clients of the other workspace send. Each of its documents is one repeated word.
var loads = []struct{ name, path string }{
	{"alone", ""},
	{"a phrase of 32 words", searchFor(`"` + strings.Repeat("a ", 31) + `a"`)},
	{"29 phrases", searchFor(strings.Repeat(`"a a a" `, 29))},
	{"an unfinished word", searchFor("a") + "&prefix=true"},
	{"a word, limit=100", searchFor("a") + "&limit=100"},
	{"an import", importing},
}

// importing stands for an import without an end in place of searches.
const importing = "import"

func searchFor(q string) string { return "/api/v1/search?q=" + url.QueryEscape(q) }

// measureNeighbour measures the requests of one workspace: alone, while twenty clients of another one send expensive searches
// without a pause, and while another one imports documents. The program and all clients share the cores. The times are those of
// the program's log: from the arrival of a request to the end of its response.
func measureNeighbour(_ contest, dir string, builds []string) error {
	for i, path := range builds {
		times, err := neighbour(path, filepath.Join(dir, strconv.Itoa(i)))
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		fmt.Printf("\nms in the program, %d requests each, beside %d clients of another workspace or an import\n", perFigure, loadClients)
		for _, u := range usual {
			alone := times[u.name+loads[0].name]
			for _, l := range loads {
				took := times[u.name+l.name]
				fmt.Printf("%28s %24s  median %6.2f  p99 %7.2f  %.1f x and %.1f x alone\n", u.name, l.name,
					at(took, .5), at(took, .99), at(took, .5)/at(alone, .5), at(took, .99)/at(alone, .99))
			}
		}
	}
	return nil
}

// at returns a quantile of sorted times.
func at(sorted []float64, share float64) float64 { return sorted[int(share*float64(len(sorted)-1))] }

// neighbour returns the sorted times in ms, by the names of the request and of the load.
func neighbour(path, dir string) (map[string][]float64, error) {
	p, err := startOn(exec.Command, path, dir, "KEEPSAKE_LOG_REQUESTS=true")
	if err != nil {
		return nil, err
	}
	defer p.stop()
	random := rand.New(rand.NewPCG(1, 2))
	load, err := p.tenant("load", loadDocuments, func() string { return strings.Repeat("a ", 200) })
	if err != nil {
		return nil, err
	}
	mine, err := p.tenant("neighbour", documents, func() string { return sentence(random, 80) })
	if err != nil {
		return nil, err
	}
	for _, l := range loads {
		if err := p.beside(l.path, load.Key, mine.Key); err != nil {
			return nil, fmt.Errorf("beside %s: %w", l.name, err)
		}
	}
	p.stop() // the log is complete
	logged, err := logged(p.said.Bytes(), mine.ID)
	if err != nil {
		return nil, err
	}
	// The log begins with the requests of tenant.
	logged = logged[max(0, len(logged)-len(loads)*len(usual)*perFigure):]
	times := map[string][]float64{}
	for _, l := range loads {
		for _, u := range usual {
			if len(logged) < perFigure {
				return nil, errors.New("requests are missing from the log")
			}
			took := logged[:perFigure]
			logged = logged[perFigure:]
			slices.Sort(took)
			times[u.name+l.name] = took
		}
	}
	return times, nil
}

// tenant creates a workspace with documents and returns a key of it.
func (p *program) tenant(name string, count int, text func() string) (*keepsake.CreatedAPIKey, error) {
	ctx := context.Background()
	workspace, err := p.client.CreateWorkspace(ctx, keepsake.NewWorkspace{Name: name, Tier: "unlimited"})
	if err != nil {
		return nil, err
	}
	key, err := p.client.CreateAPIKey(ctx, keepsake.NewAPIKey{Name: name, Scopes: []string{"read", "write"}, WorkspaceID: workspace.ID})
	if err != nil {
		return nil, err
	}
	c, err := keepsake.New("http://"+p.address, key.Key)
	if err != nil {
		return nil, err
	}
	lines, err := linesOf(count, text)
	if err != nil {
		return nil, err
	}
	if done, err := c.ImportDocuments(ctx, bytes.NewReader(lines), nil); err != nil || done.Failed > 0 {
		return nil, fmt.Errorf("import documents: %v, %w", done, err)
	}
	_, err = c.Search(ctx, keepsake.Query{Q: "t"}) // waits until all of them are indexed
	return key, err
}

// linesOf returns the body of an import.
func linesOf(count int, text func() string) ([]byte, error) {
	var lines bytes.Buffer
	for range count {
		line, err := json.Marshal(map[string]string{"title": "t", "text": text()})
		if err != nil {
			return nil, err
		}
		lines.Write(append(line, '\n'))
	}
	return lines.Bytes(), nil
}

// importDocuments imports the same documents with new IDs again and again until stopped, and counts them.
func (p *program) importDocuments(key string, stopped *atomic.Bool, imported *atomic.Int64) error {
	c, err := keepsake.New("http://"+p.address, key)
	if err != nil {
		return err
	}
	random := rand.New(rand.NewPCG(3, 4))
	lines, err := linesOf(loadDocuments, func() string { return sentence(random, 80) })
	if err != nil {
		return err
	}
	for !stopped.Load() {
		done, err := c.ImportDocuments(context.Background(), bytes.NewReader(lines), nil)
		if err != nil {
			return err
		}
		imported.Add(done.Created)
	}
	return nil
}

// beside sends the usual requests one after the other while other clients send a load. An empty load is none.
func (p *program) beside(load, loadKey, key string) error {
	var stopped atomic.Bool
	var answered atomic.Int64
	began := time.Now()
	var running sync.WaitGroup
	failures := make(chan error, loadClients)
	if load == importing {
		running.Go(func() {
			if err := p.importDocuments(loadKey, &stopped, &answered); err != nil {
				failures <- err
			}
		})
	}
	for range loadClients {
		if load == "" || load == importing {
			break
		}
		c, err := dial(p.address, request("GET", load, "", "X-API-Key: "+loadKey))
		if err != nil {
			return err
		}
		defer c.conn.Close()
		running.Go(func() {
			for !stopped.Load() {
				if c.exchange() != nil {
					return
				}
				answered.Add(1)
			}
		})
	}
	defer running.Wait()
	defer stopped.Store(true)
	if load != "" {
		time.Sleep(500 * time.Millisecond) // all clients wait for responses then
	}
	for _, u := range usual {
		c, err := dial(p.address, request("GET", u.path, "", "X-API-Key: "+key))
		if err != nil {
			return err
		}
		defer c.conn.Close()
		for range perFigure {
			if err := c.exchange(); err != nil {
				return fmt.Errorf("%s: %w", u.name, err)
			}
		}
	}
	if load != "" {
		fmt.Printf("%.0f requests or documents/s of the load\n", float64(answered.Load())/time.Since(began).Seconds())
	}
	select {
	case err := <-failures:
		return fmt.Errorf("the load: %w", err)
	default:
		return nil
	}
}

// logged returns the times of the requests of a key, in ms, as they are in the log.
func logged(log []byte, keyID string) (times []float64, err error) {
	for line := range bytes.Lines(log) {
		var entry struct {
			Msg, Key string
			Ms       float64
		}
		if json.Unmarshal(line, &entry) == nil && entry.Msg == "request" && entry.Key == keyID {
			times = append(times, entry.Ms)
		}
	}
	if times == nil {
		err = errors.New("the log has no requests of key " + keyID)
	}
	return times, err
}
