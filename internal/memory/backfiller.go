package memory

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math"
	"slices"
	"sync"
	"time"

	"keepsake/internal/base/unit"
	"keepsake/internal/govern/audit"
	"keepsake/internal/govern/auth"
	"keepsake/internal/memory/embedding"
	"keepsake/internal/memory/seal"
)

// Backfiller gets the vectors of memories from the embeddings endpoint and stores them: soon after a memory is written, and for
// all memories of a workspace that begins to use the endpoint. What is missing is known from the database, so an interrupted
// back-fill continues.
//
// Vectors are a change of their subject, so that recall indexes read them like other changes.
type Backfiller struct {
	store interface {
		subjectStore
		subjectLocker
		rowStore
		vectorStore
	}
	units      unit.Runner
	opener     *opener
	log        accessLog
	embeddings *Embeddings
	now        clock
	logger     *slog.Logger

	wakeChanged, wakeMissing chan struct{}

	mu      sync.Mutex
	changed map[indexName]bool // subjects that this process has written
	scan    bool               // look for others
	scanned time.Time
	using   []string // the workspaces that used the endpoint then
}

const (
	backfillEvery = time.Minute
	// retryEvery is how long a failed attempt waits at least.
	retryEvery = time.Second
	// rescanEvery is how often a back-fill looks for subjects that another process wrote and did not complete.
	rescanEvery = 10 * time.Minute
	// maxChanged is the number of changed subjects that are remembered. Beyond it, a scan finds them.
	maxChanged = 10_000
	// fillers is the number of subjects whose vectors are requested at once: as many of changed subjects as of others.
	fillers = 4
	// maxBatchBytes is the size of the texts of a request.
	maxBatchBytes = 256 << 10
)

func (b *Backfiller) init() {
	b.wakeChanged, b.wakeMissing = make(chan struct{}, 1), make(chan struct{}, 1)
	b.changed, b.scan = map[indexName]bool{}, true
}

// noteChanged requests the vectors of a subject that was written.
func (b *Backfiller) noteChanged(workspaceID string, subject Hash) {
	if !b.embeddings.uses(workspaceID) {
		return
	}
	b.mu.Lock()
	if len(b.changed) < maxChanged {
		b.changed[indexName{workspaceID, subject}] = true
	} else {
		b.scan = true
	}
	b.mu.Unlock()
	wake(b.wakeChanged)
}

// Wake looks for memories without vectors, for example because a workspace begins to use the endpoint.
func (b *Backfiller) Wake() { wake(b.wakeMissing) }

func wake(ch chan struct{}) {
	select {
	case ch <- struct{}{}:
	default:
	}
}

// Run gets vectors until ctx ends. Changed subjects do not wait for a back-fill of all others, which can take days.
func (b *Backfiller) Run(ctx context.Context) {
	if b.embeddings == nil {
		return
	}
	var running sync.WaitGroup
	running.Go(func() { b.repeat(ctx, b.wakeChanged, b.fillChanged) })
	running.Go(func() { b.repeat(ctx, b.wakeMissing, b.fillMissing) })
	running.Wait()
}

// repeat calls fill now, when it is woken, when a pause of the endpoint is over, and every minute.
func (b *Backfiller) repeat(ctx context.Context, woken chan struct{}, fill func(ctx context.Context) error) {
	for {
		err := fill(ctx)
		wait := backfillEvery
		switch {
		case err == nil || ctx.Err() != nil:
		case !endpointError(err):
			b.logger.WarnContext(ctx, "embedding memories failed", "error", err.Error())
		case stopsAll(err):
			// After the pause, one request finds out whether the endpoint works again; until it has, the pause is 0.
			wait = min(wait, max(b.embeddings.Client.MemoriesPause(), retryEvery))
		}
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-timer.C:
		case <-woken:
			timer.Stop()
		}
	}
}

// endpointError reports whether an error says that the endpoint gives no vectors now, which the client has logged.
func endpointError(err error) bool {
	return stopsAll(err) || errors.Is(err, embedding.ErrLimit)
}

// stopsAll reports whether an endpoint error is that of all workspaces, not that of one whose share of the day is used.
func stopsAll(err error) bool {
	_, failed := errors.AsType[*embedding.Error](err)
	return failed || errors.Is(err, embedding.ErrPaused)
}

// Backfill gets the vectors that are known to be missing, once. After an error, the next call looks for all that are missing.
func (b *Backfiller) Backfill(ctx context.Context) error {
	if b.embeddings == nil {
		return nil
	}
	return errors.Join(b.fillChanged(ctx), b.fillMissing(ctx))
}

