package clients_test

import (
	"os"
	"testing"

	"keepsake/internal/testing/enginetest"
	"keepsake/internal/testing/programtest"
	"keepsake/internal/testing/testtier"
)

// secret is the backend secret of the programs.
const secret = "a-secret-of-the-backend-listener"

// environment is the environment of a client's own tests. It names a program that is only for them, the key and the password
// (of admin@localhost) of its first start, and its backend secret.
func environment(p *programtest.Process) []string {
	return append(os.Environ(),
		"KEEPSAKE_URL="+p.URL, "KEEPSAKE_BACKEND_URL="+p.BackendURL, "KEEPSAKE_BACKEND_SECRET="+secret,
		"KEEPSAKE_KEY="+p.Key, "KEEPSAKE_PASSWORD="+p.Password)
}

// start starts a program whose webhooks can be delivered to this machine.
func start(t *testing.T, options ...programtest.Option) *programtest.Process {
	t.Helper()
	return programtest.Start(t, t.TempDir(), append(options, programtest.Env(
		"KEEPSAKE_BACKEND_SECRET="+secret, "KEEPSAKE_WEBHOOKS_ALLOW_PRIVATE=true"))...)
}

// TestSuitesOfTheClientsPassOnTheProgram runs the tests that each client has in its own language, on each engine.
func TestSuitesOfTheClientsPassOnTheProgram(t *testing.T) {
	t.Parallel()
	testtier.Long(t, "starts the program and Node")
	engines := map[string]func(t *testing.T) []programtest.Option{
		"SQLite": func(*testing.T) []programtest.Option { return nil },
		"PostgreSQL": func(t *testing.T) []programtest.Option {
			return []programtest.Option{programtest.Database(enginetest.Postgres(t)), programtest.Redis(enginetest.Redis(t))}
		},
	}
	for _, l := range libraries {
		t.Run(l.language, func(t *testing.T) {
			t.Parallel()
			if l.calls == nil {
				t.Skip("this client is not complete")
			}
			for engine, options := range engines {
				t.Run(engine, func(t *testing.T) {
					t.Parallel()
					cmd := l.suite(t)
					p := start(t, options(t)...)
					cmd.Env = environment(p)
					if out, err := cmd.CombinedOutput(); err != nil {
						t.Errorf("the tests of the %s client: %v\n%s", l.language, err, out)
					}
				})
			}
		})
	}
}
