package console

import (
	"errors"
	"net/http"
	"slices"
	"strings"

	"keepsake/client"
)

// idNamed returns the ID of what has the typed name, regardless of case, among names by ID. A text that is an ID, or that nothing
// is named like, is returned as it is; ok reports whether it is known. If several have the name, it returns an error about field.
func idNamed(field, typed string, names map[string]string) (id string, ok bool, err error) {
	if _, known := names[typed]; known {
		return typed, true, nil
	}
	var ids []string
	for id, name := range names {
		if strings.EqualFold(name, typed) {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	switch len(ids) {
	case 0:
		return typed, false, nil
	case 1:
		return ids[0], true, nil
	default:
		return "", false, wrongField(field, "Several have the name "+typed+". Use one of their IDs: "+strings.Join(ids, ", ")+".")
	}
}

// addAllKeys adds the names of all keys by ID, to resolve what was typed. keyNames reads fewer keys, to show them. It adds nothing
// if the visitor cannot see keys.
func addAllKeys(v *visit, names map[string]string) error {
	q := client.APIKeyQuery{Limit: 200}
	for v.can("developer:manage") {
		page, err := v.api().ListAPIKeys(v.Context(), q)
		if err != nil {
			return err
		}
		for _, k := range page.Items {
			names[k.ID] = k.Name
		}
		if page.NextCursor == nil {
			break
		}
		q.Cursor = *page.NextCursor
	}
	return nil
}

// keyFilter is the start of a filter by API key.
const keyFilter = "key:"

// resolvedFilter returns the filters of a text, in which keys can have their names, such as key:nightly-sync. A name can have spaces. It
// returns an error with status 400 if no key has the ID or name.
func resolvedFilter(v *visit, filter string) ([]string, error) {
	words := strings.Fields(filter)
	if !v.can("developer:manage") || !slices.ContainsFunc(words, isKeyFilter) {
		return words, nil
	}
	names := map[string]string{}
	if err := addAllKeys(v, names); err != nil {
		return nil, err
	}
	var list []string
	for len(words) > 0 {
		start, _, _ := strings.Cut(words[0], ":")
		if !isKeyFilter(words[0]) {
			list, words = append(list, words[0]), words[1:]
			continue
		}
		n := len(words)
		for ; n > 0; n-- {
			typed := strings.TrimPrefix(strings.Join(words[:n], " "), start+":")
			id, ok, err := idNamed("filter", typed, names)
			if err != nil {
				return nil, err
			}
			if ok || typed == none {
				list = append(list, start+":"+id)
				break
			}
		}
		if n == 0 {
			_, typed, _ := strings.Cut(words[0], ":")
			return nil, wrongField("filter", "No API key has the ID or name "+typed+".")
		}
		words = words[n:]
	}
	return list, nil
}

func isKeyFilter(word string) bool {
	return strings.HasPrefix(strings.TrimPrefix(word, "-"), keyFilter)
}

// isBadRequest returns the message of an error about what the visitor has typed.
func isBadRequest(err error) (message string, ok bool) {
	e, ok := errors.AsType[*client.Error](err)
	if !ok || e.Status != http.StatusBadRequest {
		return "", false
	}
	return e.Error(), true
}
