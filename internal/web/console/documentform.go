package console

import (
	"strconv"
	"strings"

	"keepsake/client"
)

// documentLabels are the fields of a document that people change, with their names in the form.
var documentLabels = []choice{
	{"title", "Title"},
	{"text", "Text"},
	{"collection", "Collection"},
	{"url", "URL"},
	{"tags", "Tags"},
	{"metadata", "Metadata"},
}

// documentFields are the fields of the form. Only a new document has an ID to choose.
var documentFields = append([]string{"id"}, valuesOf(documentLabels)...)

func valuesOf(choices []choice) []string {
	var list []string
	for _, c := range choices {
		list = append(list, c.Value)
	}
	return list
}

// documentForm is the form that creates or changes a document.
type documentForm struct {
	recordForm
	Document *client.Document // that is changed; nil: a new one
}

// documentValues are the fields of a document as they stand in the form.
func documentValues(d *client.Document) map[string]string {
	return map[string]string{
		"id": d.ID, "title": d.Title, "text": d.Text, "collection": d.Collection, "url": orEmpty(d.URL),
		"tags": strings.Join(d.Tags, "\n"), "metadata": metadataText(d.Metadata),
	}
}

func newDocumentForm(v *visit) response {
	if !v.can("write") {
		return v.lacks("write")
	}
	return show(documentFormPage(documentForm{recordForm: recordForm{formState: newForm()}}))
}

func createDocument(v *visit) response {
	form := documentForm{recordForm: sentRecord(v, documentFields)}
	created, err := form.create(v)
	if err != nil {
		return form.refused(v, err)
	}
	return done(documentPath(created.ID), "saved")
}

func (f *documentForm) create(v *visit) (*client.Document, error) {
	metadata, err := f.metadata()
	if err != nil {
		return nil, err
	}
	return v.api().CreateDocument(client.WithIdempotencyKey(v.Context(), f.Once), client.NewDocument{
		ID: strings.TrimSpace(f.Values["id"]), Collection: f.Values["collection"], Title: f.Values["title"], Text: f.Values["text"],
		URL: f.Values["url"], Tags: linesOf(f.Values["tags"]), Metadata: metadata,
	})
}

func changeDocumentForm(v *visit) response {
	if !v.can("write") {
		return v.lacks("write")
	}
	d, err := v.api().Document(v.Context(), v.PathValue("id"))
	if err != nil {
		return v.fail(err)
	}
	return show(documentFormPage(documentForm{recordForm{formState: newForm(), Values: documentValues(d), Revision: d.Revision}, d}))
}

// changeDocument changes the fields that differ from what is stored, if that is the revision which the form has shown.
func changeDocument(v *visit) response {
	form := documentForm{recordForm: sentRecord(v, documentFields)}
	form.Revision, _ = strconv.ParseInt(v.form.Get("revision"), 10, 64)
	stored, err := v.api().Document(v.Context(), v.PathValue("id"))
	if err != nil {
		return v.fail(err)
	}
	form.Document = stored
	change, err := form.change()
	if err == nil && stored.Revision == form.Revision && change == (client.DocumentChange{}) {
		return done(documentPath(stored.ID), "unchanged")
	}
	if err == nil {
		_, err = v.api().ChangeDocument(v.Context(), stored.ID, change, &form.Revision)
	}
	if isConflict(err) {
		return form.conflict(v, err)
	}
	if err != nil {
		return form.refused(v, err)
	}
	return done(documentPath(stored.ID), "saved")
}

// change returns what the form changes of the stored document.
func (f *documentForm) change() (change client.DocumentChange, err error) {
	stored := documentValues(f.Document)
	change = client.DocumentChange{
		Collection: f.text("collection", stored), Title: f.text("title", stored), Text: f.text("text", stored), URL: f.text("url", stored),
		Tags: f.tags(stored),
	}
	change.Metadata, err = f.metadataChange(f.Document.Metadata)
	return change, err
}

// conflict shows the form again beside what another change has stored.
func (f *documentForm) conflict(v *visit, failed error) response {
	stored, err := v.api().Document(v.Context(), f.Document.ID)
	if err != nil {
		return v.fail(err)
	}
	f.Document = stored
	f.collide(documentValues(stored), stored.Revision, documentLabels)
	if len(f.Stored) == 0 { // the other change has stored the same
		return done(documentPath(stored.ID), "saved")
	}
	return refused(failed, documentFormPage(*f))
}

func (f *documentForm) refused(v *visit, err error) response {
	if !f.refuseRecord(v, err, documentFields) {
		return v.fail(err)
	}
	return refused(err, documentFormPage(*f))
}

// newDocumentPath is not below /console/documents/, where it would hide the document with the ID new.
const newDocumentPath = "/console/new/document"
