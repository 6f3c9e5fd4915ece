package enginetest

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

func TestMain(m *testing.M) { Main(m) }

func connect(t *testing.T, url string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close(context.WithoutCancel(t.Context())) })
	return conn
}

func TestEachTestHasAnEmptyDatabase(t *testing.T) {
	t.Parallel()
	for range 3 {
		conn := connect(t, Postgres(t))
		if _, err := conn.Exec(t.Context(), "CREATE TABLE a (n BIGINT)"); err != nil {
			t.Fatal(err)
		}
	}
}

func TestAServerOfOnesOwn(t *testing.T) {
	t.Parallel()
	s := StartPostgres(t, PostgresOptions{TCP: true, Password: "it's", Fsync: true})
	name := s.NewDatabase(t)
	ping := func(patience time.Duration) error {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		conn, err := pgx.Connect(ctx, s.TCPURL(s.Address(), name))
		if err != nil {
			return err
		}
		defer conn.Close(ctx)
		return conn.Ping(ctx)
	}
	if err := ping(time.Minute); err != nil {
		t.Fatal(err)
	}
	connect(t, s.URL(name))

	s.StopImmediately(t)
	if err := ping(time.Minute); err == nil {
		t.Fatal("a stopped server answered")
	}
	s.Start(t)
	if err := ping(time.Minute); err != nil {
		t.Fatal(err)
	}

	s.Pause(t)
	if err := ping(time.Second); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("a paused server: got %v, want no answer", err)
	}
	s.Resume(t)
	if err := ping(time.Minute); err != nil {
		t.Fatal(err)
	}
	s.Stop(t)
	s.Start(t)
	if err := ping(time.Minute); err != nil {
		t.Fatal(err)
	}
}
