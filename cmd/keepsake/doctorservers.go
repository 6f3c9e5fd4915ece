package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"keepsake/internal/app"
	"keepsake/internal/app/config"
	"keepsake/internal/app/instance"
	"keepsake/internal/search/opensearch"
	"keepsake/internal/store/sqlite"
)

// servers checks the database and Redis, and lists the members.
func (d *diagnosis) servers(ctx context.Context, cfg config.Config, now func() time.Time) {
	e, err := app.Examine(ctx, cfg, now)
	if err != nil {
		d.find(broken, "database", "%v", err)
		return
	}
	if e.Instance == "" {
		d.find(broken, "database", "%s %v", e.Server, instance.ErrNotInitialised)
		return
	}
	pooler := ""
	if e.Pooled {
		pooler = ", through a pooler in session mode"
	}
	d.instance = e.Instance
	d.find(well, "database", "PostgreSQL %s at %s%s", e.Version, e.Server, pooler)
	d.schemas(e)
	if len(e.Unsafe) > 0 {
		d.find(warning, "database", "the server runs with %s off: what it acknowledges is lost when its machine fails", strings.Join(e.Unsafe, " and "))
	}
	if free := e.Most - e.Connections; free < e.Most/10 {
		d.find(warning, "database", "%d of the server's %d connections are taken", e.Connections, e.Most)
	}
	if e.Ahead.Abs() > clockTolerance {
		d.find(warning, "clock", "differs from the database's by %s: set both by NTP", e.Ahead.Abs().Round(time.Second))
	}
	d.members(e)
	d.redis(&cfg, e)
}

// schemas reports the versions of the schemas.
func (d *diagnosis) schemas(e *app.Examined) {
	state, note := well, ""
	var list []string
	for _, s := range e.Schemas {
		list = append(list, fmt.Sprintf("%s %d", s.Name, s.Version))
		if s.Version > s.Known {
			note = ": newer than this program, which can work on it"
		}
	}
	if e.Behind {
		state, note = warning, ": older than this program, which changes it at the next start"
	}
	d.find(state, "schema", "%s%s", strings.Join(list, ", "), note)
}

const clockTolerance = 5 * time.Second

// members reports which processes serve the database.
func (d *diagnosis) members(e *app.Examined) {
	releases := map[string]bool{}
	var names []string
	for _, m := range e.Members {
		names = append(names, fmt.Sprintf("%s on %s (%s)", m.Name, m.Host, m.Release))
		releases[m.Release] = true
	}
	if len(names) == 0 {
		d.find(well, "members", "no process serves the database")
		return
	}
	d.find(well, "members", "%d: %s", len(names), strings.Join(names, ", "))
	if len(releases) > 1 {
		d.find(warning, "members", "they are of different releases, which is meant for an upgrade only")
	}
}

// redis reports what is lost without Redis, and unsuitable settings.
func (d *diagnosis) redis(cfg *config.Config, e *app.Examined) {
	split := 0
	for _, m := range e.Members {
		if m.WithoutRedis {
			split++
		}
	}
	switch {
	case split > 0 && split < len(e.Members):
		d.find(warning, "redis", "%d of %d members have no redisUrl; set it for all of them, or they count limits in two ways", split, len(e.Members))
	case cfg.RedisURL == "" && len(e.Members) > 1:
		d.find(warning, "redis", "redisUrl is not set: each of %d members admits only its share of every limit, so a client that always reaches the same member is refused early",
			len(e.Members))
	case cfg.RedisURL == "":
		d.find(well, "redis", "redisUrl is not set: several members would divide every limit between them")
	}
	switch {
	case cfg.RedisURL == "":
	case e.RedisProblem != nil:
		d.find(warning, "redis", "%v; until it answers, each member admits only its share of every limit", e.RedisProblem)
	case e.Redis.Eviction != "" && e.Redis.Eviction != "noeviction":
		d.find(warning, "redis", "its eviction policy is %s, which can delete counters of limits; set it to noeviction", e.Redis.Eviction)
	default:
		d.find(well, "redis", "%s, answers in %s", e.Redis.Version, e.Redis.Took.Round(10*time.Microsecond))
	}
}

// openSearch checks the cluster that has indexes of workspaces. Without it, only their searches fail.
func (d *diagnosis) openSearch(ctx context.Context, cfg *config.Config) {
	const about = "opensearch"
	f, err := app.ExamineOpenSearch(ctx, cfg)
	if err != nil {
		d.find(broken, about, "%v", err)
		return
	}
	id := d.instance
	if cfg.DatabaseURL == "" {
		id, _ = sqlite.InstanceID(ctx, cfg.Data) // what is the matter with the folder is another finding
	}
	switch {
	case f.Owner == "" && f.Indexes > 0:
		d.find(warning, about, "no index says whose the others are that begin with %s", cfg.Search.OpenSearch.Prefix)
	case f.Owner != "" && id != "" && f.Owner != id:
		d.find(broken, about, "%v", opensearch.ForeignPrefix(cfg.Search.OpenSearch.Prefix))
	case len(f.Foreign) > 0:
		d.find(warning, about, "%s are of an installation that had this prefix before; delete them if it is gone", strings.Join(f.Foreign, ", "))
	}
	d.find(well, about, "indexes: %d, with %d entries in %s, and %d deleted ones in files", f.Indexes, f.Documents, sizeText(f.Bytes), f.Deleted)
	if len(f.Red) > 0 {
		d.find(broken, about, "a part of %s is missing", strings.Join(f.Red, ", "))
	}
	if len(f.Asynchronous) > 0 {
		d.find(warning, about, "set index.translog.durability to request for %s: what was stored is lost when a machine fails", strings.Join(f.Asynchronous, ", "))
	}
	if len(f.SlowLogs) > 0 {
		d.find(warning, about, "turn the slow logs of %s off: they contain what people search for", strings.Join(f.SlowLogs, ", "))
	}
	switch {
	case f.Unknown != nil:
		d.find(warning, about, "cannot tell whether the cluster keeps queries: %v", f.Unknown)
	case f.QueriesKept:
		d.find(warning, about, "turn Query Insights and the slow log of requests off in the settings of the cluster: they keep what people search for")
	}
}
