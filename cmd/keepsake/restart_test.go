package main

import (
	"net"
	"os/exec"
	"path/filepath"
	"testing"

	"keepsake/internal/testing/programtest"
	"keepsake/internal/testing/testtier"
)

// A service manager holds the listening socket; one process ends and the next one starts under load.
func TestARestartOnAnInheritedSocketFailsNoRequest(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	program, err := exec.LookPath("keepsake") // this test binary, see TestMain
	if err != nil {
		t.Fatal(err)
	}
	data := filepath.Join(t.TempDir(), "d")
	start := func(key string) *programtest.Process {
		t.Helper()
		return programtest.Start(t, data, programtest.Program(program), programtest.Inherit(l.(*net.TCPListener)),
			programtest.Flags("--log-level", "error"), programtest.Key(key))
	}
	p, url := start(""), "http://"+l.Addr().String()
	load := programtest.StartLoad(t, programtest.LoadOptions{Clients: 8, Key: p.Key, Target: func() string { return url }})
	for range testtier.Rounds(1, 3) {
		load.Await(30)
		p.Stop()
		p = start(p.Key)
	}
	load.Await(30)
	load.End()
	p.Stop()
}
