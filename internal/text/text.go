// Package text turns text into the words that are searched: folded, stemmed and numbered, in any script.
package text
