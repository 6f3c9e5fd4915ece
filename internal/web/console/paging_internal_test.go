package console

import (
	"net/url"
	"slices"
	"strconv"
	"testing"
)

// labels are the labels of the ways from a page.
func labels(p pages) []string {
	var list []string
	for _, w := range p.ways() {
		list = append(list, w.Label)
	}
	return list
}

func TestPagesLeadForwardAndBack(t *testing.T) {
	t.Parallel()
	const last = 30
	filter := url.Values{"state": {"active"}, "kind": {""}}
	cursorOf := func(number int) string { // of a page; the first has none
		if number == 1 {
			return ""
		}
		return "c" + strconv.Itoa(number)
	}
	around := func(number int, parameters url.Values) pages {
		if parameters.Get("cursor") != cursorOf(number) || parameters.Get("state") != "active" || parameters.Has("kind") {
			t.Fatalf("page %d has the parameters %v", number, parameters)
		}
		var next *string
		if number < last {
			next = new(cursorOf(number + 1))
		}
		return pagesAround("/list", filter, parameters.Get("cursor"), parameters["back"], next)
	}
	p := around(1, url.Values{"state": {"active"}})
	if got := labels(p); !slices.Equal(got, []string{"Next page"}) {
		t.Errorf("the first page leads to %q", got)
	}
	for number := 2; number <= last; number++ {
		p = around(number, p.Next)
		want := []string{"First page", "Previous page", "Next page"}
		if number == 2 {
			want = want[1:] // the page before is the first
		}
		if number == last {
			want = want[:2]
		}
		if got := labels(p); !slices.Equal(got, want) {
			t.Errorf("page %d leads to %q, want %q", number, got, want)
		}
		if p.First != nil && p.address(p.First) != "/list?state=active" {
			t.Errorf("from page %d the first is %s", number, p.address(p.First))
		}
	}
	number := last
	for ; p.Previous != nil; number-- {
		p = around(number-1, p.Previous)
	}
	if number != last-maxBack {
		t.Errorf("going back ended at page %d, want %d", number, last-maxBack)
	}
	if got := labels(p); !slices.Equal(got, []string{"First page", "Next page"}) {
		t.Errorf("page %d leads to %q", number, got)
	}
}

func TestAListOfOnePageHasNoLinks(t *testing.T) {
	t.Parallel()
	if p := pagesAround("/list", nil, "", nil, nil); len(p.ways()) > 0 || p.address(nil) != "/list" {
		t.Errorf("got %+v", p)
	}
}
