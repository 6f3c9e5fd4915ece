package main

import (
	"os"
	"time"

	"golang.org/x/term"
)

// terminal returns the stage of a real process.
func terminal() *stage {
	return &stage{
		in: os.Stdin, out: os.Stdout, err: os.Stderr, env: os.Environ(), now: time.Now,
		tty:    term.IsTerminal(int(os.Stdout.Fd())),
		errTTY: term.IsTerminal(int(os.Stderr.Fd())),
	}
}
