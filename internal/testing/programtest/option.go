package programtest

import (
	"net"
	"os"
	"os/exec"
	"testing"

	"keepsake/internal/testing/enginetest"
)

// Option changes how the program is started.
type Option func(*launch)

// launch contains what the options have set.
type launch struct {
	t        testing.TB
	program  string   // its path
	through  []string // a command that runs it
	env      []string
	flags    []string
	files    []*os.File // open in the process from descriptor 3 on
	user     func(*exec.Cmd)
	listen   string // address of the API
	backend  string // address of the probes
	database string
	key      string
}

// Program starts another program than Binary.
func Program(path string) Option { return func(l *launch) { l.program = path } }

// Env adds environment variables. Later ones replace earlier ones.
func Env(list ...string) Option { return func(l *launch) { l.env = append(l.env, list...) } }

// Flags adds arguments.
func Flags(list ...string) Option { return func(l *launch) { l.flags = append(l.flags, list...) } }

// Key is the API key that requests carry. Without it, a process on a new folder has the key of its first start.
func Key(key string) Option { return func(l *launch) { l.key = key } }

// Listen chooses the addresses of the API and of the probes, which are otherwise free ones. A process that replaces another
// one keeps its addresses this way.
func Listen(primary, backend string) Option {
	return func(l *launch) { l.listen, l.backend = primary, backend }
}

// Database is the address of the database. Without it, the process has the database that apptest.DatabaseURL gives its
// folder: none on the embedded engine.
func Database(url string) Option { return func(l *launch) { l.database = url } }

// Redis is the address of the Redis that processes share.
func Redis(url string) Option { return Env("KEEPSAKE_REDIS_URL=" + url) }

// Through runs the program through a command: the program and its arguments follow those of the command. The command must
// replace itself by the program, or end with it.
func Through(command ...string) Option {
	return func(l *launch) { l.through = append(l.through, command...) }
}

// Inherit gives the process an open socket to serve the API on, as a service manager does.
func Inherit(listener *net.TCPListener) Option {
	return func(l *launch) {
		l.t.Helper()
		file, err := listener.File()
		if err != nil {
			l.t.Fatalf("inherit a socket: %v", err)
		}
		l.files = []*os.File{file}
		l.listen = listener.Addr().String()
		// Only the process knows its own number, which LISTEN_PID has to name.
		l.through = append(l.through, "sh", "-c", `LISTEN_PID=$$ LISTEN_FDS=1 LISTEN_FDNAMES=primary exec "$@"`, "sh")
	}
}

// addresses completes the addresses that no option has chosen.
func (l *launch) addresses() {
	if l.listen == "" {
		l.listen = enginetest.FreeAddress(l.t)
	}
	if l.backend == "" {
		l.backend = enginetest.FreeAddress(l.t)
	}
}
