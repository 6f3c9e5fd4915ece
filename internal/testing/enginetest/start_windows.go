package enginetest

import (
	"errors"
	"os/exec"
	"syscall"
)

// Windows has no such signals. find finds no servers there, so the following is never called.
const (
	pauseSignal  = syscall.Signal(0)
	resumeSignal = syscall.Signal(0)
)

func kill(int, syscall.Signal) error { return errors.ErrUnsupported }

func start(*exec.Cmd, syscall.Signal) (wait func() error, err error) {
	return nil, errors.ErrUnsupported
}

func startAsIs(*exec.Cmd, syscall.Signal) (wait func() error, err error) {
	return nil, errors.ErrUnsupported
}

func giveAway(string) error { return nil }
