package opensearch

import (
	"github.com/go-json-experiment/json"
)

// Layout is the version of the two indexes of a workspace. An index with another one is made again.
const Layout = 3

// The fields of a document. A document without fieldUpdated is none that can be found, such as one that says only that another is gone.
const (
	fieldID        = "id" // of the document, to sort by
	fieldUpdated   = "updated"
	fieldLanguage  = "language"
	fieldTitleLen  = "titleLength" // coded
	fieldTextLen   = "textLength"
	fieldKeys      = "keys"      // the terms of its collection, tags, metadata and compounds
	fieldEntries   = "entries"   // the terms of words, stems and pairs of searched entries of metadata
	fieldInEntries = "inEntries" // words of entries that are in the dictionary
	fieldStems     = "stems"     // each with its packed frequencies, see frequency.go
	fieldWords     = "words"     // as they stand
	fieldTitle     = "title"     // stems in their order
	fieldText      = "text"
	fieldTitleBoth = "titleBoth" // instead of title and text, in languages in which several stems are at one position
	fieldTextBoth  = "textBoth"
	fieldGone      = "gone" // when a document was deleted, in milliseconds
	fieldMark      = "mark" // of the state of the documents, see position.go
)

// The fields of a word in the dictionary.
const (
	fieldWord  = "word"
	fieldGrams = "grams"
)

// What the tokens of a field are separated by. No word contains any of these characters.
const (
	hole  = "|" // a position without a stem
	stack = "&" // between stems at one position
)

type object = map[string]any

// DocumentsIndex returns the settings and mappings of an index of documents.
func DocumentsIndex(shards, replicas int) []byte {
	stems := func(analyzer string) object {
		return object{"type": "text", "analyzer": analyzer, "similarity": "frequency", "index_options": "positions", "norms": false}
	}
	return encode(object{
		"settings": object{
			"index": object{
				"number_of_shards": shards, "number_of_replicas": replicas, "refresh_interval": "-1",
				"merge.policy.expunge_deletes_allowed": 0, "soft_deletes.retention_lease.period": "5m",
				"similarity": object{
					"frequency": object{"type": "scripted", "script": object{"source": "return query.boost * doc.freq;"}},
				},
			},
			"analysis": object{
				"tokenizer": blankTokenizer,
				"filter": object{
					"frequencies": object{"type": "delimited_term_freq", "delimiter": frequencyMark},
					"holes":       object{"type": "stop", "stopwords": []string{hole}},
					"stacked":     object{"type": "pattern_capture", "preserve_original": false, "patterns": []string{"([^" + stack + "]+)"}},
				},
				"analyzer": object{
					"blank":       analyzerOf(),
					"frequencies": analyzerOf("frequencies"),
					"places":      analyzerOf("holes"),
					"stacks":      analyzerOf("stacked", "holes"),
				},
			},
		},
		"mappings": object{
			"dynamic": "strict", "_source": object{"enabled": false}, "_meta": object{"layout": Layout},
			"properties": object{
				fieldID:        object{"type": "keyword", "index": false},
				fieldUpdated:   object{"type": "long", "index": false},
				fieldLanguage:  object{"type": "byte"},
				fieldTitleLen:  object{"type": "integer", "index": false},
				fieldTextLen:   object{"type": "integer", "index": false},
				fieldKeys:      object{"type": "keyword"},
				fieldEntries:   object{"type": "keyword", "doc_values": false},
				fieldWords:     object{"type": "text", "analyzer": "blank", "index_options": "docs", "norms": false, "similarity": "boolean"},
				fieldInEntries: object{"type": "text", "analyzer": "blank", "index_options": "docs", "norms": false},
				fieldStems:     object{"type": "text", "analyzer": "frequencies", "search_analyzer": "blank", "similarity": "frequency", "index_options": "freqs", "norms": false},
				fieldTitle:     stems("places"),
				fieldText:      stems("places"),
				fieldTitleBoth: stems("stacks"),
				fieldTextBoth:  stems("stacks"),
				fieldGone:      object{"type": "long"},
				fieldMark:      stored,
			},
		},
	})
}

// WordsIndex returns the settings and mappings of the dictionary, which contains the words of the documents.
func WordsIndex(replicas int) []byte {
	return encode(object{
		"settings": object{
			"index": object{
				"number_of_shards": 1, "number_of_replicas": replicas, "refresh_interval": "-1",
				"merge.policy.expunge_deletes_allowed": 0, "soft_deletes.retention_lease.period": "5m",
			},
			"analysis": object{"tokenizer": blankTokenizer, "analyzer": object{"blank": analyzerOf()}},
		},
		"mappings": object{
			"dynamic": "strict", "_source": object{"enabled": false}, "_meta": object{"layout": Layout},
			"properties": object{
				fieldWord:  object{"type": "keyword"},
				fieldGrams: object{"type": "text", "analyzer": "blank", "index_options": "docs", "norms": false, "similarity": "boolean"},
				fieldMark:  stored,
			},
		},
	})
}

// stored is a field that is only read.
var stored = object{"type": "keyword", "index": false, "doc_values": false, "store": true}

// blankTokenizer separates what this package has already made words of.
var blankTokenizer = object{"blank": object{"type": "char_group", "tokenize_on_chars": []string{" "}, "max_token_length": 4096}}

func analyzerOf(filters ...string) object {
	return object{"type": "custom", "tokenizer": "blank", "filter": append([]string{}, filters...)}
}

// encode returns a value of maps, lists, texts, numbers and truth values as JSON, with sorted names.
func encode(value any) []byte {
	data, err := json.Marshal(value, json.Deterministic(true))
	if err != nil {
		panic(err) // it has no other values
	}
	return data
}
