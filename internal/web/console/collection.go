package console

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"keepsake/client"
)

// collectionsData is a page of the list of collections.
type collectionsData struct {
	Collections []client.Collection
	Pages       pages
}

func listCollections(v *visit) response {
	page, err := v.api().ListCollections(v.Context(), client.CollectionQuery{Limit: 50, Cursor: v.URL.Query().Get("cursor")})
	if err != nil {
		return v.fail(err)
	}
	return show(collectionsPage(collectionsData{Collections: page.Items, Pages: v.pages("/console/collections", nil, page.NextCursor)}))
}

// openCollection opens a collection by its name, which need not have documents yet.
func openCollection(v *visit) response {
	name := strings.TrimSpace(v.form.Get("collection"))
	if name == "" {
		return redirect("/console/collections")
	}
	return redirect(collectionPath(name))
}

func collectionPath(name string) string { return "/console/collections/" + url.PathEscape(name) }

// collectionLabels are the settings of a collection, with their names in the form.
var collectionLabels = []choice{{"language", "Language"}, {"synonyms", "Synonyms"}, {"fields", "Fields"}}

var collectionFields = valuesOf(collectionLabels)

// collectionForm is the form of the settings of a collection.
type collectionForm struct {
	recordForm
	Collection client.Collection
	Languages  []client.Language
	Query      string   // of the preview
	Preview    *preview // nil: nothing was searched
}

// preview shows how the settings of the form change a search.
type preview struct {
	Now     []client.Result
	Then    []PreviewResult
	Message string // why there is none
}

// PreviewResult is a document that a search with other settings finds.
type PreviewResult struct{ ID, Title string }

// moved says where a document was found before.
func (p *preview) moved(i int) string {
	before := slices.IndexFunc(p.Now, func(r client.Result) bool { return r.ID == p.Then[i].ID })
	switch {
	case before < 0:
		return "new"
	case before == i:
		return ""
	default:
		return "was " + strconv.Itoa(before+1)
	}
}

// collectionValues are the settings as they stand in the form.
func collectionValues(c *client.Collection) map[string]string {
	var rows, fields []string
	for _, row := range c.Synonyms {
		rows = append(rows, row.String())
	}
	for _, name := range slices.Sorted(maps.Keys(c.Fields)) {
		fields = append(fields, name+" = "+strconv.FormatFloat(c.Fields[name], 'g', -1, 64))
	}
	return map[string]string{
		"language": orEmpty(c.Language), "synonyms": strings.Join(rows, "\n"), "fields": strings.Join(fields, "\n"),
	}
}

// settings reads the settings of the form.
func (f *collectionForm) settings() (s client.CollectionSettings, err error) {
	if code := f.Values["language"]; code != "" {
		s.Language = &code
	}
	for _, row := range linesOf(f.Values["synonyms"]) {
		s.Synonyms = append(s.Synonyms, client.ParseSynonym(row))
	}
	for _, line := range linesOf(f.Values["fields"]) {
		name, weight, _ := strings.Cut(line, "=")
		value, err := strconv.ParseFloat(strings.TrimSpace(weight), 64)
		if err != nil {
			return s, wrongField("fields", "Write a field and its weight on each line, such as title = 3.")
		}
		if s.Fields == nil {
			s.Fields = map[string]float64{}
		}
		s.Fields[strings.TrimSpace(name)] = value
	}
	return s, nil
}

// collectionNamed reads a collection. One without documents and settings is new.
func collectionNamed(v *visit, name string) (*client.Collection, error) {
	c, err := v.api().Collection(v.Context(), name)
	if e, ok := errors.AsType[*client.Error](err); ok && e.Status == http.StatusNotFound {
		return &client.Collection{Collection: name}, nil
	}
	return c, err
}

func languagesOf(v *visit) (list []client.Language, err error) {
	for l, err := range v.api().EachLanguage(v.Context(), client.LanguageQuery{}) {
		if err != nil {
			return nil, err
		}
		list = append(list, l)
	}
	return list, nil
}

