package v1

import (
	"cmp"
	"context"
	"slices"

	"keepsake/internal/base/page"
	"keepsake/internal/base/text"
	"keepsake/internal/govern/auth"
	"keepsake/internal/web/endpoint"
)

// AddLanguages declares the list of languages.
func AddLanguages(r *endpoint.Registry, cursors *page.Sealer) {
	endpoint.Add(r, endpoint.Operation{
		ID: "listLanguages", Method: "GET", Path: "/languages", Since: 1, Tag: "collections", Summary: "List the languages of documents",
		Description: "A document, and the settings of a collection, can have one of these languages. It decides which words of a " +
			"document are forms of one word.",
		Credentials: endpoint.Key | endpoint.Bearer, Scope: auth.Read, Status: 200,
	}, func(ctx context.Context, in *listLanguages) (*languageList, error) {
		all := languages()
		scope := page.Scope(auth.From(ctx).WorkspaceID, "listLanguages")
		found, next, err := readAhead(in.pageQuery, cursors, scope, func(after *idPosition, limit int) ([]languageView, error) {
			first := 0
			if after != nil {
				for first < len(all) && all[first].Language <= after.ID {
					first++
				}
			}
			return all[first:min(first+limit, len(all))], nil
		}, func(l languageView) idPosition { return idPosition{l.Language} })
		if err != nil {
			return nil, err
		}
		out := &languageList{}
		out.Body.Items, out.Body.NextCursor = found, next
		return out, nil
	})
}

type listLanguages struct{ pageQuery }

type languageList struct {
	Body struct {
		Items      []languageView `json:"items"`
		NextCursor *string        `json:"nextCursor"`
	}
}

type languageView struct {
	Language string `json:"language" doc:"The code of the language in ISO 639-1. The code und stands for any language that is not in the list." example:"de"`
	Name     string `json:"name" doc:"The English name of the language." example:"German"`
	Stemmer  bool   `json:"stemmer" doc:"Whether a word finds its other forms. In languages without a stemmer, words match as they are spelled."`
}

// languages lists the languages by their codes.
func languages() []languageView {
	list := make([]languageView, 0, text.Languages)
	for l := range text.Languages {
		list = append(list, languageView{Language: l.Code(), Name: l.Name(), Stemmer: l.Stems()})
	}
	slices.SortFunc(list, func(a, b languageView) int { return cmp.Compare(a.Language, b.Language) })
	return list
}
