package main

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"time"

	keepsake "keepsake/client"
	"keepsake/internal/testing/enginetest"
	"keepsake/internal/testing/programtest"
)

// lazyDocuments is how many documents the workspaces of measureLazy have together.
var lazyDocuments int

// Sizes of measureLazy.
const (
	lazyWorkspaces = 100
	lazyCold       = 50_000 // documents of the workspace whose first search is measured
	lazyShared     = 60     // workspaces that three instances divide
)

// measureLazy measures instances that hold only the indexes that they serve, from outside and on the built program: the CPU until a new
// one is ready beside many documents, that of the first search of a workspace, and the indexes on disk when three
// instances divide the workspaces. All are on one PostgreSQL.
func measureLazy(_ contest, dir string, builds []string) (err error) {
	b := &ground{}
	defer func() {
		b.clear()
		enginetest.Stop()
		if given, ok := recover().(stopped); ok {
			err = given.error
		}
	}()
	masterKey := filepath.Join(dir, "master.key")
	b.must(os.WriteFile(masterKey, []byte("YSBrZXkgb2YgdGhpcnR5LXR3byBieXRlcyBmb3IgaXQ=\n"), 0o600))
	l := &lazy{ground: b, dir: dir, options: []programtest.Option{
		programtest.Program(builds[len(builds)-1]), programtest.Database(enginetest.Postgres(b)),
		programtest.Env("KEEPSAKE_MASTER_KEY_FILE="+masterKey, "KEEPSAKE_LOG_REQUESTS=false"),
	}}
	l.random = rand.New(rand.NewPCG(1, 2))
	first, _ := l.start("first")
	l.operator = first
	fmt.Printf("\na new instance until it is ready, CPU of the process\n")
	l.untilReady("no documents")
	cold := l.workspace("cold", lazyCold)
	var keys []string
	for i := range lazyWorkspaces {
		if i == lazyWorkspaces/4 {
			l.untilReady(fmt.Sprintf("%d documents", lazyDocuments/4+lazyCold))
		}
		keys = append(keys, l.workspace(fmt.Sprint("w", i), lazyDocuments/lazyWorkspaces))
	}
	l.untilReady(fmt.Sprintf("%d documents", lazyDocuments+lazyCold))

	one, _ := l.start("one")
	before, began := cpuOf(one.PID()), time.Now()
	total := l.search(one.URL, cold)
	fmt.Printf("\nfirst search of %d documents: found %d, %v of CPU, %v\n", lazyCold, total,
		(cpuOf(one.PID()) - before).Round(time.Millisecond), time.Since(began).Round(time.Millisecond))

	members := []*programtest.Process{}
	for i := range instances {
		m, _ := l.start(fmt.Sprint("member", i))
		members = append(members, m)
	}
	all, _ := l.start("all")
	proxy := affinity(b, dir, members)
	for _, key := range keys[:min(len(keys), lazyShared)] {
		l.search(all.URL, key)
		for range 3 {
			l.search(proxy, key)
		}
	}
	for _, p := range append(members, all) {
		p.Stop() // flushes
	}
	whole, _ := l.indexes("all")
	if whole == 0 {
		fmt.Printf("\nindexes of %d documents are too small to be on disk: use a larger -lazy\n", lazyDocuments/lazyWorkspaces)
		return nil
	}
	fmt.Printf("\nindexes on disk of %d workspaces, behind nginx with affinity: %d KB on an instance that serves all\n", lazyShared, whole>>10)
	for i := range members {
		bytes, count := l.indexes(fmt.Sprint("member", i))
		fmt.Printf("%26s  %d KB of %d workspaces, %.2f of a third\n", fmt.Sprint("one of three, number ", i+1), bytes>>10, count,
			instances*float64(bytes)/float64(whole))
	}
	return nil
}

// lazy is the environment of measureLazy.
type lazy struct {
	*ground
	dir      string
	options  []programtest.Option
	operator *programtest.Process
	random   *rand.Rand
}

// start starts an instance with a new folder, and returns its CPU time when it was ready.
func (l *lazy) start(name string) (*programtest.Process, time.Duration) {
	options := l.options
	if l.operator != nil {
		options = append(options[:len(options):len(options)], programtest.Key(l.operator.Key))
	}
	p := programtest.Start(l, filepath.Join(l.dir, name), options...)
	return p, cpuOf(p.PID())
}

// untilReady prints the CPU time of three new instances until they are ready, one after the other.
func (l *lazy) untilReady(beside string) {
	fmt.Printf("%26s ", beside)
	for i := range 3 {
		began := time.Now()
		p, cpu := l.start(fmt.Sprint("new ", beside, i))
		fmt.Printf("  %v (%v)", cpu.Round(time.Millisecond), time.Since(began).Round(10*time.Millisecond))
		p.Stop()
	}
	fmt.Println()
}

// workspace creates a workspace with documents, and returns its key.
func (l *lazy) workspace(name string, count int) (key string) {
	ctx := context.Background()
	c, err := keepsake.New(l.operator.URL, l.operator.Key)
	l.must(err)
	w, err := c.CreateWorkspace(ctx, keepsake.NewWorkspace{Name: name, Tier: "unlimited"})
	l.must(err)
	created, err := c.CreateAPIKey(ctx, keepsake.NewAPIKey{Name: name, Scopes: []string{"read", "write"}, WorkspaceID: w.ID})
	l.must(err)
	c, err = keepsake.New(l.operator.URL, created.Key)
	l.must(err)
	lines, err := linesOf(count, func() string { return strings.Map(letter, sentence(l.random, 80)) })
	l.must(err)
	done, err := c.ImportDocuments(ctx, bytes.NewReader(lines), nil)
	l.must(err)
	if done.Created != int64(count) {
		l.Fatalf("imported %+v", done)
	}
	return created.Key
}

// letter replaces a digit, so that the words are no codes, which have more terms.
func letter(r rune) rune {
	if r >= '0' && r <= '9' {
		return rune("aeioulnrst"[r-'0'])
	}
	return r
}

// search returns how many documents an instance finds for a word that all have.
func (l *lazy) search(url, key string) int64 {
	c, err := keepsake.New(url, key)
	l.must(err)
	answer, err := c.Search(context.Background(), keepsake.Query{Q: "t"})
	l.must(err)
	return answer.Total
}

// indexes returns the size of the indexes of an instance, and how many there are.
func (l *lazy) indexes(name string) (bytes int64, count int) {
	dir := filepath.Join(l.dir, name, "index")
	bytes, err := sizeOf(dir)
	l.must(err)
	folders, err := os.ReadDir(dir)
	l.must(err)
	return bytes, len(folders)
}
