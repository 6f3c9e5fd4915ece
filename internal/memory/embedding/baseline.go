package embedding

import "math"

// Baseline is what a model says about texts that have nothing to do with each other: the mean of the cosines of their vectors, and
// their standard deviation. Models differ: for some, unrelated texts have a cosine of .1, for others one of .7.
type Baseline struct{ Mean, Deviation float64 }

// questions and statements have nothing to do with each other. They are sent once, when a Client meets its model.
var (
	questions = []string{
		"What does she like to drink in the morning?", "When did he move to his new flat?", "Who repaired the bicycle?",
		"Where do they spend the summer?", "Why was the meeting cancelled?", "How many languages does her uncle speak?",
	}
	statements = []string{
		"The kettle of the school band was sold at an auction.", "Rust is a common problem of old bridges.", "The parcel weighs two kilograms.",
		"Penguins cannot fly.", "The committee published its report on soil.", "Granite is harder than marble.", "My printer is out of toner.",
		"The tax form has eleven pages.", "The comet will be visible to the naked eye.", "He won the chess tournament twice.",
		"The recipe needs a pinch of saffron.", "Their roof was covered with solar panels.",
	}
)

// baselineOf compares the vectors of the questions with those of the statements, which follow them.
func baselineOf(vectors []Vector) *Baseline {
	var sum, squares, n float64
	for _, q := range vectors[:len(questions)] {
		for _, s := range vectors[len(questions):] {
			c := cosine(q, s)
			sum, squares, n = sum+c, squares+c*c, n+1
		}
	}
	mean := sum / n
	return &Baseline{Mean: mean, Deviation: math.Sqrt(max(0, squares/n-mean*mean))}
}

func cosine(a, b Vector) float64 {
	var product, as, bs float64
	for i := range a {
		x, y := float64(a[i]), float64(b[i])
		product, as, bs = product+x*y, as+x*x, bs+y*y
	}
	if as == 0 || bs == 0 {
		return 0
	}
	return product / math.Sqrt(as*bs)
}
