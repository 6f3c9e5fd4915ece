package main

import (
	"flag"
	"os"

	"keepsake/bench/recall"
)

// onAside selects the questions that are set aside.
var onAside = flag.Bool("aside", false, "recall: ask the questions that are set aside, on which no weight may be chosen")

// measureRecall measures how much of the evidence for a question a recall finds. It takes no turns.
func measureRecall(contest) error { return recall.Measure(os.Stdout, *onAside) }
