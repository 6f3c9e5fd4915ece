package v1

import (
	"context"

	"keepsake/internal/base/page"
	"keepsake/internal/base/problem"
	"keepsake/internal/base/wire"
	"keepsake/internal/govern/auth"
	"keepsake/internal/search/collection"
	"keepsake/internal/web/endpoint"
)

// AddCollections declares the operations on collections and their settings.
func AddCollections(r *endpoint.Registry, collections *collection.Service, cursors *page.Sealer) {
	op := func(id, method, path, summary string, scope auth.Scopes, errors ...string) endpoint.Operation {
		return endpoint.Operation{
			ID: id, Method: method, Path: "/collections" + path, Since: 1, Tag: "collections", Summary: summary,
			Credentials: endpoint.Key | endpoint.Bearer, Scope: scope, Status: 200, Errors: errors,
		}
	}

	list := op("listCollections", "GET", "", "List the collections, by name", auth.Read)
	list.Description = "The list contains the collections that have documents, and those that have settings."
	endpoint.Add(r, list, func(ctx context.Context, in *listCollections) (*collectionList, error) {
		workspaceID := auth.From(ctx).WorkspaceID
		found, next, err := readAhead(in.pageQuery, cursors, page.Scope(workspaceID, "listCollections"), func(after *idPosition, limit int) ([]collection.Collection, error) {
			if after == nil {
				after = &idPosition{}
			}
			return collections.List(ctx, workspaceID, after.ID, limit)
		}, func(c collection.Collection) idPosition { return idPosition{c.Name} })
		if err != nil {
			return nil, err
		}
		out := &collectionList{}
		out.Body.Items, out.Body.NextCursor = views(found, func(c collection.Collection) collectionView { return viewOfCollection(&c) }), next
		return out, nil
	})

	get := op("getCollection", "GET", "/{collection}", "Get a collection and its settings", auth.Read, problem.CodeNotFound)
	get.Description = "A collection without settings has the default ones. ETag is the revision of the settings: the number of documents changes without it."
	endpoint.Add(r, get, func(ctx context.Context, in *getCollection) (*oneCollection, error) {
		return answerCollection(collections.Collection(ctx, auth.From(ctx).WorkspaceID, in.Collection))
	})

	put := op("putCollection", "PUT", "/{collection}", "Replace the settings of a collection", auth.Write,
		problem.CodeLimitReached, problem.CodeRevisionMismatch)
	put.Description = "What is omitted gets its default. Synonyms and weights apply to the next search. A language, and fields that " +
		"were not searched before, apply once the documents are indexed again, which begins at once; until then, searches use the " +
		"index as it is. The collection need not have documents. With If-None-Match: *, settings are created and not replaced."
	endpoint.Add(r, put, func(ctx context.Context, in *putCollection) (*oneCollection, error) {
		settings, err := in.Body.settings()
		if err != nil {
			return nil, err
		}
		return answerCollection(collections.Put(ctx, auth.From(ctx), in.Collection, settings, collection.Condition{
			Exists: in.IfMatch.Any, Revision: in.IfMatch.Revisions(),
			Absent: in.IfNoneMatch.Any, NotRevision: in.IfNoneMatch.Revisions,
		}))
	})

	remove := op("deleteCollection", "DELETE", "/{collection}", "Remove the settings of a collection", auth.Write,
		problem.CodeNotFound, problem.CodeRevisionMismatch)
	remove.Description = "The documents of the collection stay, and are searched with the default settings. To delete them, use POST /documents/delete."
	remove.Status = 204
	endpoint.Add(r, remove, func(ctx context.Context, in *deleteCollection) (*struct{}, error) {
		// `If-Match: *` only requires what the 404 checks anyway.
		err := collections.Delete(ctx, auth.From(ctx), in.Collection, collection.Condition{Revision: in.IfMatch.Revisions()})
		if err != nil {
			return nil, err
		}
		return &struct{}{}, nil
	})
}

type listCollections struct{ pageQuery }

type getCollection struct {
	Collection string `path:"collection" doc:"The name of the collection."`
}