// fillChanged gets the vectors of subjects that this process has written.
func (b *Backfiller) fillChanged(ctx context.Context) error {
	b.mu.Lock()
	idle := len(b.changed) == 0
	b.mu.Unlock()
	if idle {
		return nil
	}
	if err := b.ready(ctx); err != nil {
		return err
	}
	b.mu.Lock()
	changed := b.changed
	b.changed = map[indexName]bool{}
	b.mu.Unlock()
	err := b.fillAll(ctx, slices.Collect(maps.Keys(changed)))
	if err != nil { // this loop tries again after the endpoint's pause, and the other one finds what has no room here
		b.mu.Lock()
		b.scan = true
		if endpointError(err) {
			for name := range changed {
				if len(b.changed) < maxChanged {
					b.changed[name] = true
				}
			}
		}
		b.mu.Unlock()
	}
	return err
}

// ready finds out the length of the endpoint's vectors and their baseline, and returns why no texts can be sent now.
func (b *Backfiller) ready(ctx context.Context) error {
	switch client := b.embeddings.Client; {
	case client.MemoriesPaused():
		return embedding.ErrPaused
	case client.Baseline() == nil:
		return client.Try(ctx)
	}
	return nil
}

// fillMissing looks for subjects that lack vectors, if there can be any, and gets them.
func (b *Backfiller) fillMissing(ctx context.Context) error {
	using := b.embeddings.Workspaces()
	slices.Sort(using)
	b.mu.Lock()
	if len(using) == 0 {
		b.using = nil
	}
	due := b.scan || !slices.Equal(using, b.using) || b.now().Sub(b.scanned) >= rescanEvery
	b.mu.Unlock()
	if len(using) == 0 || !due {
		return nil
	}
	if err := b.ready(ctx); err != nil {
		return err
	}
	b.mu.Lock()
	b.scan, b.using = false, using
	b.mu.Unlock()
	err := b.embeddings.Alone(ctx, func(ctx context.Context) error {
		var errs []error
		for _, workspaceID := range using {
			err := b.fillWorkspace(ctx, workspaceID)
			if stopsAll(err) || ctx.Err() != nil {
				return err
			}
			errs = append(errs, err)
		}
		return errors.Join(errs...)
	})
	b.mu.Lock()
	defer b.mu.Unlock()
	if err != nil {
		b.scan = true
	} else {
		b.scanned = b.now()
	}
	return err
}

// fillWorkspace gets the vectors that a workspace lacks.
func (b *Backfiller) fillWorkspace(ctx context.Context, workspaceID string) error {
	const page = 500
	var after Hash
	var errs []error
	for {
		list, err := b.store.SubjectsToEmbed(ctx, workspaceID, b.embeddings.Client.Model(), after, page)
		if err != nil {
			return err
		}
		names := make([]indexName, len(list))
		for i, subject := range list {
			names[i] = indexName{workspaceID, subject}
		}
		err = b.fillAll(ctx, names)
		if endpointError(err) || ctx.Err() != nil {
			return err
		}
		errs = append(errs, err)
		if len(list) < page {
			return errors.Join(errs...)
		}
		after = list[len(list)-1]
	}
}

// fillAll gets the vectors of several subjects. An error about one subject or workspace does not keep others from theirs; one
// of the endpoint does.
func (b *Backfiller) fillAll(ctx context.Context, names []indexName) error {
	var mu sync.Mutex
	var errs []error
	stopped := false
	next := func() (name indexName, ok bool) {
		mu.Lock()
		defer mu.Unlock()
		if stopped || len(names) == 0 || ctx.Err() != nil {
			return name, false
		}
		name, names = names[0], names[1:]
		return name, true
	}
	var working sync.WaitGroup
	for range min(fillers, len(names)) {
		working.Go(func() {
			for name, ok := next(); ok; name, ok = next() {
				if err := b.fillSubject(ctx, name.workspaceID, name.subject); err != nil {
					mu.Lock()
					errs = append(errs, err)
					stopped = stopped || stopsAll(err)
					mu.Unlock()
				}
			}
		})
	}
	working.Wait()
	return errors.Join(append(errs, ctx.Err())...)
}

// filling is the work on one subject.
type filling struct {
	workspaceID string
	subjectID   string
	row         *SubjectRow // Change is the last one that this work knows
	key         *seal.DataKey
	model       string
}

// fillSubject gets the vectors that a subject lacks.
func (b *Backfiller) fillSubject(ctx context.Context, workspaceID string, subject Hash) error {
	if !b.embeddings.uses(workspaceID) {
		return nil
	}
	if b.embeddings.Client.Exhausted(workspaceID) {
		return embedding.ErrLimit
	}
	f := &filling{workspaceID: workspaceID, model: b.embeddings.Client.Model()}
	var err error
	if f.row, err = b.store.MemorySubject(ctx, workspaceID, subject); err != nil || f.row == nil || len(f.row.SealedID) == 0 {
		return err
	}
	after, err := b.store.Embedded(ctx, workspaceID, subject, f.model)
	if err != nil || after >= f.row.Change {
		return err
	}
	rows, err := b.store.MemoryChanges(ctx, workspaceID, subject, f.row.Generation, after, math.MaxInt64)
	if err != nil {
		return err
	}
	stored, err := b.store.MemoryVectors(ctx, workspaceID, subject, f.row.Generation, after, f.model)
	if err != nil {
		return err
	}
	done := make(map[string]int64, len(stored))
	for _, v := range stored {
		done[v.MemoryID] = v.Revision
	}
	rows = slices.DeleteFunc(rows, func(r *Row) bool { return done[r.ID] == r.Revision || r.expired(b.now()) })
	if f.key, err = b.opener.find(ctx, workspaceID, subject, f.row.Generation); err != nil || f.key == nil {
		return err
	}
	if f.subjectID, err = b.opener.name(ctx, workspaceID, f.row); err != nil {
		return err
	}
	if len(rows) == 0 {
		return b.save(ctx, f, nil, f.row.Change)
	}
	for len(rows) > 0 {
		n, err := b.embeddings.Client.Reserve(ctx, workspaceID, batchSize(rows))
		if err != nil {
			return err
		}
		upTo := f.row.Change
		if n < len(rows) {
			upTo = rows[n].Change - 1
		}
		if err := b.fillBatch(ctx, f, rows[:n], upTo); err != nil {
			return err
		}
		rows = rows[n:]
	}
	return nil
}

