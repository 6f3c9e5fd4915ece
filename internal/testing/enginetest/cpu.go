package enginetest

import (
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// CPU returns the CPU time of the server and all its processes since its start.
func (s *PostgresServer) CPU(t testing.TB) time.Duration {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	pid := s.cmd.Process.Pid
	list, err := children(pid)
	if err != nil {
		t.Fatalf("look at the processes of postgres: %v", err)
	}
	sum := cpuOf(t, pid)
	for _, child := range list {
		sum += cpuOf(t, child)
	}
	return sum
}

// Logged returns how many bytes the server has written to its write-ahead log.
func (s *PostgresServer) Logged(t testing.TB) (bytes int64) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), s.url(superuser, "postgres"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	if err := conn.QueryRow(t.Context(), "SELECT (pg_current_wal_lsn() - '0/0'::pg_lsn)::bigint").Scan(&bytes); err != nil {
		t.Fatal(err)
	}
	return bytes
}

// CPU returns the CPU time of the server since its start.
func (s *RedisServer) CPU(t testing.TB) time.Duration {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	return cpuOf(t, s.cmd.Process.Pid)
}

// CPU returns the CPU time of the node since its start.
func (n *OpenSearchNode) CPU(t testing.TB) time.Duration {
	t.Helper()
	return cpuOf(t, n.pid)
}
