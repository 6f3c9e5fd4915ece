package main

import "os"

// endBy ends this process at once. Windows has no signal that a process can send itself.
func endBy(os.Signal) { os.Exit(exitFailed) }
