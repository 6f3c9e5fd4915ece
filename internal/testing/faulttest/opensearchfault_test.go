package faulttest

import (
	"testing"

	"keepsake/internal/testing/await"
	"keepsake/internal/testing/enginetest"
	"keepsake/internal/testing/testtier"
)

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
	node.Start(t, "cluster.routing.allocation.disk.threshold_enabled=false")
	o.finds("when it is back", append(want, "meanwhile")...)
}
