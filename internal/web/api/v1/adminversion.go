package v1

import (
	"context"
	"strconv"

	"keepsake/internal/base/page"
	"keepsake/internal/base/problem"
	"keepsake/internal/base/wire"
	"keepsake/internal/govern/auth"
	"keepsake/internal/govern/lifecycle"
	"keepsake/internal/web/endpoint"
)

// AddAdminVersions declares the operations on API versions. Any admin can read them; changes concern the whole instance.
func AddAdminVersions(r *endpoint.Registry, v *Versions, cursors *page.Sealer) {
	op := func(id, method, path, summary, description string, errors ...string) endpoint.Operation {
		return endpoint.Operation{
			ID: id, Method: method, Path: "/admin/versions" + path, Since: 1, Tag: "versions", Summary: summary, Description: description,
			Credentials: endpoint.Key | endpoint.Bearer, Scope: auth.Admin, Status: 200, Vital: true, Errors: errors,
		}
	}
	change := func(id, method, path, summary, more string, errors ...string) endpoint.Operation {
		o := op(id, method, path, summary, "Only credentials of the operator workspace can call this operation. "+more, errors...)
		o.Operator, o.Idempotent = true, method == "POST"
		return o
	}

	endpoint.Add(r, op("listVersionRecords", "GET", "", "List the versions of the API with their administrative details",
		"The versions are listed oldest first, with their traffic checks and rehearsals."),
		func(ctx context.Context, in *listVersionRecords) (*versionRecordList, error) {
			return in.list(ctx, v, cursors)
		})

	endpoint.Add(r, op("getVersionRecord", "GET", "/{n}", "Get a version of the API",
		"The response contains the version's traffic checks and rehearsals.", problem.CodeNotFound),
		func(ctx context.Context, in *namedVersion) (*oneVersionRecord, error) {
			known := v.Registry.Snapshot().Version(in.number())
			if known == nil {
				return nil, problem.Missing()
			}
			return v.answer(ctx, known), nil
		})

	endpoint.Add(r, op("listVersionCallers", "GET", "/{n}/usage", "List the callers of a version",
		"The list has an item for each credential, route and client. Operators see the callers of all workspaces, other admins those of "+
			"their own.", problem.CodeNotFound),
		func(ctx context.Context, in *listVersionCallers) (*versionCallerList, error) {
			return in.list(ctx, v, cursors)
		})

	release := change("releaseVersion", "POST", "/release", "Release the next version of the API",
		"The new version has every operation of its predecessor except those that the code changes. The predecessor is deprecated at "+
			"announcedAt and sunset at sunsetAt. The default of sunsetAt is six calendar months after announcedAt or, if later, now.", problem.CodeConflict)
	release.Status = 201
	endpoint.AddPrepared(r, release, func(_ context.Context, in *releaseVersion) error { return v.Service.Prepare(in.Body.Version) },
		func(ctx context.Context, in *releaseVersion) (*oneVersionRecord, error) {
			b := &in.Body
			released, err := v.Service.Release(ctx, auth.From(ctx), lifecycle.Release{
				Number: b.Version, AnnouncedAt: b.AnnouncedAt.Moment(), SunsetAt: b.SunsetAt.Moment(), GuideURL: b.GuideURL,
			})
			if err != nil {
				return nil, err
			}
			out := v.answer(ctx, released)
			out.Location = "/admin/versions/" + strconv.Itoa(released.Number)
			return out, nil
		})

	endpoint.Add(r, change("changeVersion", "PATCH", "/{n}", "Change the sunset or the migration guide of a version",
		"Fields that are omitted do not change. The sunset can only be moved later.", problem.CodeNotFound, problem.CodeConflict, problem.CodeRevisionMismatch),
		func(ctx context.Context, in *changeVersion) (*oneVersionRecord, error) {
			c := lifecycle.EndChange{GuideURL: in.Body.GuideURL.Pointer()}
			if in.Body.GuideURL.Set && in.Body.GuideURL.Null {
				c.GuideURL = new(string)
			}
			if at := in.Body.SunsetAt.Pointer(); at != nil {
				c.SunsetAt = at.Moment()
			}
			changed, err := v.Service.ChangeEnd(ctx, auth.From(ctx), in.number(), in.IfMatch.Revisions(), c)
			if err != nil {
				return nil, err
			}
			return v.answer(ctx, changed), nil
		})

	endpoint.Add(r, change("rehearseSunset", "POST", "/{n}/rehearse-sunset", "Rehearse the sunset of a version for one API key",
		"Requests with the API key to this version are refused with 410 version_sunset until the given time. A second rehearsal for the same key replaces the first one.",
		problem.CodeNotFound, problem.CodeConflict),
		func(ctx context.Context, in *rehearseSunset) (*oneRehearsal, error) {
			rehearsal, err := v.Service.Rehearse(ctx, auth.From(ctx), in.number(), in.Body.KeyID, *in.Body.Until.Moment())
			if err != nil {
				return nil, err
			}
			out := &oneRehearsal{}
			out.Body.Version, out.Body.rehearsalView = strconv.Itoa(rehearsal.Version), viewOfRehearsal(rehearsal)
			return out, nil
		})

	endpoint.Add(r, change("retireVersion", "POST", "/{n}/retire", "Remove the routes of a sunset version",
		"Routes are removed automatically twelve months after the sunset. Before the sunset the request is refused with 409.", problem.CodeNotFound, problem.CodeConflict),
		func(ctx context.Context, in *namedVersion) (*oneVersionRecord, error) {
			retired, err := v.Service.Retire(ctx, auth.From(ctx), in.number())
			if err != nil {
				return nil, err
			}
			return v.answer(ctx, retired), nil
		})
}

