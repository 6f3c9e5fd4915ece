//go:build unix

package programtest

import (
	"os"
	"os/exec"
	"syscall"

	"keepsake/internal/testing/testtier"
)

// As runs the program as another user. The test is skipped if it cannot.
func As(id uint32) Option {
	return func(l *launch) {
		l.t.Helper()
		if os.Getuid() != 0 {
			testtier.Missing(l.t, "root, to run the program as another user")
		}
		l.user = func(cmd *exec.Cmd) {
			cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: id, Gid: id}}
		}
	}
}
