package account_test

import "testing"

// A token that was verified before, as every request but its first has it.
func BenchmarkAuthenticateToken(b *testing.B) {
	o := newOffice(b)
	token := o.login(b).AccessToken
	b.ReportAllocs()
	for b.Loop() {
		if _, err := o.bearers.Authenticate(b.Context(), token, here, o.now()); err != nil {
			b.Fatal(err)
		}
	}
}
