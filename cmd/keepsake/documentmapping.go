package main

import (
	"cmp"
	"fmt"
	"strings"

	"keepsake/client"
	"keepsake/internal/base/wire"
	"keepsake/internal/search/mapping"
	"keepsake/internal/search/source"
)

// sampleRows is how many rows a guess reads.
const sampleRows = 1_000

// guess completes the mapping from the first rows. isPlain is whether they need none.
func (j *importJob) guess(rows *source.Reader) (o client.ImportOptions, m mapping.Mapping, isPlain bool, err error) {
	o = j.options
	first, err := rows.Sample(sampleRows)
	if err != nil {
		return o, m, false, err
	}
	fixed := mapping.Mapping{
		ID: o.ID, Title: o.Title, Text: o.Text, Tags: o.Tags, URL: o.URL, Collection: o.Collection, Rest: mapping.Rest(o.Rest),
	}
	m, isPlain = mapping.Guess(rowsThatAre(first), fixed)
	if isPlain || len(first) == 0 {
		m.Rest = cmp.Or(m.Rest, mapping.Refuse)
		return o, m, true, nil
	}
	if m.Title == "" && len(m.Text) == 0 {
		return o, m, false, fmt.Errorf("name the value that is the title or the text with --title or --text; the first row has %s", namesOf(first))
	}
	if rows.Columns != nil {
		if err := m.CheckColumns(rows.Columns); err != nil {
			return o, m, false, err
		}
	}
	o.ID, o.Title, o.Text, o.Tags, o.URL, o.Rest = m.ID, m.Title, m.Text, m.Tags, m.URL, string(m.Rest)
	return o, m, false, nil
}

// rowsThatAre returns the rows that can be read.
func rowsThatAre(first []source.Row) []wire.Row {
	var list []wire.Row
	for i := range first {
		if first[i].Err == nil {
			list = append(list, first[i].Row)
		}
	}
	return list
}

// namesOf lists the names of the values of a row.
func namesOf(first []source.Row) string {
	var names []string
	for i := range first {
		if first[i].Err != nil {
			continue
		}
		for _, name := range mapping.Names(&first[i].Row) {
			if len(names) == 20 {
				return strings.Join(names, ", ") + ", …"
			}
			names = append(names, plain(name))
		}
		break
	}
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}

// mappingText describes a mapping with the flags that ask for it.
func mappingText(o client.ImportOptions) string {
	var parts []string
	for _, p := range []struct{ flag, value string }{
		{"id", o.ID},
		{"title", o.Title},
		{"text", strings.Join(o.Text, ",")},
		{"tags", o.Tags},
		{"url", o.URL},
		{"collection", o.Collection},
		{"rest", o.Rest},
	} {
		if p.value != "" {
			parts = append(parts, "--"+p.flag+" "+plain(p.value))
		}
	}
	return strings.Join(parts, " ")
}
