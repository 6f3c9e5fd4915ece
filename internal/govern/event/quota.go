package event

import (
	"context"
	"fmt"
	"log/slog"
	"time"
)

// thresholds are the shares of a quota, in percent, that are events when they are reached.
var thresholds = [...]int{50, 80, 90, 100}

// QuotaOwner is a workspace, or a key with a quota of its own. A limit of 0 is none.
type QuotaOwner struct {
	WorkspaceID    string
	KeyID          string // empty: the workspace
	Daily, Monthly int64
}

func (o *QuotaOwner) id() string {
	if o.KeyID != "" {
		return o.KeyID
	}
	return o.WorkspaceID
}

// QuotaUse is what an owner has used in a period, as stored.
type QuotaUse struct {
	OwnerID string
	Period  string // 2026-11-23 or 2026-11
	Used    int64
}

// QuotaWatch records an event when the use of a quota reaches a threshold: once for each owner, period and threshold. It reads
// what is stored, which includes the requests that other processes have counted, and only for workspaces whose webhooks want to
// know.
type QuotaWatch struct {
	o    QuotaOptions
	told map[quotaMark]bool // what was recorded in the current periods
}

// QuotaOptions is what a QuotaWatch needs.
type QuotaOptions struct {
	// Owners lists the owners of the workspaces that of accepts.
	Owners func(of func(workspaceID string) bool) []QuotaOwner
	// Used reads what owners have used in periods; owners that used nothing are left out.
	Used      func(ctx context.Context, owners, periods []string) ([]QuotaUse, error)
	Interests *Interests
	Recorder  Recorder
	Now       func() time.Time
	Log       *slog.Logger
}

// quotaMark is a threshold of an owner's quota in a period.
type quotaMark struct {
	owner, period string
	percent       int
}

// NewQuotaWatch returns a QuotaWatch.
func NewQuotaWatch(o QuotaOptions) *QuotaWatch { return &QuotaWatch{o: o, told: map[quotaMark]bool{}} }

// quotaEvery is how often the watch looks. Use is stored each second.
const quotaEvery = 2 * time.Second

// Run looks until ctx ends.
func (q *QuotaWatch) Run(ctx context.Context) {
	tick := time.NewTicker(quotaEvery)
	defer tick.Stop()
	failing := false
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		err := q.Look(ctx)
		if ctx.Err() == nil && (err != nil) != failing {
			if failing = err != nil; failing {
				q.o.Log.Warn("watching quotas failed; retrying", "error", err.Error())
			}
		}
	}
}

// wantsQuota reports whether a webhook of a workspace can want the events. A process that is not fresh waits until it is.
func (i *Interests) wantsQuota(workspaceID string) bool {
	return i.all.Load().byWorkspace[workspaceID].Has(QuotaThresholdReached)
}

// Look records the thresholds that were reached.
func (q *QuotaWatch) Look(ctx context.Context) error {
	if !q.o.Interests.all.Load().union.Has(QuotaThresholdReached) {
		return nil
	}
	now := q.o.Now().UTC()
	day, month := now.Format(time.DateOnly), now.Format("2006-01")
	owners := map[string]QuotaOwner{}
	var ids []string
	for _, o := range q.o.Owners(q.o.Interests.wantsQuota) {
		owners[o.id()] = o
		ids = append(ids, o.id())
	}
	if len(ids) == 0 {
		return nil
	}
	for mark := range q.told {
		if mark.period != day && mark.period != month {
			delete(q.told, mark)
		}
	}
	used, err := q.o.Used(ctx, ids, []string{day, month})
	if err != nil {
		return err
	}
	for _, u := range used {
		owner, ok := owners[u.OwnerID]
		if !ok {
			continue
		}
		name, limit := "daily", owner.Daily
		resets := time.Date(now.Year(), now.Month(), now.Day()+1, 0, 0, 0, 0, time.UTC)
		if u.Period == month {
			name, limit = "monthly", owner.Monthly
			resets = time.Date(now.Year(), now.Month()+1, 1, 0, 0, 0, 0, time.UTC)
		}
		for _, percent := range reached(u.Used, limit) {
			mark := quotaMark{u.OwnerID, u.Period, percent}
			if q.told[mark] {
				continue
			}
			if err := q.o.Recorder.Record(ctx, owner.event(name, mark, u.Used, limit, resets)); err != nil {
				return err
			}
			q.told[mark] = true
		}
	}
	return nil
}

// reached returns the thresholds that a use has reached, lowest first.
func reached(used, limit int64) (list []int) {
	if limit <= 0 {
		return nil
	}
	for _, percent := range thresholds {
		if float64(used)*100 >= float64(limit)*float64(percent) {
			list = append(list, percent)
		}
	}
	return list
}

func (o *QuotaOwner) event(name string, mark quotaMark, used, limit int64, resets time.Time) Event {
	e := Event{
		Type: QuotaThresholdReached, WorkspaceID: o.WorkspaceID,
		Once: fmt.Sprintf("%s:%s:%s:%d", QuotaThresholdReached, mark.owner, mark.period, mark.percent),
		Data: map[string]any{
			"quota": name, "period": mark.period, "percent": mark.percent, "used": used, "limit": limit, "resetsAt": resets, "keyId": nil,
		},
	}
	if o.KeyID != "" {
		e.Data["keyId"] = o.KeyID
	}
	return e
}