type namedVersion struct {
	N string `path:"n" doc:"The number of the version." example:"1"`
}

// number returns 0, which no version has, for an invalid text.
func (n *namedVersion) number() int {
	number, _ := lifecycle.ParseAccept(n.N)
	return number
}

type releaseVersion struct {
	Body struct {
		Version     int        `json:"version" minimum:"2" doc:"The number of the new version, which is one more than the current version's."`
		AnnouncedAt *wire.Time `json:"announcedAt" doc:"The time at which the end of the predecessor was or will be announced. The default is the current time."`
		SunsetAt    *wire.Time `json:"sunsetAt" doc:"The time from which requests to the predecessor are refused with 410."`
		GuideURL    string     `json:"guideUrl" required:"false" format:"uri" maxLength:"2000" doc:"The URL of the migration guide, if it is published elsewhere."`
	}
}

type changeVersion struct {
	namedVersion
	IfMatch endpoint.IfMatch `header:"If-Match"`
	Body    struct {
		SunsetAt wire.Optional[wire.Time] `json:"sunsetAt" nullable:"false" doc:"The new time of the sunset, which must be later than the present one."`
		GuideURL wire.Optional[string]    `json:"guideUrl" format:"uri" maxLength:"2000" doc:"The URL of the migration guide. null means the page of this instance."`
	}
}

type rehearseSunset struct {
	namedVersion
	Body struct {
		KeyID string    `json:"keyId" maxLength:"64" doc:"The ID of the API key whose requests are refused." example:"key_01kakakakafkhvayayayayayay"`
		Until wire.Time `json:"until" doc:"The time at which the rehearsal ends, which must be in the future."`
	}
}

type listVersionRecords struct{ pageQuery }

type listVersionCallers struct {
	namedVersion
	pageQuery
	From *wire.Time `query:"from" doc:"List only callers whose last request is at or after this time."`

	Console bool `query:"console" default:"true" doc:"Whether to list what the console has called for its pages. It always calls the current version."`
}

type oneVersionRecord struct {
	ETag     string `header:"ETag"`
	Location string `header:"Location"`
	Body     versionRecord
}

type oneRehearsal struct {
	Body struct {
		Version string `json:"version" doc:"The number of the version." example:"1"`
		rehearsalView
	}
}

type versionRecordList struct {
	Body struct {
		Items      []versionRecord `json:"items"`
		NextCursor *string         `json:"nextCursor"`
	}
}

type versionCallerList struct {
	Body struct {
		Items      []versionCallerView `json:"items"`
		NextCursor *string             `json:"nextCursor"`
	}
}

// versionRecord is a version with what only admins see.
type versionRecord struct {
	versionView
	RetiresAt  *wire.Time      `json:"retiresAt" doc:"The time from which the version's paths no longer exist. It is null until the end of the version is announced."`
	CheckAt    *wire.Time      `json:"trafficCheckAt" doc:"The time of the next traffic check, thirty days before the sunset. It is null if there will be none."`
	Checks     []checkView     `json:"checks" doc:"The traffic checks that have run, by time."`
	Rehearsals []rehearsalView `json:"rehearsals" doc:"The API keys that see the version as if it were sunset. Only operators see keys of other workspaces."`
	Revision   int64           `json:"revision"`
}

// checkView is a traffic check with what it was decided on.
type checkView struct {
	SunsetAt    wire.Time      `json:"sunsetAt" doc:"The time of the sunset before the check."`
	CheckedAt   wire.Time      `json:"checkedAt" doc:"The time at which the check ran."`
	Verdict     string         `json:"verdict" enum:"kept,extended,postponed" doc:"The sunset was kept, extended by three months because significant traffic remained, or postponed because the check was missed."`
	NewSunsetAt wire.Time      `json:"newSunsetAt" doc:"The time of the sunset after the check."`
	Traffic     *trafficView   `json:"traffic" doc:"The traffic that was counted. It is null unless the caller is an operator."`
	Thresholds  thresholdsView `json:"thresholds" doc:"The settings at the time of the check."`
}

type trafficView struct {
	From        wire.Time `json:"from" doc:"The beginning of the first day."`
	Days        int       `json:"days" doc:"The number of days in which the service ran."`
	Requests    int64     `json:"requests" doc:"The authenticated requests to the version."`
	AllRequests int64     `json:"allRequests" doc:"The authenticated requests to all versions."`
	Keys        int64     `json:"keys" doc:"The API keys that used the version regularly."`
	ActiveKeys  int64     `json:"activeKeys" doc:"The API keys with a request to any version."`
}

