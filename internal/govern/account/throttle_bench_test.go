package account_test

import "testing"

// BenchmarkThrottle counts a login that succeeds, without the hash, which takes tens of milliseconds.
func BenchmarkThrottle(b *testing.B) {
	visit := func(b *testing.B, o *office) {
		for b.Loop() {
			if err := o.Visit(b.Context(), email, here); err != nil {
				b.Fatal(err)
			}
		}
	}
	b.Run("OnSQLite", func(b *testing.B) { visit(b, newOffice(b)) })
	b.Run("OnPostgreSQL", func(b *testing.B) { visit(b, members(b)[0]) })
}
