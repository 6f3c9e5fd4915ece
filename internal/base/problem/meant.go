package problem

import (
	"fmt"
	"slices"
)

// Meant returns a sentence, after a space, about what an unknown name probably means, or "" if nothing is near: a known name of
// other products, or one with a typing error.
func Meant(name string, known []string) string {
	short := plainName(name[:min(len(name), 64)])
	if slices.Contains(known, "cursor") && slices.Contains(pagesElsewhere, short) {
		return ` Use "cursor", with the nextCursor of the page before.`
	}
	for _, e := range elsewhere {
		if slices.Contains(e.theirs, short) && slices.Contains(known, e.ours) {
			return fmt.Sprintf(" Did you mean %q?", e.ours)
		}
	}
	if similar := Similar(name, known); similar != "" {
		return fmt.Sprintf(" Did you mean %q?", similar)
	}
	if name != "" && slices.Contains(known, "metadata") {
		return ` Fields of your own go into "metadata".`
	}
	return ""
}

// pagesElsewhere are plain names that other products give to the position in a list.
var pagesElsewhere = []string{"page", "offset", "skip", "from", "startingafter", "pagetoken", "nextpagetoken", "nextcursor"}

// elsewhere lists names of ours with the plain names that other products give to the same.
var elsewhere = []struct {
	ours   string
	theirs []string
}{
	{"subjectId", []string{"user", "userid", "person", "personid", "customer", "customerid", "enduserid"}},
	{"sessionId", []string{"runid", "thread", "threadid", "conversation", "conversationid", "chatid"}},
	{"text", []string{"content", "contents", "messages", "message", "memory", "memories", "data", "fact", "body", "description", "summary"}},
	{"title", []string{"name", "heading", "headline", "label", "subject"}},
	{"url", []string{"link", "href", "permalink"}},
	{"limit", []string{"perpage", "pagesize", "size", "count", "n", "k", "topk", "maxresults", "hitsperpage", "take"}},
	{"q", []string{"query", "search", "searchquery", "searchterm"}},
	{"query", []string{"q", "question", "search", "searchquery", "input", "prompt"}},
	{"collection", []string{"index", "indexname", "indexuid", "namespace", "dataset"}},
	{"kind", []string{"type", "category", "memorytype"}},
	{"tags", []string{"labels", "categories"}},
	{"occurredAt", []string{"timestamp", "date", "time", "eventtime"}},
	{"expiresAt", []string{"expirationdate", "expiration", "ttl", "expires"}},
	{"minScore", []string{"threshold", "scorethreshold", "minscorethreshold"}},
	{"speaker", []string{"role", "author", "actor"}},
}
