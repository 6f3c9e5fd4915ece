package store

import (
	"time"

	"keepsake/internal/search/document"
)

// Rows of documents are short where most documents are alike: the default collection, no tags and no metadata are an empty text,
// and the age of a document that was never replaced is 0. Only this file knows that, and the triggers that count bytes.

const (
	noTags     = `[]`
	noMetadata = `{}`
)

// documentColumns are read by scanDocument.
const documentColumns = `d.id, d.collection, d.title, d.text, d.url, d.tags, d.metadata, ` + documentCreated + `, d.updated_at, d.revision, d.change`

// briefColumns are documentColumns without title, text, URL and tags.
const briefColumns = `d.id, d.collection, '', '', '', '', d.metadata, ` + documentCreated + `, d.updated_at, d.revision, d.change`

// buriedColumns are documentColumns of a row b of document_tombstone.
const buriedColumns = `b.id, '', '', '', '', '', '', CAST(0 AS BIGINT), CAST(0 AS BIGINT), CAST(0 AS BIGINT), b.change`

// documentCreated is when a document was created, in milliseconds as updated_at.
const documentCreated = `d.updated_at - d.age`

// documentBytes is the size of a document as the triggers of the table count it: that of what the row stands for.
var documentBytes = `octet_length(d.id) + octet_length(d.title) + octet_length(d.text) + octet_length(d.url) + ` +
	bytesOfColumn(`d.collection`, document.DefaultCollection) + ` + ` + bytesOfColumn(`d.tags`, noTags) + ` + ` + bytesOfColumn(`d.metadata`, noMetadata)

func bytesOfColumn(column, usual string) string {
	return `CASE ` + column + ` WHEN '' THEN octet_length('` + usual + `') ELSE octet_length(` + column + `) END`
}

// documentValues are the values of a document that its row contains in another form.
type documentValues struct {
	collection, tags, metadata string
	bytes                      int64 // what documentBytes will be
}

func documentValuesOf(d *document.Document) (v documentValues, err error) {
	if v.tags, err = listText(d.Tags); err != nil {
		return v, err
	}
	if v.metadata, err = metadataText(d.Metadata); err != nil {
		return v, err
	}
	v.bytes = int64(len(d.ID) + len(d.Collection) + len(d.Title) + len(d.Text) + len(d.URL) + len(v.tags) + len(v.metadata))
	v.collection = collectionColumn(d.Collection)
	v.tags, v.metadata = shortened(v.tags, noTags), shortened(v.metadata, noMetadata)
	return v, nil
}

func collectionColumn(name string) string { return shortened(name, document.DefaultCollection) }

// shortened is the column of a text that is often usual and never empty.
func shortened(text, usual string) string {
	if text == usual {
		return ""
	}
	return text
}

// lengthened reads what shortened wrote.
func lengthened(column, usual string) string {
	if column == "" {
		return usual
	}
	return column
}

// scanDocument reads documentColumns.
func scanDocument(row Row) (document.Document, error) {
	var d document.Document
	var tags, metadata string
	var created, updated int64
	err := row.Scan(&d.ID, &d.Collection, &d.Title, &d.Text, &d.URL, &tags, &metadata, &created, &updated, &d.Revision, &d.Change)
	if err != nil {
		return d, err
	}
	d.Collection = lengthened(d.Collection, document.DefaultCollection)
	d.CreatedAt, d.UpdatedAt = documentTimeOf(created), documentTimeOf(updated)
	if d.Tags, err = tagsOf(tags); err != nil {
		return d, err
	}
	d.Metadata, err = metadataOf(lengthened(metadata, noMetadata))
	return d, err
}

// tagsOf reads the column tags.
func tagsOf(column string) ([]string, error) { return listOf(lengthened(column, noTags)) }

// documentTime is a time of a document as its row contains it: in milliseconds, which document.Service rounds to.
func documentTime(t time.Time) int64 { return t.UnixMilli() }

// documentTimeOf reads what documentTime wrote.
func documentTimeOf(ms int64) time.Time { return time.UnixMilli(ms).UTC() }

// age is how long after its creation a document changed last.
func age(d *document.Document) int64 { return documentTime(d.UpdatedAt) - documentTime(d.CreatedAt) }