type deleteCollection struct {
	Collection string           `path:"collection" doc:"The name of the collection."`
	IfMatch    endpoint.IfMatch `header:"If-Match"`
}

type putCollection struct {
	Collection  string               `path:"collection" doc:"The name of the collection, which the client chooses: at most 128 characters."`
	IfMatch     endpoint.IfMatch     `header:"If-Match"`
	IfNoneMatch endpoint.IfNoneMatch `header:"If-None-Match" doc:"With *, existing settings are not replaced and the request is refused with 412."`
	Body        collectionSettings
}

// collectionSettings are what a client sets.
type collectionSettings struct {
	Language *string            `json:"language" minLength:"1" doc:"The language of documents that have none of their own, as a code that GET /api/v1/languages lists. Without one, the words of each document decide." example:"de"`
	Synonyms wire.Value         `json:"synonyms" required:"false" doc:"A list of at most 1,000 rows. A row is an array of 2 to 10 words, each of which also finds the others; an object with from, a word, and to, an array of 1 to 10 words that it also finds; or \"english\" for the program's own list of related English words. A word has at most 128 characters, and can consist of several words, which are then a phrase. The string \"english\" in place of a list stands for that row alone, and null for none." example:"[[\"sofa\", \"couch\"], {\"from\": \"tv\", \"to\": [\"television\"]}]"`
	Fields   map[string]float64 `json:"fields" required:"false" doc:"The fields that are searched, with their weights, which are greater than 0 and at most 100: title, text, and at most 8 entries of metadata by names such as metadata.author. A word in a field of twice the weight counts twice. Without fields, title is searched with a weight of 2.5 and text with 1." example:"{\"title\": 3, \"text\": 1, \"metadata.author\": 2}"`
}

func (b *collectionSettings) settings() (s collection.Settings, err error) {
	if b.Language != nil {
		s.Language = *b.Language
	}
	s.Fields = b.Fields
	s.Synonyms, err = synonymsOf(b.Synonyms)
	return s, err
}

type collectionList struct {
	Body struct {
		Items      endpoint.Sequence[collectionView] `json:"items"`
		NextCursor *string                           `json:"nextCursor"`
	}
}

type oneCollection struct {
	ETag string `header:"ETag"`
	Body collectionView
}

type collectionView struct {
	Collection string              `json:"collection" doc:"The name of the collection." example:"handbook"`
	Documents  int64               `json:"documents" doc:"The number of documents in the collection."`
	Language   *string             `json:"language" doc:"The language of documents that have none of their own. It is null if the words of each document decide." example:"de"`
	Synonyms   []wire.Value        `json:"synonyms" doc:"The rows of synonyms: arrays of words that find each other, objects with from and to, and \"english\" for the program's own list. It is empty if there are none."`
	Fields     *map[string]float64 `json:"fields" doc:"The fields that are searched, with their weights. It is null if they were not set: then title is searched with a weight of 2.5 and text with 1."`
	UpdatedAt  *wire.Time          `json:"updatedAt" doc:"The time of the last change of the settings. It is null if the collection has no settings."`
	Revision   int64               `json:"revision" doc:"The revision of the settings, which also grows when they are removed. It is 0 if there never were any. ETag and If-Match have it in quotes."`
}

func viewOfCollection(c *collection.Collection) collectionView {
	v := collectionView{
		Collection: c.Name, Documents: c.Documents, Synonyms: []wire.Value{}, UpdatedAt: wire.AtOrNull(c.UpdatedAt), Revision: c.Revision,
	}
	if c.Settings != nil {
		if v.Language = textOrNull(c.Settings.Language); c.Settings.Fields != nil {
			v.Fields = &c.Settings.Fields
		}
		for i := range c.Settings.Synonyms {
			v.Synonyms = append(v.Synonyms, viewOfSynonym(&c.Settings.Synonyms[i]))
		}
	}
	return v
}

func answerCollection(c *collection.Collection, err error) (*oneCollection, error) {
	if err != nil {
		return nil, err
	}
	return &oneCollection{ETag: endpoint.ETag(c.Revision), Body: viewOfCollection(c)}, nil
}
