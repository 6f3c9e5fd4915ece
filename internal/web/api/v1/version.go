package v1

import (
	"context"
	"strconv"
	"time"

	"keepsake/internal/base/wire"
	"keepsake/internal/govern/lifecycle"
	"keepsake/internal/web/endpoint"
)

// Versions is the source of API versions.
type Versions struct {
	Registry  *lifecycle.Registry
	Service   *lifecycle.Service
	PublicURL string // base of links, without a slash at its end
	Now       func() time.Time
}

// AddVersions declares the list of API versions. It needs no credential, because a client that must migrate may not have a
// valid one.
func AddVersions(r *endpoint.Registry, v *Versions) {
	endpoint.Add(r, endpoint.Operation{
		ID: "listVersions", Method: "GET", Path: "/api/versions", Tag: "versions", Summary: "List the versions of the API",
		Description: "The operation needs no credential, so that clients with an outdated one can find out what to migrate to.",
		Credentials: endpoint.NoCredential, Status: 200,
	}, func(context.Context, *struct{}) (*versionList, error) {
		now, snapshot := v.Now(), v.Registry.Snapshot()
		out := &versionList{}
		for i := range snapshot.All() {
			out.Body.Items = append(out.Body.Items, v.view(snapshot, &snapshot.All()[i], now))
		}
		return out, nil
	})
}

type versionList struct {
	Body struct {
		Items []versionView `json:"items" doc:"The versions of the API, oldest first."`
	}
}

type versionView struct {
	Version            string     `json:"version" doc:"The number of the version, as in paths and in X-API-Version." example:"1"`
	State              string     `json:"state" enum:"active,deprecated,sunset,retired" doc:"The state of the version. A deprecated version still works, a sunset one is refused with 410, and a retired one no longer exists."`
	Since              wire.Time  `json:"since" doc:"The time at which the version was released."`
	AnnouncedAt        *wire.Time `json:"announcedAt" doc:"The time at which the end of the version was announced. It is null until then."`
	SunsetAt           *wire.Time `json:"sunsetAt" doc:"The time from which requests are refused with 410. It is null until the end of the version is announced."`
	ReplacementVersion *string    `json:"replacementVersion" doc:"The oldest later version that is still available. It is null if there is none, and until the end of the version is announced."`
	MigrationGuideURL  *string    `json:"migrationGuideUrl" doc:"The URL of the guide from this version to the next. It is null until the end of the version is announced."`
}

func (v *Versions) view(s *lifecycle.Snapshot, version *lifecycle.Version, now time.Time) versionView {
	view := versionView{
		Version: strconv.Itoa(version.Number), State: string(version.At(now)), Since: wire.At(version.Since),
	}
	if version.AnnouncedAt.IsZero() {
		return view
	}
	view.AnnouncedAt, view.SunsetAt = wire.ChosenOrNull(&version.AnnouncedAt), wire.ChosenOrNull(&version.SunsetAt)
	guide := version.Guide()
	if guide[0] == '/' {
		guide = v.PublicURL + guide
	}
	view.MigrationGuideURL = &guide
	if next := s.Replacement(version.Number, now); next != nil {
		number := strconv.Itoa(next.Number)
		view.ReplacementVersion = &number
	}
	return view
}