// batchSize returns how many of the rows are sent in one request.
func batchSize(rows []*Row) int {
	bytes := int64(0)
	for i, r := range rows[:min(len(rows), embedding.MaxBatch)] {
		if bytes += min(r.Size, embedding.MaxText); i > 0 && bytes > maxBatchBytes {
			return i
		}
	}
	return min(len(rows), embedding.MaxBatch)
}

// fillBatch gets the vectors of rows and stores them. The access log has an entry about it before a text is sent.
func (b *Backfiller) fillBatch(ctx context.Context, f *filling, rows []*Row, upTo int64) error {
	if b.embeddings.Client.MemoriesPaused() {
		return embedding.ErrPaused
	}
	texts, ids := make([]string, len(rows)), make([]string, len(rows))
	for i, r := range rows {
		m, err := open(f.workspaceID, r, f.key)
		if err != nil {
			return err
		}
		texts[i], ids[i] = m.Text, m.ID
	}
	p := &auth.Principal{WorkspaceID: f.workspaceID}
	if err := b.log.read(ctx, b.log.entries(p, audit.MemoryEmbedded, f.subjectID, ids)...); err != nil {
		return err
	}
	vectors, err := b.embeddings.Client.Memories(ctx, f.workspaceID, texts)
	if err != nil {
		return err
	}
	list := make([]*VectorRow, len(rows))
	for i, r := range rows {
		v := &VectorRow{MemoryID: r.ID, Subject: r.Subject, Revision: r.Revision, Model: f.model, OwnKey: r.OwnKey}
		if err := sealVector(f.workspaceID, f.row.Generation, v, f.key, vectors[i]); err != nil {
			return fmt.Errorf("encrypt the vector of memory %s: %w", r.ID, err)
		}
		list[i] = v
	}
	return b.save(ctx, f, list, upTo)
}

// save stores vectors and the change up to which the memories have them. It leaves out memories that were erased or changed
// since they were read, and does nothing if the subject was erased. If the subject has changed in the meantime, what is recorded
// says less than what is stored: two that fill one subject at once would leave it incomplete. So it is filled again.
func (b *Backfiller) save(ctx context.Context, f *filling, list []*VectorRow, upTo int64) error {
	subject, ids := f.row.Hash, make([]string, len(list))
	for i, v := range list {
		ids[i] = v.MemoryID
	}
	var change int64
	var followed bool // no one else has changed the subject
	err := b.units.Run(ctx, func(ctx context.Context) error {
		change, followed = f.row.Change, true
		locked, err := b.store.LockMemorySubjects(ctx, f.workspaceID, []Hash{subject}, b.now.stored())
		if err != nil {
			return err
		}
		row := locked[0]
		if row.Generation != f.row.Generation || len(row.SealedID) == 0 {
			return nil
		}
		rows, err := b.store.MemoriesByID(ctx, f.workspaceID, ids)
		if err != nil {
			return err
		}
		current := make(map[string]int64, len(rows))
		for _, r := range rows {
			current[r.ID] = r.Revision
		}
		kept := slices.DeleteFunc(slices.Clone(list), func(v *VectorRow) bool { return current[v.MemoryID] != v.Revision })
		followed = row.Change == f.row.Change
		if len(kept) > 0 {
			row.Change++
			for _, v := range kept {
				v.Change = row.Change
			}
			if err := b.store.PutMemoryVectors(ctx, f.workspaceID, kept); err != nil {
				return err
			}
			if err := b.store.SaveMemorySubjectCounts(ctx, f.workspaceID, []*SubjectRow{row}); err != nil {
				return err
			}
		}
		to := upTo
		if followed {
			if upTo == f.row.Change {
				to = row.Change
			}
			change = row.Change
		}
		return b.store.SetEmbedded(ctx, f.workspaceID, subject, to, f.model)
	})
	if err != nil {
		return fmt.Errorf("store vectors: %w", err)
	}
	f.row.Change = change
	if !followed {
		b.noteChanged(f.workspaceID, subject)
	}
	return nil
}
