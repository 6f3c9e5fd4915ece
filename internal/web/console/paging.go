package console

import (
	"net/url"
	"slices"
)

// pages are the ways from a page of a list to the others. The API leads forward only, so the address of a page contains the
// cursors of the pages before it.
type pages struct {
	Path                  string
	First, Previous, Next url.Values // parameters; nil: there is no such page, or another way leads to it
}

// maxBack is how many pages before a page its address contains. From a later page, the first link leads to the beginning.
const maxBack = 20

// pages returns the ways from the page that was requested. filter has the other parameters of the list, and next is the cursor
// of the next page, or nil.
func (v *visit) pages(path string, filter url.Values, next *string) pages {
	asked := v.URL.Query()
	if v.form != nil {
		asked = v.form
	}
	return pagesAround(path, filter, asked.Get("cursor"), asked["back"], next)
}

// pagesAround returns the ways from the page with a cursor, which is empty for the first page. back has the cursors of the pages
// before it.
func pagesAround(path string, filter url.Values, cursor string, back []string, next *string) pages {
	to := func(cursor string, back []string) url.Values {
		parameters := url.Values{}
		for name, values := range filter {
			if !slices.Equal(values, []string{""}) {
				parameters[name] = values
			}
		}
		if cursor != "" {
			parameters.Set("cursor", cursor)
		}
		if len(back) > 0 {
			parameters["back"] = back
		}
		return parameters
	}
	p := pages{Path: path}
	if next != nil {
		further := append(slices.Clone(back), cursor)
		p.Next = to(*next, further[max(0, len(further)-maxBack):])
	}
	if cursor == "" {
		return p
	}
	if n := len(back); n > 0 {
		p.Previous = to(back[n-1], back[:n-1])
	}
	if !slices.Equal(back, []string{""}) { // else the page before is the first
		p.First = to("", nil)
	}
	return p
}

// address returns the address of a page.
func (p pages) address(parameters url.Values) string {
	if len(parameters) == 0 {
		return p.Path
	}
	return p.Path + "?" + parameters.Encode()
}

// way is a way to another page, with its label.
type way struct {
	Label      string
	Parameters url.Values
}

// ways returns the ways that there are.
func (p pages) ways() []way {
	list := []way{{"First page", p.First}, {"Previous page", p.Previous}, {"Next page", p.Next}}
	return slices.DeleteFunc(list, func(w way) bool { return w.Parameters == nil })
}
