package faulttest

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"keepsake/internal/testing/await"
	"keepsake/internal/testing/enginetest"
	"keepsake/internal/testing/testtier"
)

// The disk of the node is above its flood stage, which the node finds out by itself. The health of the cluster stays green.
func TestAFullOpenSearchIsReportedAndComesBack(t *testing.T) {
	t.Parallel()
	testtier.Long(t, "fills OpenSearch")
	c := newCluster(t, enginetest.StartOpenSearch(t).URL)
	s := start(t, t.TempDir(), "", c.settings())
	o := operatorOf(s)
	other := o.another("other")
	o.write("a")
	other.write("b")
	o.moved("opensearch")
	o.finds("before", "a")
	watermarks := func(value string) {
		t.Helper()
		var settings []string
		for _, name := range []string{"low", "high", "flood_stage"} {
			settings = append(settings, fmt.Sprintf(`"cluster.routing.allocation.disk.watermark.%s":%s`, name, value))
		}
		c.ask(t, "PUT", "/_cluster/settings", `{"persistent":{`+strings.Join(settings, ",")+`}}`)
	}
	watermarks(`"1000tb"`) // that must be free
	await.Until(t, "the node blocks writes", func() bool {
		return strings.Contains(c.ask(t, "GET", "/"+c.prefix+"*/_settings", ""), `"read_only_allow_delete":"true"`)
	})
	o.write("c")
	await.Until(t, "it is reported", func() bool {
		status, degraded := s.readiness()
		return status == "degraded" && degraded == "opensearch"
	})
	if health := c.ask(t, "GET", "/_cluster/health", ""); !strings.Contains(health, `"green"`) {
		t.Errorf("the health of the cluster is %s", health)
	}
	if text := s.metrics(); !strings.Contains(text, `keepsake_opensearch_workspaces{state="full"} 1`) {
		t.Errorf("no metric says that the disk is full")
	}
	if ids, ok := o.search(); ok {
		t.Errorf("a search that misses a document is answered with %q", ids)
	}
	other.write("d")
	other.finds("meanwhile, in another workspace", "b", "d")
	watermarks("null")
	o.finds("when there is room", "a", "c")
	await.Until(t, "it is well", func() bool {
		_, degraded := s.readiness()
		return degraded == ""
	})
}

// The node that has an index is not there.
func TestARedIndexHarmsNoOtherWorkspace(t *testing.T) {
	t.Parallel()
	testtier.Long(t, "ends a node of OpenSearch")
	nodes := enginetest.StartOpenSearchCluster(t, "cluster.routing.allocation.disk.threshold_enabled=false")
	c := newCluster(t, nodes[0].URL)
	s := start(t, t.TempDir(), "", c.settings())
	broken := operatorOf(s)
	local, good := broken.another("local"), broken.another("good")
	for _, o := range []*owner{broken, local, good} {
		o.write("a")
	}
	broken.moved("opensearch")
	good.moved("opensearch")
	keep := func(indexes, node string) { // in one copy, on this node
		t.Helper()
		c.ask(t, "PUT", "/"+indexes+"/_settings",
			`{"index.auto_expand_replicas":false,"index.number_of_replicas":0,"index.routing.allocation.require._name":"`+node+`"}`)
	}
	red := c.prefix + strings.ToLower(broken.workspace) + "*"
	keep(c.prefix+"*", "node0")
	keep(red, "node1")
	await.Until(t, "the index is on the second node", func() bool {
		return strings.Count(c.ask(t, "GET", "/_cat/shards/"+red+"?h=state,node", ""), "STARTED node1") == 2
	})
	broken.finds("before", "a")
	good.finds("before", "a")

	nodes[1].Kill()
	await.Until(t, "the index is red", func() bool {
		return strings.Contains(c.ask(t, "GET", "/_cluster/health/"+red, ""), `"red"`)
	})
	broken.write("b") // does not wait
	if ids, ok := broken.search(); ok {
		t.Errorf("a search of a red index is answered with %q", ids)
	}
	await.Until(t, "it is reported", func() bool {
		_, degraded := s.readiness()
		return degraded == "opensearch" && strings.Contains(s.metrics(), `keepsake_opensearch_workspaces{state="unavailable"} 1`)
	})
	for _, o := range []*owner{local, good} {
		o.write("b")
		o.finds("beside a red index", "a", "b")
	}
	nodes[1].Start(t)
	broken.finds("when the node is back", "a", "b")
	await.Until(t, "it is well", func() bool {
		_, degraded := s.readiness()
		return degraded == ""
	})
}

// Each request for one index takes two seconds.
func TestASlowIndexHarmsNoOtherWorkspace(t *testing.T) {
	t.Parallel()
	testtier.Long(t, "waits for a slow OpenSearch")
	c := newCluster(t, enginetest.OpenSearch(t))
	s := start(t, t.TempDir(), "", c.settings())
	slow := operatorOf(s)
	local, good := slow.another("local"), slow.another("good")
	for _, o := range []*owner{slow, local, good} {
		o.write("a")
	}
	slow.moved("opensearch")
	good.moved("opensearch")
	slow.finds("before", "a")
	good.finds("before", "a")
	delayed := atomic.Int64{}
	c.slow(func(r *http.Request) time.Duration {
		if strings.Contains(r.URL.Path, strings.ToLower(slow.workspace)) {
			delayed.Add(1)
			return 2 * time.Second
		}
		return 0
	})
	slow.write("b")
	if ids, ok := slow.search(); ok && !slices.Equal(ids, []string{"a", "b"}) {
		t.Errorf("a search of a slow index is answered with %q", ids)
	}
	if delayed.Load() == 0 {
		t.Error("no request was delayed")
	}
	for _, o := range []*owner{local, good} {
		o.write("b")
		if ids, ok := o.search(); !ok || !slices.Equal(ids, []string{"a", "b"}) {
			t.Errorf("beside a slow index: %q, %v", ids, ok)
		}
	}
	c.slow(nil)
	slow.finds("when the index is fast", "a", "b")
}

// The node is killed before it has written its log to segments.
func TestAKilledOpenSearchIs503AndComesBack(t *testing.T) {
	t.Parallel()
	testtier.Long(t, "kills OpenSearch")
	node := enginetest.StartOpenSearch(t, "cluster.routing.allocation.disk.threshold_enabled=false")
	c := newCluster(t, node.URL)
	s := start(t, t.TempDir(), "", c.settings())
	o := operatorOf(s)
	other := o.another("other")
	o.write("a")
	other.write("a")
	o.moved("opensearch")
	want := append(numbered("d", 200), "a")
	o.write(want...)
	o.remove("a")
	want = want[:200]
	o.finds("before", want...)
	node.Kill()
	if _, ok := o.search(); ok {
		t.Error("a search is answered without OpenSearch")
	}
	o.write("meanwhile") // waits for nothing
	other.write("b")
	other.finds("in another workspace", "a", "b")
	await.Until(t, "it is reported", func() bool {
		status, degraded := s.readiness()
		return status == "degraded" && degraded == "opensearch"
	})
	node.Start(t)
	o.finds("when it is back", append(want, "meanwhile")...)
}

// metrics returns what /metrics answers.
func (s *server) metrics() string {
	s.t.Helper()
	res, err := http.Get(s.BackendURL + "/metrics")
	if err != nil {
		s.t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return string(text)
}
