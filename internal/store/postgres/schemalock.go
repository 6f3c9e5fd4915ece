package postgres

import (
	"context"
	"fmt"
	"hash/fnv"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"

	"keepsake/internal/store/schema"
)

// A program must not write to a schema that it does not understand, and a newer program can migrate the schema at any
// time. So each connection to a part shares a lock with all others. Once it has the lock, it reads the oldest schema
// version that a program must know. A migration that older programs cannot work with takes the lock alone: it ends the
// connections that hold it, including their transactions, and admits new ones when it is done. Transactions check
// nothing.

// outdatedError reports that a part's schema requires a newer program.
type outdatedError struct {
	schema                 string
	version, oldest, known int64
}

func (e *outdatedError) Error() string {
	return fmt.Sprintf("the schema %s has version %d and requires a program that knows version %d; this one knows %d: start the newer keepsake that migrated it",
		e.schema, e.version, e.oldest, e.known)
}

// useLock returns the keys of the lock that all connections to a part share.
func useLock(part string) (class, key int32) { return lockNumbers("use " + schemas[part]) }

// lockNumbers returns the two keys of an advisory lock.
func lockNumbers(name string) (class, key int32) {
	h := fnv.New32a()
	h.Write([]byte(name))
	return lockClass, int32(h.Sum32())
}

// admit decides whether a new connection can use a part.
func (e *Engine) admit(ctx context.Context, conn *pgx.Conn, part string) error {
	known, err := e.target(part)
	if err != nil {
		return err
	}
	class, key := useLock(part)
	// Two statements: the second sees what was committed before the lock was granted.
	results, err := conn.PgConn().Exec(ctx, fmt.Sprintf(
		"SELECT pg_advisory_lock_shared(%d, %d); SELECT max(oldest), max(version_id) FROM %s.%s", class, key, schemas[part], schema.Table)).ReadAll()
	if err != nil {
		return err
	}
	if len(results) != 2 || len(results[1].Rows) != 1 {
		return fmt.Errorf("the schema %s does not say which programs can use it", schemas[part])
	}
	found := &outdatedError{schema: schemas[part], known: known}
	for i, into := range []*int64{&found.oldest, &found.version} {
		if *into, err = strconv.ParseInt(string(results[1].Rows[0][i]), 10, 64); err != nil {
			return fmt.Errorf("the schema %s does not say which programs can use it: %w", schemas[part], err)
		}
	}
	if found.oldest <= known {
		return nil
	}
	e.outdated.Do(func() {
		e.opt.Log.Error("schema requires a newer release; start that release instead",
			"schema", found.schema, "version", found.version, "needed", found.oldest, "known", known)
	})
	return found
}

// schemaLockWait is how long lockSchema tries to get the lock. It is shorter than Lock, because requests wait meanwhile.
const schemaLockWait = 3 * time.Second

// lockSchema ends all connections to a part and keeps new ones waiting until open is called.
func (p part) lockSchema(ctx context.Context, e *Engine) (open func(), err error) {
	conn, err := e.connect(ctx, p.place, p.name)
	if err != nil {
		return nil, err
	}
	open = func() { closeConn(conn) }
	ctx, cancel := context.WithTimeout(ctx, schemaLockWait)
	defer cancel()
	class, key := useLock(p.name)
	locked := make(chan error, 1)
	go func() {
		_, err := conn.Exec(ctx, "SELECT pg_advisory_lock($1, $2)", class, key)
		locked <- err
	}()
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	for {
		_, cutErr := p.conn.Exec(ctx, `
			SELECT pg_terminate_backend(pid) FROM pg_locks
			WHERE locktype = 'advisory' AND classid = $1 AND objid = $2 AND objsubid = 2 AND mode = 'ShareLock' AND granted
				AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`, uint32(class), uint32(key))
		if cutErr != nil {
			cancel()
			<-locked
			open()
			return nil, cutErr
		}
		select {
		case err := <-locked:
			if err != nil {
				open()
				return nil, err
			}
			return open, nil
		case <-again.C:
		}
	}
}