type thresholdsView struct {
	Days        int   `json:"days" doc:"The number of days of traffic that the check looks at."`
	Percent     int64 `json:"percent" doc:"The percentage of all authenticated requests from which traffic is significant."`
	Keys        int64 `json:"keys" doc:"The number of API keys that use the version regularly from which traffic is significant."`
	KeysPercent int64 `json:"keysPercent" doc:"The same as a percentage of all active API keys. The greater number counts."`
	KeyRequests int64 `json:"keyRequests" doc:"The least number of requests of an API key that uses the version regularly."`
	KeyDays     int   `json:"keyDays" doc:"The least number of days on which such an API key uses the version."`
}

func viewOfCheck(p *auth.Principal, c *lifecycle.Check) checkView {
	view := checkView{
		SunsetAt: wire.Chosen(c.SunsetAt), CheckedAt: wire.At(c.At), Verdict: string(c.Verdict), NewSunsetAt: wire.Chosen(c.NewSunsetAt),
		Thresholds: thresholdsView(c.Thresholds),
	}
	if p.Operator {
		u := &c.Traffic
		view.Traffic = &trafficView{
			From: wire.At(u.From), Days: u.Days, Requests: u.Requests, AllRequests: u.AllRequests, Keys: u.Keys, ActiveKeys: u.ActiveKeys,
		}
	}
	return view
}

type rehearsalView struct {
	KeyID       string    `json:"keyId" doc:"The ID of the API key whose requests are refused."`
	WorkspaceID string    `json:"workspaceId" doc:"The ID of the API key's workspace."`
	Until       wire.Time `json:"until" doc:"The time at which the rehearsal ends."`
}

type versionCallerView struct {
	WorkspaceID string    `json:"workspaceId" doc:"The ID of the caller's workspace."`
	KeyID       *string   `json:"keyId" doc:"The ID of the API key. It is null for a signed-in user."`
	UserID      *string   `json:"userId" doc:"The ID of the signed-in user. It is null for an API key."`
	Method      *string   `json:"method" doc:"The HTTP method. It is null for paths that do not exist."`
	Route       *string   `json:"route" doc:"The path template. It is null for paths that do not exist." example:"/api/v1/documents/{id}"`
	Client      *string   `json:"client" doc:"The first product in User-Agent. It is null if there is none. If a caller uses very many clients, the later ones are counted as other." example:"curl/8.5.0"`
	LastAt      wire.Time `json:"lastAt" doc:"The time of the last request, to the second."`
}

func (v *Versions) answer(ctx context.Context, version *lifecycle.Version) *oneVersionRecord {
	return &oneVersionRecord{ETag: endpoint.ETag(version.Revision), Body: v.record(auth.From(ctx), version)}
}

// record returns a version together with the current state of the others.
func (v *Versions) record(p *auth.Principal, version *lifecycle.Version) versionRecord {
	now, snapshot := v.Now(), v.Registry.Snapshot()
	out := versionRecord{versionView: v.view(snapshot, version, now), Rehearsals: []rehearsalView{}, Revision: version.Revision}
	if !version.SunsetAt.IsZero() {
		at := wire.Chosen(version.Retires())
		out.RetiresAt = &at
	}
	if check := version.NextCheck(now); !check.IsZero() {
		at := wire.Chosen(check)
		out.CheckAt = &at
	}
	out.Checks = viewsOf(version.Checks, func(c *lifecycle.Check) checkView { return viewOfCheck(p, c) })
	for _, r := range snapshot.Rehearsals(version.Number, now) {
		if p.Operator || r.WorkspaceID == p.WorkspaceID {
			out.Rehearsals = append(out.Rehearsals, viewOfRehearsal(&r))
		}
	}
	return out
}

func viewOfRehearsal(r *lifecycle.Rehearsal) rehearsalView {
	return rehearsalView{KeyID: r.KeyID, WorkspaceID: r.WorkspaceID, Until: wire.Chosen(r.Until)}
}

// versionPosition is the content of a list cursor: the last version before.
type versionPosition struct {
	After int `json:"after"`
}

func (in *listVersionRecords) list(ctx context.Context, v *Versions, cursors *page.Sealer) (*versionRecordList, error) {
	p := auth.From(ctx)
	scope := page.Scope(p.WorkspaceID, "listVersionRecords")
	found, next, err := readAhead(in.pageQuery, cursors, scope, func(after *versionPosition, limit int) ([]lifecycle.Version, error) {
		all, first := v.Registry.Snapshot().All(), 0
		if after != nil {
			for first < len(all) && all[first].Number <= after.After {
				first++
			}
		}
		return all[first:min(first+limit, len(all))], nil
	}, func(version lifecycle.Version) versionPosition { return versionPosition{version.Number} })
	if err != nil {
		return nil, err
	}
	out := &versionRecordList{}
	out.Body.Items = viewsOf(found, func(version *lifecycle.Version) versionRecord { return v.record(p, version) })
	out.Body.NextCursor = next
	return out, nil
}
