package enginetest

import (
	"bytes"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// CPU is what the server has used of processors since its start, with all its processes.
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

// Logged is how many bytes the server has written to its log of changes.
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

// CPU is what the server has used of processors since its start.
func (s *RedisServer) CPU(t testing.TB) time.Duration {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	return cpuOf(t, s.cmd.Process.Pid)
}

// tick is the unit of the times in /proc, the same on every Linux.
const tick = 10 * time.Millisecond

// cpuOf is what a process and its children that have ended have used; nothing where it has ended, too.
func cpuOf(t testing.TB, pid int) time.Duration {
	t.Helper()
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	// "123 (name) S …": the name may hold anything, so the fields are counted from its end; the times are 14 to 17.
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	sum := time.Duration(0)
	for _, field := range fields[11:15] {
		var ticks int64
		if _, err := fmt.Sscan(string(field), &ticks); err != nil {
			t.Fatalf("read /proc/%d/stat: %v", pid, err)
		}
		sum += time.Duration(ticks) * tick
	}
	return sum
}
