//go:build unix

package faulttest

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"keepsake/internal/testing/enginetest"
	"keepsake/internal/testing/programtest"
	"keepsake/internal/testing/testtier"
)

// A process stands still while it stores a document. Meanwhile another one deletes it, OpenSearch forgets that, and starts again.
func TestAFollowerThatWakesBringsNothingBack(t *testing.T) {
	t.Parallel()
	testtier.Long(t, "stops a process that writes to OpenSearch")
	node := enginetest.StartOpenSearch(t, "cluster.routing.allocation.disk.threshold_enabled=false")
	c := newCluster(t, node.URL)
	postgres := enginetest.StartPostgres(t, enginetest.PostgresOptions{})
	at := programtest.Database(postgres.URL(postgres.NewDatabase(t)))
	dirs := [2]string{t.TempDir(), t.TempDir()}
	first := start(t, dirs[0], "", at, c.settings())
	o := operatorOf(first)
	o.write("a", "b")
	o.moved("opensearch")
	o.finds("before", "a", "b")
	master, err := os.ReadFile(filepath.Join(dirs[0], "master.key"))
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dirs[1], "master.key"), string(master))
	// The bulks of the first process wait in the proxy.
	waiting, released := make(chan struct{}), make(chan struct{})
	release := sync.OnceFunc(func() { close(released) })
	t.Cleanup(release)
	var once sync.Once
	c.slow(func(r *http.Request) time.Duration {
		if strings.Contains(r.URL.Path, "_bulk") && !strings.Contains(r.URL.Path, ".words") {
			held := false
			once.Do(func() { held = true })
			if held {
				close(waiting)
				<-released
			}
		}
		return 0
	})
	o.write("b", "c")
	<-waiting
	first.Signal(syscall.SIGSTOP)
	second := o.at(start(t, dirs[1], o.key, at, c.settings()))
	second.remove("b")
	second.remove("c")
	second.finds("without the process that stands still", "a")
	for _, index := range c.indexes(t) {
		c.ask(t, "PUT", "/"+index+"/_settings", `{"index.gc_deletes":"0s"}`)
		c.ask(t, "POST", "/"+index+"/_flush?force=true", "")
	}
	node.Kill()
	node.Start(t)
	second.finds("after a restart of the node", "a")
	release()
	first.Signal(syscall.SIGCONT)
	second.write("d")
	second.finds("when it is awake", "a", "d")
	o.write("e")
	for _, each := range []*owner{o, second} {
		each.finds("at the end", "a", "d", "e")
	}
}
