package audit_test

import (
	"context"
	"fmt"
	"net/netip"
	"testing"
	"time"

	"keepsake/internal/base/id"
	"keepsake/internal/govern/audit"
	"keepsake/internal/store"
	"keepsake/internal/store/sqlite"
	"keepsake/internal/store/sqlite/sqlitetest"
)

// A million recalls a day are a million rows. Each shows ten memories of the last month, the default of a recall, as keys,
// addresses and request IDs of this program are.
func TestReadTakesLittleSpace(t *testing.T) {
	t.Parallel()
	const (
		recalls  = 4000
		subjects = 200
		shown    = 10
	)
	write := func(l *audit.Log, s *store.Store) {
		memories := map[string][]string{}
		recall := func(l *audit.Log, n int) audit.Entry {
			workspace := "wsp_01kakakakafkhvayayayayayay"
			subject := fmt.Sprint("subject-", n*7919%subjects)
			for i := range shown {
				if len(memories[subject]) < shown {
					created := noon.Add(-30 * 24 * time.Hour * time.Duration((n*31+i*17)%100) / 100)
					memories[subject] = append(memories[subject], id.At(id.Memory, created, randomness{}))
				}
			}
			at := noon.Add(time.Duration(n) * 86 * time.Millisecond)
			return audit.Entry{
				Action: audit.MemoryRecalled, WorkspaceID: workspace, Actor: fmt.Sprintf("key_01kakakakafkhvayayayayay%02d", n%5),
				Target: l.Subject(workspace, subject), Count: shown, At: at, Address: netip.MustParseAddr("192.0.2.7"),
				RequestID: id.At(id.Request, at, randomness{}), Details: map[string]string{audit.MemoryIDs: audit.JoinMemoryIDs(memories[subject])},
			}
		}
		for from := 0; from < recalls; from += 100 {
			err := s.Run(t.Context(), func(ctx context.Context) error {
				for n := range 100 {
					if err := l.Record(ctx, recall(l, from+n)); err != nil {
						return err
					}
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	for name, test := range map[string]struct {
		open func(t *testing.T) store.Engine
		size string
		max  int64
	}{
		"sqlite": {
			func(t *testing.T) store.Engine {
				e, err := sqlite.Open(t.Context(), sqlite.Options{Dir: sqlitetest.Dir(t)})
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { e.Close() })
				return e
			},
			"SELECT (SELECT page_size FROM pragma_page_size) * (SELECT page_count FROM pragma_page_count)",
			300,
		},
		"postgres": {
			func(t *testing.T) store.Engine { return openPostgres(t) },
			"SELECT pg_total_relation_size('audit_log') + pg_total_relation_size('audit_read')",
			450,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := test.open(t)
			s := store.New(e)
			l := setup(t).Log
			l.Store, l.Units = s.Audit, s
			size := func() (n int64) {
				if err := e.Main().In(t.Context()).QueryRow(t.Context(), test.size).Scan(&n); err != nil {
					t.Fatal(err)
				}
				return n
			}
			before := size()
			write(l, s)
			each := (size() - before) / recalls
			t.Logf("a read of %d memories takes %d bytes", shown, each)
			if each > test.max {
				t.Errorf("a read of %d memories takes %d bytes, want at most %d", shown, each, test.max)
			}
		})
	}
}
