package main

import (
	"os"

	"keepsake/bench/recall"
)

// measureRecall measures how much of the evidence for a question a recall finds. It takes no turns.
func measureRecall(contest) error { return recall.Measure(os.Stdout) }
