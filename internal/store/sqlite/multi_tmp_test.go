package sqlite_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"keepsake/internal/store/sqlite"
)

func BenchmarkMultiQuota(b *testing.B) {
	for _, rows := range []int{1, 8, 32, 100} {
		b.Run(fmt.Sprint(rows), func(b *testing.B) {
			e, err := sqlite.Open(context.Background(), sqlite.Options{Dir: b.TempDir()})
			if err != nil {
				b.Fatal(err)
			}
			defer e.Close()
			var vals []string
			for i := range rows {
				vals = append(vals, fmt.Sprintf("($%d,$%d,$%d)", 3*i+1, 3*i+2, 3*i+3))
			}
			q := `INSERT INTO usage_quota (period, owner_id, charged) VALUES ` + strings.Join(vals, ",") + ` ON CONFLICT (period, owner_id) DO UPDATE SET charged = usage_quota.charged + excluded.charged`
			n := 20000 / rows
			run := func() {
				err := e.Usage().Run(context.Background(), func(ctx context.Context) error {
					for i := range n {
						args := make([]any, 0, rows*3)
						for j := range rows {
							args = append(args, "2026-11", fmt.Sprintf("key_%026d", i*rows+j), int64(1))
						}
						if _, err := e.Usage().In(ctx).Exec(ctx, q, args...); err != nil {
							return err
						}
					}
					return nil
				})
				if err != nil {
					b.Fatal(err)
				}
			}
			run()
			t := time.Now()
			b.ResetTimer()
			for range b.N {
				run()
			}
			b.ReportMetric(float64(time.Since(t).Microseconds())/float64(b.N)/20000, "µs/row")
		})
	}
}
