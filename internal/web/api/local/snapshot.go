package local

import (
	"context"

	"keepsake/internal/base/problem"
	"keepsake/internal/base/wire"
	"keepsake/internal/govern/auth"
	"keepsake/internal/govern/backup"
	"keepsake/internal/web/endpoint"
)

// AddSnapshots declares the operations on snapshots, from which backups are created. A process that can open the socket can
// also read the data folder, so the response contains a folder's name instead of its content.
func AddSnapshots(r *endpoint.Registry, snapshots *backup.Snapshots) {
	// If a client did not get the response, the snapshot is removed after its lease.
	start := operation("startSnapshot", "POST", "/snapshots", "Begin a snapshot", problem.CodeConflict)
	start.Status = 201
	endpoint.Add(r, start,
		func(ctx context.Context, _ *struct{}) (*oneSnapshot, error) {
			return viewOf(snapshots.Start(auth.From(ctx).Actor()))
		})
	endpoint.Add(r, operation("getSnapshot", "GET", "/snapshots/{id}", "How far a snapshot is; asking keeps it", problem.CodeNotFound),
		func(_ context.Context, in *snapshotID) (*oneSnapshot, error) {
			return viewOf(snapshots.Snapshot(in.ID))
		})
	discard := operation("discardSnapshot", "DELETE", "/snapshots/{id}", "End and remove a snapshot", problem.CodeNotFound)
	discard.Status = 204
	endpoint.Add(r, discard,
		func(_ context.Context, in *snapshotID) (*struct{}, error) {
			return &struct{}{}, snapshots.Discard(in.ID)
		})
}

type snapshotID struct {
	ID string `path:"id"`
}

type oneSnapshot struct{ Body snapshotView }

type snapshotView struct {
	ID       string    `json:"id"`
	Dir      string    `json:"dir"`
	State    string    `json:"state" enum:"running,ready,failed"`
	Instance string    `json:"instance"`
	MadeAt   wire.Time `json:"madeAt"`
	Bytes    int64     `json:"bytes"`
	Total    int64     `json:"total"`
	Problem  *string   `json:"problem"`
}

func viewOf(s *backup.Snapshot, err error) (*oneSnapshot, error) {
	if err != nil {
		return nil, err
	}
	v := snapshotView{
		ID: s.ID, Dir: s.Dir, State: string(s.State), Instance: s.Instance, MadeAt: wire.At(s.MadeAt),
		Bytes: s.Bytes, Total: s.Total,
	}
	if s.Problem != "" {
		v.Problem = &s.Problem
	}
	return &oneSnapshot{v}, nil
}
