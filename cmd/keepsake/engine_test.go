package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	_ "github.com/jackc/pgx/v5/stdlib"
	"github.com/rogpeppe/go-internal/testscript"

	"keepsake/internal/app/apptest"
	"keepsake/internal/testing/enginetest"
)

// serverVariable names the server on which data folders of scripts have their databases; unset on SQLite.
const serverVariable = "SCRIPT_POSTGRES"

// useEngine lets scripts run on the engine that the tests run on, and ask for it as a condition: [sqlite], [postgres].
func useEngine(t *testing.T, p *testscript.Params) {
	t.Helper()
	postgres := apptest.OnPostgres(t)
	server := ""
	if postgres {
		s := enginetest.StartPostgres(t, enginetest.PostgresOptions{Fsync: true}) // without it there are warnings
		s.Exec(t, "ALTER ROLE "+enginetest.Role+" CREATEDB")
		server = s.URL("postgres")
	}
	p.Setup = func(e *testscript.Env) error {
		e.Setenv(serverVariable, server)
		e.Setenv("TMPDIR", os.TempDir()) // the script's own is too long for the path of a socket
		e.Values[testKey{}] = e.T()      // of the script, not of all scripts
		return nil
	}
	p.Condition = func(name string) (bool, error) {
		switch name {
		case "sqlite":
			return !postgres, nil
		case "postgres":
			return postgres, nil
		default:
			return false, fmt.Errorf("there is no condition %s", name)
		}
	}
}

// scripted is the stage of a command of a script: on PostgreSQL, where the command works on a data folder and names no
// database, with the one that belongs to the folder.
func scripted(args []string) *stage {
	st := terminal()
	st.scryptWork = 4
	server := st.getenv(serverVariable)
	st.env = slices.DeleteFunc(st.env, func(v string) bool { return strings.HasPrefix(v, serverVariable+"=") })
	dir := scriptFolder(st, args)
	if server == "" || dir == "" || st.getenv("KEEPSAKE_DATABASE_URL") != "" {
		return st
	}
	url, err := databaseOf(server, dir)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(100)
	}
	st.env = append(st.env, "KEEPSAKE_DATABASE_URL="+url)
	return st
}

// scriptFolder is the data folder that a command works on; empty where it works on none.
func scriptFolder(st *stage, args []string) string {
	dir := st.getenv("KEEPSAKE_DATA")
	if dir == "" {
		dir = "keepsake-data"
	}
	for i, arg := range args {
		name, value, given := strings.Cut(arg, "=")
		if !given && i+1 < len(args) {
			value = args[i+1]
		}
		switch name {
		case "--url", "--database-url", "migrate", "version", "help", "openapi", "conformance":
			return ""
		case "--data":
			dir = value
		}
	}
	return dir
}

// databaseOf gives the database of a folder, and makes it where there is none yet. It goes with the server.
func databaseOf(server, dir string) (string, error) {
	path, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256([]byte(path))
	name := "folder_" + hex.EncodeToString(sum[:8])
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, server)
	if err != nil {
		return "", err
	}
	defer conn.Close(ctx)
	_, err = conn.Exec(ctx, "CREATE DATABASE "+name+" TEMPLATE template0")
	// Another command may have made it, also at the same moment.
	if refused, ok := err.(*pgconn.PgError); err != nil && (!ok || refused.Code != "42P04" && refused.Code != "23505") {
		return "", err
	}
	return strings.Replace(server, "/postgres?", "/"+name+"?", 1), nil
}
