package faulttest

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"keepsake/internal/testing/await"
	"keepsake/internal/testing/programtest"
	"keepsake/internal/testing/testtier"
)

// memoryGroup is a control group with a memory limit.
type memoryGroup struct {
	dir    string
	events string // the file that counts kills
}

// newMemoryGroup makes one. The test is skipped if it cannot.
func newMemoryGroup(t *testing.T, limit int) *memoryGroup {
	t.Helper()
	var problems []string
	for _, version := range []struct{ root, limit, events string }{
		{"/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.oom_control"},
		{"/sys/fs/cgroup", "memory.max", "memory.events"},
	} {
		dir, err := os.MkdirTemp(version.root, "keepsake-test-")
		if err != nil {
			problems = append(problems, err.Error())
			continue
		}
		t.Cleanup(func() {
			if err := os.Remove(dir); err != nil { // the processes in it have ended
				t.Errorf("remove a control group: %v", err)
			}
		})
		if err := os.WriteFile(filepath.Join(dir, version.limit), []byte(strconv.Itoa(limit)), 0o600); err != nil {
			problems = append(problems, err.Error())
			continue
		}
		return &memoryGroup{dir, filepath.Join(dir, version.events)}
	}
	testtier.Missing(t, "control groups that this user can make ("+strings.Join(problems, "; ")+")")
	return nil
}

// enter runs the program in the group.
func (g *memoryGroup) enter() programtest.Option {
	return programtest.Through("sh", "-c", `echo $$ > "`+g.dir+`/cgroup.procs" && exec "$@"`, "sh")
}

// kills is how many processes the kernel has killed in the group for want of memory.
func (g *memoryGroup) kills(t *testing.T) int {
	t.Helper()
	text, err := os.ReadFile(g.events)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		var n int
		if _, err := fmt.Sscanf(line, "oom_kill %d", &n); err == nil {
			return n
		}
	}
	t.Fatalf("%s does not count kills: %s", g.events, text)
	return 0
}

// folderOnDisk returns a folder that is not in memory, which the kernel would count as the process's.
func folderOnDisk(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/var/tmp", "keepsake-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// TestAContainersMemoryIsNotOverrun holds T41: under a limit of 256 MiB many large bodies at once are refused until there is
// room, and nothing is killed. Then all works as before.
func TestAContainersMemoryIsNotOverrun(t *testing.T) {
	t.Parallel()
	testtier.Long(t, "sends hundreds of megabytes")
	group := newMemoryGroup(t, 128<<20)
	s := start(t, folderOnDisk(t), "", group.enter())
	batch := batchOf(7 << 20)
	var lines []byte
	for i := range 800 { // equal ones would be one document
		lines = fmt.Appendf(lines, `{"title":"many %d","text":"%s"}`+"\n", i, strings.Repeat("many words in here ", 500))
	}
	long := []byte(`{"title":"long","text":"` + strings.Repeat("many words in here ", 13_000) + `"}`)
	for range 2 {
		for _, load := range []struct {
			n           int
			path, media string
			body        []byte
			done        int
		}{
			{32, batchPath, "application/json", batch, http.StatusOK},
			{300, "/api/v1/documents", "application/json", long, http.StatusCreated},
			{32, "/api/v1/documents/import", "application/x-ndjson", lines, http.StatusOK},
		} {
			got := s.crowd(t, load.n, load.path, load.media, load.body)
			if group.kills(t) > 0 || s.Ended() {
				t.Fatalf("%d × %s of %d bytes: the process was killed", load.n, load.path, len(load.body))
			}
			if got[load.done] == 0 || got[http.StatusServiceUnavailable] == 0 || got[load.done]+got[http.StatusServiceUnavailable]+got[0] != load.n {
				t.Errorf("%d × %s of %d bytes: %v, want %d and 503", load.n, load.path, len(load.body), got, load.done)
			}
			s.Must(http.StatusOK, http.MethodGet, "/api/v1/health", nil)
		}
	}
	s.Must(http.StatusOK, http.MethodPost, "/api/v1/memories/recall", map[string]string{"subjectId": "person-1", "query": "word"})
	s.Must(http.StatusCreated, http.MethodPost, "/api/v1/documents", map[string]string{"title": "a lighthouse"})
	await.Until(t, "a search finds the last document", func() bool { // the index follows
		status, text, err := s.Do(t.Context(), http.MethodGet, "/api/v1/search?q=lighthouse", nil)
		return err == nil && status == http.StatusOK && strings.Contains(string(text), "lighthouse")
	})
	if status, _, err := s.post(batchPath, "application/json", batch); status != http.StatusOK {
		t.Errorf("a large body afterwards: %d, %v", status, err)
	}
	s.MustLive()
	s.Kill()
	if n := group.kills(t); n != 0 {
		t.Errorf("the kernel killed %d processes", n)
	}
}
