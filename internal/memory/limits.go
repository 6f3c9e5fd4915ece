package memory

import (
	"context"
	"math"

	"keepsake/internal/base/problem"
)

// tierLimits are the limits of a workspace's tier.
type tierLimits struct {
	store       countStore
	maxMemories func(workspaceID string) *int64
	maxBytes    func(workspaceID string) *int64
}

// countStore counts what a workspace stores. MemoryCount and AddMemoryCount lock the count of memories and StorageRoom that
// of bytes until the transaction ends; to avoid a deadlock, memories are counted before bytes.
type countStore interface {
	// MemoryCount reads how many memories a workspace has.
	MemoryCount(ctx context.Context, workspaceID string) (int64, error)
	// AddMemoryCount changes the number.
	AddMemoryCount(ctx context.Context, workspaceID string, by int64) error
	// StorageRoom returns how many bytes a workspace can still store if most is its limit.
	StorageRoom(ctx context.Context, workspaceID string, most int64) (int64, error)
}

var errFull = problem.LimitReached("memories", "The workspace has reached the number of memories that its tier allows.")

// room is what a workspace can still add.
type room struct {
	memories   int64
	bytes      int64
	limitBytes bool
}

// room reads what a workspace can add in the transaction of ctx. Until it ends, no other transaction can add anything if
// there is a limit.
func (l *tierLimits) room(ctx context.Context, workspaceID string) (r room, err error) {
	r = room{memories: math.MaxInt64, bytes: math.MaxInt64}
	if limit := l.maxMemories(workspaceID); limit != nil {
		n, err := l.store.MemoryCount(ctx, workspaceID)
		if err != nil {
			return r, err
		}
		r.memories = *limit - n
	}
	if limit := l.maxBytes(workspaceID); limit != nil {
		r.limitBytes = true
		r.bytes, err = l.store.StorageRoom(ctx, workspaceID, *limit)
	}
	return r, err
}

// checkPlan refuses a plan, once it is stored, if the workspace stores more than its limit: plans count as stored bytes. Single
// memories and subjects can still be erased, which needs no space. A plan that erases nothing is not refused.
func (l *tierLimits) checkPlan(ctx context.Context, workspaceID string, plan *StoredPlan) error {
	limit := l.maxBytes(workspaceID)
	if limit == nil {
		return nil
	}
	left, err := l.store.StorageRoom(ctx, workspaceID, *limit)
	if err == nil && left < 0 && len(plan.MemoryIDs) > 0 {
		err = problem.StorageFull()
	}
	return err
}

// take uses bytes and reports whether there is room for them. A write that frees bytes always fits.
func (r *room) take(bytes int64) bool {
	if bytes > 0 && bytes > r.bytes {
		return false
	}
	r.bytes -= bytes
	return true
}
