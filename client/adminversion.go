package client

import (
	"context"
	"iter"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// VersionRecord is a version of the API as admins see it.
type VersionRecord struct {
	Version
	RetiresAt  *time.Time     `json:"retiresAt"`      // when its paths are removed
	CheckAt    *time.Time     `json:"trafficCheckAt"` // the next traffic check
	Checks     []VersionCheck `json:"checks"`
	Rehearsals []Rehearsal    `json:"rehearsals"`
	Revision   int64          `json:"revision"`
}

// VersionCheck is a check of a version's traffic thirty days before its sunset. Significant traffic moves the sunset.
type VersionCheck struct {
	SunsetAt    time.Time       `json:"sunsetAt"` // before the check
	CheckedAt   time.Time       `json:"checkedAt"`
	Verdict     string          `json:"verdict"`     // kept, extended (of much traffic), postponed (of a check that was missed)
	NewSunsetAt time.Time       `json:"newSunsetAt"` // after the check
	Traffic     *VersionTraffic `json:"traffic"`     // nil for callers who are not operators
	Thresholds  struct {
		Days        int   `json:"days"`
		Percent     int64 `json:"percent"`
		Keys        int64 `json:"keys"`
		KeysPercent int64 `json:"keysPercent"`
		KeyRequests int64 `json:"keyRequests"`
		KeyDays     int   `json:"keyDays"`
	} `json:"thresholds"`
}

// VersionTraffic is the traffic that a VersionCheck counted.
type VersionTraffic struct {
	From        time.Time `json:"from"`
	Days        int       `json:"days"`     // in which the service ran
	Requests    int64     `json:"requests"` // authenticated ones to the version
	AllRequests int64     `json:"allRequests"`
	Keys        int64     `json:"keys"` // API keys that use the version regularly
	ActiveKeys  int64     `json:"activeKeys"`
}

// Rehearsal is a period in which an API key sees a version as after its sunset.
type Rehearsal struct {
	KeyID       string    `json:"keyId"`
	WorkspaceID string    `json:"workspaceId"`
	Until       time.Time `json:"until"`
}

// StartedRehearsal is a rehearsal that was just started.
type StartedRehearsal struct {
	Version string `json:"version"`
	Rehearsal
}

// NewRelease contains the dates and the guide of the current version, which the next one replaces.
type NewRelease struct {
	Version     int        `json:"version"`
	AnnouncedAt *time.Time `json:"announcedAt,omitempty"` // nil: now
	SunsetAt    *time.Time `json:"sunsetAt,omitempty"`    // nil: six calendar months after that
	GuideURL    string     `json:"guideUrl,omitempty"`    // empty: a page of the instance
}

// VersionChange changes the fields that are set.
type VersionChange struct {
	SunsetAt Change[time.Time] `json:"sunsetAt,omitzero"` // later than it was
	GuideURL Change[string]    `json:"guideUrl,omitzero"`
}

// VersionCaller is a caller of a version: its key, its route, its program, and its last call.
type VersionCaller struct {
	WorkspaceID string    `json:"workspaceId"`
	KeyID       *string   `json:"keyId"` // nil for a user, who has
	UserID      *string   `json:"userId"`
	Method      *string   `json:"method"`
	Route       *string   `json:"route"` // nil for an unknown path
	Client      *string   `json:"client"`
	LastAt      time.Time `json:"lastAt"`
}

// VersionQuery selects a page of the list of versions.
type VersionQuery struct {
	Limit  int // 0: the server's default
	Cursor string
}

// VersionCallerQuery selects callers of a version, and a page of their list.
type VersionCallerQuery struct {
	From      *time.Time // only callers since then
	NoConsole bool       // leave out what the console has called for its pages
	Limit     int        // 0: the server's default
	Cursor    string
}

const versions = "/api/v1/admin/versions"

func versionPath(number int) string { return versions + "/" + strconv.Itoa(number) }

// ListVersionRecords reads one page of versions, oldest first. Versions lists them without a key.
func (c *Client) ListVersionRecords(ctx context.Context, q VersionQuery) (*Page[VersionRecord], error) {
	values := url.Values{}
	setInt(values, "limit", q.Limit)
	set(values, "cursor", q.Cursor)
	return result[Page[VersionRecord]](func(out any) error { return c.get(ctx, versions, values, out) })
}

// EachVersionRecord reads all versions, page by page.
func (c *Client) EachVersionRecord(ctx context.Context, q VersionQuery) iter.Seq2[VersionRecord, error] {
	return each(q.Cursor, func(cursor string) (*Page[VersionRecord], error) {
		q.Cursor = cursor
		return c.ListVersionRecords(ctx, q)
	})
}

// VersionRecord reads one version.
func (c *Client) VersionRecord(ctx context.Context, number int) (*VersionRecord, error) {
	return result[VersionRecord](func(out any) error { return c.get(ctx, versionPath(number), nil, out) })
}

// ReleaseVersion makes the next version the current one. Every change of a version needs a credential of the operator
// workspace.
func (c *Client) ReleaseVersion(ctx context.Context, n NewRelease) (*VersionRecord, error) {
	r := request{method: http.MethodPost, path: versions + "/release", keyed: true}
	return result[VersionRecord](func(out any) error { return c.send(ctx, r, n, out) })
}

// ChangeVersion moves a version's sunset later, or its guide; with ifRevision only if it still has that revision.
func (c *Client) ChangeVersion(ctx context.Context, number int, change VersionChange, ifRevision *int64) (*VersionRecord, error) {
	r := request{method: http.MethodPatch, path: versionPath(number), ifMatch: ifRevision}
	return result[VersionRecord](func(out any) error { return c.send(ctx, r, change, out) })
}

// RehearseSunset lets an API key see a deprecated version as after its sunset, until the given time.
func (c *Client) RehearseSunset(ctx context.Context, number int, keyID string, until time.Time) (*StartedRehearsal, error) {
	r := request{method: http.MethodPost, path: versionPath(number) + "/rehearse-sunset", keyed: true}
	in := struct {
		KeyID string    `json:"keyId"`
		Until time.Time `json:"until"`
	}{keyID, until}
	return result[StartedRehearsal](func(out any) error { return c.send(ctx, r, in, out) })
}

// RetireVersion removes the paths of a sunset version.
func (c *Client) RetireVersion(ctx context.Context, number int) (*VersionRecord, error) {
	r := request{method: http.MethodPost, path: versionPath(number) + "/retire", keyed: true}
	return result[VersionRecord](func(out any) error { return c.send(ctx, r, nil, out) })
}

// ListVersionCallers reads one page of a version's callers.
func (c *Client) ListVersionCallers(ctx context.Context, number int, q VersionCallerQuery) (*Page[VersionCaller], error) {
	values := url.Values{}
	if q.From != nil {
		values.Set("from", q.From.Format(time.RFC3339Nano))
	}
	if q.NoConsole {
		values.Set("console", "false")
	}
	setInt(values, "limit", q.Limit)
	set(values, "cursor", q.Cursor)
	return result[Page[VersionCaller]](func(out any) error { return c.get(ctx, versionPath(number)+"/usage", values, out) })
}

// EachVersionCaller reads all callers of a version, page by page.
func (c *Client) EachVersionCaller(ctx context.Context, number int, q VersionCallerQuery) iter.Seq2[VersionCaller, error] {
	return each(q.Cursor, func(cursor string) (*Page[VersionCaller], error) {
		q.Cursor = cursor
		return c.ListVersionCallers(ctx, number, q)
	})
}
