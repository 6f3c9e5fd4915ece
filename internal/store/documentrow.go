package store

import (
	"time"

	"keepsake/internal/search/document"
)

// documentColumns are read by scanDocument.
const documentColumns = `d.id, d.collection, d.title, d.text, d.url, d.tags, d.metadata, d.created_at, d.updated_at, d.revision, d.change, d.language`

// briefColumns are documentColumns without title, text, URL and tags.
const briefColumns = `d.id, d.collection, '', '', '', '[]', d.metadata, d.created_at, d.updated_at, d.revision, d.change, d.language`

// buriedColumns are documentColumns of a row b of document_tombstone.
const buriedColumns = `b.id, '', '', '', '', '[]', '{}', CAST(0 AS BIGINT), CAST(0 AS BIGINT), CAST(0 AS BIGINT), b.change, ''`

// settingsColumns are documentColumns of a row c of collection whose settings were changed.
const settingsColumns = `'', c.name, '', '', '', '[]', '{}', CAST(0 AS BIGINT), CAST(0 AS BIGINT), CAST(0 AS BIGINT), c.change, ''`

// documentBytes is the size of a document as the triggers of the table count it.
const documentBytes = `octet_length(d.id) + octet_length(d.collection) + octet_length(d.title) + octet_length(d.text) + octet_length(d.url) ` +
	`+ octet_length(d.tags) + octet_length(d.metadata) + octet_length(d.language)`

// documentValues are the values of a document that its row contains in another form.
type documentValues struct {
	tags, metadata string
	bytes          int64 // what documentBytes will be
}

func documentValuesOf(d *document.Document) (v documentValues, err error) {
	if v.tags, err = listText(d.Tags); err != nil {
		return v, err
	}
	if v.metadata, err = metadataText(d.Metadata); err != nil {
		return v, err
	}
	v.bytes = int64(len(d.ID) + len(d.Collection) + len(d.Title) + len(d.Text) + len(d.URL) + len(v.tags) + len(v.metadata) + len(d.Language))
	return v, nil
}

// scanDocument reads documentColumns.
func scanDocument(row Row) (document.Document, error) {
	var d document.Document
	var tags, metadata string
	var created, updated int64
	err := row.Scan(&d.ID, &d.Collection, &d.Title, &d.Text, &d.URL, &tags, &metadata, &created, &updated, &d.Revision, &d.Change, &d.Language)
	if err != nil {
		return d, err
	}
	d.CreatedAt, d.UpdatedAt = documentTimeOf(created), documentTimeOf(updated)
	if d.Tags, err = listOf(tags); err != nil {
		return d, err
	}
	d.Metadata, err = metadataOf(metadata)
	return d, err
}

// documentTime is a time of a document as its row contains it: in milliseconds, which document.Service rounds to.
func documentTime(t time.Time) int64 { return t.UnixMilli() }

// documentTimeOf reads what documentTime wrote.
func documentTimeOf(ms int64) time.Time { return time.UnixMilli(ms).UTC() }
