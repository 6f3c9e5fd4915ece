package console

import (
	"slices"
	"strings"

	"keepsake/client"
)

// Setting is a value that is in effect in this process.
type Setting struct {
	Name, Value string
	Path        string // of the setting that decides it; empty: none does
}

// systemData is what the page about the instance shows.
type systemData struct {
	Stats    client.CacheStats
	Settings []Setting
	Versions []client.Version   // of the API
	Backup   *client.AuditEntry // the last one; nil: none was made
	Names    map[string]string  // of those who can have made it
}

func showSystem(v *visit) response {
	stats, err := v.api().CacheStats(v.Context())
	if err != nil {
		return v.fail(err)
	}
	data := systemData{Stats: *stats}
	if v.isFragment() {
		return show(systemNumbers(data))
	}
	// CacheStats was allowed, so the visitor operates the instance.
	data.Settings = v.c.o.Settings
	backups, err := v.api().ListAuditLog(v.Context(), client.AuditQuery{Action: "backup.made", Limit: 1})
	if err != nil {
		return v.fail(err)
	}
	if len(backups.Items) > 0 {
		data.Backup = &backups.Items[0]
	}
	versions, err := v.api().Versions(v.Context())
	if err != nil {
		return v.fail(err)
	}
	data.Versions = versions
	if data.Names, err = v.actorNames(); err != nil {
		return v.fail(err)
	}
	return show(systemPage(data))
}

// versionsText lists the versions of the API with their states.
func versionsText(list []client.Version) string {
	var texts []string
	for _, version := range list {
		texts = append(texts, "v"+version.Version+" ("+version.State+")")
	}
	return strings.Join(texts, ", ")
}

// freeText says how much can still be written; "" if the system does not report it.
func (d systemData) freeText() string {
	for _, part := range d.Stats.Parts {
		if part.FreeBytes != nil {
			return size(*part.FreeBytes) + " free"
		}
	}
	return ""
}

// health is the state of the instance in one word.
func (d systemData) health() string {
	worst := "healthy"
	for _, part := range d.Stats.Parts {
		switch part.Status {
		case "failed":
			return "failed"
		case "degraded":
			worst = "degraded"
		}
	}
	if d.Stats.Limiter.Degraded {
		worst = "degraded"
	}
	return worst
}

// troubles lists the parts that do not work.
func (d systemData) troubles() []client.SystemPart {
	return slices.DeleteFunc(slices.Clone(d.Stats.Parts), func(p client.SystemPart) bool { return p.Status == "ok" || p.Status == "off" })
}

// partTexts say what the parts of a process are for, and what to do if one does not work.
var partTexts = map[string]struct{ About, Remedy string }{
	"storage":     {"reads of the database", "Nothing works without the database. Check that it runs and that its disk is not full."},
	"writes":      {"writes to the database", "Reads work, but changes get 503. Check the space on the disk of the database."},
	"index":       {"search indexes", "Searches wait until the index has caught up. If this lasts, the disk is too slow for the imports."},
	"usage":       {"stored usage", "Usage is counted in memory and stored when the database takes writes again."},
	"disk":        {"free space of the disk", "Free space, or enlarge the disk. Soon nothing can be written."},
	"wal":         {"write-ahead log of the database", "The log only grows while another program reads the database files and does not end. Find that program and stop it."},
	"clock":       {"clock of this machine", "Set the clock, for example with NTP. Limits and expiries depend on it."},
	"redis":       {"Redis, which shares limits", "Each process admits its share of every limit until Redis responds."},
	"joined":      {"membership in the instance", "This process was just started, or cannot reach the database."},
	"embeddings":  {"the embeddings endpoint", "Recall works by words until the endpoint answers again."},
	"opensearch":  {"search indexes in OpenSearch", "Searches of the workspaces whose index is there get 503 until it can be used again. keepsake doctor says what is the matter."},
	"checkpoints": {"checkpoints of the audit log", "The end of the audit log is not signed now. Check the space in the data folder."},
}

// partAbout says what a part is for.
func partAbout(p client.SystemPart) string {
	text := partTexts[p.Name].About
	switch {
	case text == "":
		return "a task in the background"
	case p.FreeBytes != nil:
		return text + ": " + size(*p.FreeBytes)
	default:
		return text
	}
}

// partRemedy says what to do about a part that does not work.
func partRemedy(name string) string {
	if text := partTexts[name].Remedy; text != "" {
		return text
	}
	return "The task is tried again. The server's log says why it fails."
}

// limiterText says how requests are counted.
func limiterText(l client.Limiter) string {
	switch l.Mode {
	case "shared":
		return "all processes count together"
	case "split":
		return "each process has its share of every limit"
	default:
		return "one process counts all requests"
	}
}

// cacheTexts say what caches contain.
var cacheTexts = map[string]string{
	"apiKeys": "API keys", "unknownApiKeys": "keys that do not exist", "accessTokens": "sessions of users", "addresses": "limits of addresses",
	"indexes": "search indexes of workspaces", "subjectKeys": "data keys of people", "recallIndexes": "recall indexes of people",
}

// cacheText says what a cache contains.
func cacheText(name string) string {
	if text := cacheTexts[name]; text != "" {
		return text
	}
	return name
}

// capacity formats the capacity of a cache; 0 is none.
func capacity(c client.Cache) string {
	switch {
	case c.Capacity == 0:
		return "no limit"
	case c.Name == "recallIndexes": // in bytes
		return size(c.Capacity)
	default:
		return count(c.Capacity)
	}
}
