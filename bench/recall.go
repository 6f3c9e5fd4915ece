package main

import (
	"flag"
	"os"

	"keepsake/bench/recall"
)

// onAside selects the questions that are set aside.
var onAside = flag.Bool("aside", false, "recall: ask the questions that are set aside, on which no weight may be chosen")

// fitWeights selects fitting the weights.
var fitWeights = flag.Bool("fit", false, "recall: fit the weights to the questions that are not set aside")

// measureRecall measures how much of the evidence for a question a recall finds. It takes no turns.
func measureRecall(contest) error {
	if *fitWeights {
		return recall.Fit(os.Stdout)
	}
	return recall.Measure(os.Stdout, *onAside)
}