// collectionForm returns the form of a collection as it is stored, or as it was sent.
func collectionFormOf(v *visit, sent bool) (*collectionForm, error) {
	stored, err := collectionNamed(v, v.PathValue("collection"))
	if err != nil {
		return nil, err
	}
	f := &collectionForm{Collection: *stored}
	if f.Languages, err = languagesOf(v); err != nil {
		return nil, err
	}
	if sent {
		f.recordForm = sentRecord(v, collectionFields)
		f.Revision, _ = strconv.ParseInt(v.form.Get("revision"), 10, 64)
		f.Query = strings.TrimSpace(v.form.Get("q"))
	} else {
		f.recordForm = recordForm{formState: newForm(), Values: collectionValues(stored), Revision: stored.Revision}
	}
	return f, nil
}

func showCollection(v *visit) response {
	form, err := collectionFormOf(v, false)
	if err != nil {
		return v.fail(err)
	}
	return show(collectionPage(*form))
}

// changeCollection replaces the settings, if they are those which the form has shown.
func changeCollection(v *visit) response {
	form, err := collectionFormOf(v, true)
	if err != nil {
		return v.fail(err)
	}
	settings, err := form.settings()
	if err == nil {
		revision := &form.Revision
		if form.Collection.Documents == 0 && form.Collection.UpdatedAt == nil {
			revision = nil // it does not exist
		}
		_, err = v.api().PutCollection(v.Context(), form.Collection.Collection, revision, settings)
	}
	switch {
	case err == nil:
		return done(collectionPath(form.Collection.Collection), "saved")
	case isConflict(err):
		form.collide(collectionValues(&form.Collection), form.Collection.Revision, collectionLabels)
	case !form.refuseRecord(v, err, collectionFields):
		return v.fail(err)
	}
	return refused(err, collectionPage(*form))
}

// previewCollection searches with the stored settings, and with those of the form.
func previewCollection(v *visit) response {
	form, err := collectionFormOf(v, true)
	if err != nil {
		return v.fail(err)
	}
	if form.Query != "" {
		if form.Preview, err = previewOf(v, form); err != nil {
			return v.fail(err)
		}
	}
	if v.isFragment() {
		return show(previewResults(*form))
	}
	return show(collectionPage(*form))
}

// previewLimit is how many documents a preview shows.
const previewLimit = 10

func previewOf(v *visit, form *collectionForm) (*preview, error) {
	name := form.Collection.Collection
	found, err := v.api().Search(v.Context(), client.Query{Q: form.Query, Collection: name, Limit: new(previewLimit)})
	if e, ok := errors.AsType[*client.Error](err); ok && e.Status < http.StatusInternalServerError {
		return &preview{Message: e.Error()}, nil
	}
	if err != nil {
		return nil, err
	}
	p := &preview{Now: found.Results}
	settings, err := form.settings()
	if err == nil {
		p.Then, err = v.c.o.Preview(v.Context(), PreviewRequest{v.user.Workspace.ID, name, form.Query, previewLimit, settings})
	}
	if err != nil {
		p.Message = err.Error()
	}
	return p, nil
}

// PreviewRequest is a search with settings that are not stored.
type PreviewRequest struct {
	WorkspaceID string
	Collection  string
	Query       string
	Limit       int
	Settings    client.CollectionSettings
}

// Previewer runs such a search. It returns an error for people if the settings are invalid.
type Previewer func(ctx context.Context, r PreviewRequest) ([]PreviewResult, error)

func deleteCollectionForm(v *visit) response {
	c, err := v.api().Collection(v.Context(), v.PathValue("collection"))
	if err != nil {
		return v.fail(err)
	}
	return show(deleteCollectionPage(*c))
}

func deleteCollection(v *visit) response {
	if err := v.api().DeleteCollection(v.Context(), v.PathValue("collection"), nil); err != nil {
		return v.fail(err)
	}
	return done("/console/collections", "deleted")
}

// settingsText says in a few words what is set for a collection.
func settingsText(c *client.Collection) string {
	var list []string
	if c.Language != nil {
		list = append(list, "language "+*c.Language)
	}
	if n := len(c.Synonyms); n > 0 {
		list = append(list, plural(int64(n), "row")+" of synonyms")
	}
	if n := len(c.Fields); n > 0 {
		list = append(list, plural(int64(n), "field"))
	}
	if list == nil {
		return "default"
	}
	return strings.Join(list, ", ")
}

// languageChoices are the languages of the form.
func languageChoices(languages []client.Language) []choice {
	list := []choice{{"", "That of each document's words"}}
	for _, l := range languages {
		list = append(list, choice{l.Language, fmt.Sprintf("%s (%s)", l.Name, l.Language)})
	}
	return list
}
