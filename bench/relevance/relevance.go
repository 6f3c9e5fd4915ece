// Package relevance contains documents, queries and judgements that measure how well search ranks. README.md describes them.
package relevance

import (
	"embed"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"unicode/utf8"
)

//go:embed sections.txt queries.txt
var files embed.FS

// Document is a document to search.
type Document struct{ ID, Title, Text string }

// Query is a query with the grades of the documents that answer it: 2 if that is what a document is about, 1 if the document
// says it in passing.
type Query struct {
	Text   string
	Grades map[string]int // by ID
}

// Set is everything that a measurement needs.
type Set struct {
	Documents []Document
	Queries   []Query
}

// area is a part of sections.txt.
type area struct {
	name    string
	things  []string
	aspects []aspect
}

// aspect is what can be said about each thing of an area.
type aspect struct {
	name    string
	titles  []string
	says    []string
	details []string
}

// fact is an aspect of a thing.
type fact struct{ area, thing, aspect string }

// statement is a document and the facts in it; the first is what it is about.
type statement struct {
	Document
	facts []fact
}

// documentsEach is how many documents are about each fact.
const documentsEach = 2

// Load returns the set. It is the same each time.
func Load() (*Set, error) {
	areas, err := readAreas()
	if err != nil {
		return nil, err
	}
	statements := state(areas)
	set := &Set{}
	for i := range statements {
		set.Documents = append(set.Documents, statements[i].Document)
	}
	set.Queries, err = readQueries(statements)
	return set, err
}

func readAreas() ([]area, error) {
	text, err := files.ReadFile("sections.txt")
	if err != nil {
		return nil, err
	}
	var areas []area
	for i, line := range strings.Split(string(text), "\n") {
		kind, rest, _ := strings.Cut(line, " ")
		if kind == "" {
			continue
		}
		if kind == "=" {
			areas = append(areas, area{name: rest})
			continue
		}
		a := &areas[len(areas)-1]
		switch kind {
		case ".":
			a.things = strings.Split(rest, " | ")
			continue
		case "#":
			a.aspects = append(a.aspects, aspect{name: rest})
			continue
		}
		of := &a.aspects[len(a.aspects)-1]
		switch kind {
		case "!":
			of.titles = append(of.titles, rest)
		case "-":
			of.says = append(of.says, rest)
		case "+":
			of.details = append(of.details, rest)
		default:
			return nil, fmt.Errorf("sections.txt:%d begins with %q", i+1, kind)
		}
	}
	return areas, nil
}

// state writes the documents: about one aspect of one thing each, with sentences about one or two others.
func state(areas []area) []statement {
	r := rand.New(rand.NewPCG(16, 7))
	var all []statement
	for _, a := range areas {
		for _, thing := range a.things {
			for i := range a.aspects {
				first := r.IntN(len(a.aspects[i].says))
				for n := range documentsEach {
					all = append(all, write(r, &a, thing, i, n, first+n))
					all[len(all)-1].ID = fmt.Sprintf("%s-%04d", a.name, len(all))
				}
			}
		}
	}
	r.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all
}

func write(r *rand.Rand, a *area, thing string, about, title, says int) statement {
	main := &a.aspects[about]
	s := statement{facts: []fact{{a.name, thing, main.name}}}
	s.Title = fill(r, main.titles[title%len(main.titles)], thing)
	sentences := []string{fill(r, main.says[says%len(main.says)], thing)}
	if r.IntN(3) > 0 {
		sentences = append(sentences, fill(r, main.details[0], thing))
	}
	others := r.Perm(len(a.aspects))[:1+r.IntN(2)]
	for _, other := range others {
		if other != about {
			of := &a.aspects[other]
			sentences = append(sentences, fill(r, of.says[r.IntN(len(of.says))], thing))
			s.facts = append(s.facts, fact{a.name, thing, of.name})
		}
	}
	s.Text = strings.Join(sentences, " ")
	return s
}

// fill replaces the places in braces, and begins with a capital letter.
func fill(r *rand.Rand, sentence, thing string) string {
	days := []string{"Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"}
	months := []string{"January", "February", "March", "April", "May", "June", "July", "September", "October", "November"}
	names := []string{"Mrs Okafor", "Mr Lindqvist", "Ana Ferreira", "Tomasz", "Dr Weiss", "Old Hannah", "Mr Petrov", "Ines"}
	of := func(list []string) string { return list[r.IntN(len(list))] }
	sentence = strings.NewReplacer(
		"{e}", thing, "{day}", of(days), "{month}", of(months), "{name}", of(names), "{n}", fmt.Sprint(3+r.IntN(27)),
		"{price}", fmt.Sprint(2+r.IntN(30)), "{time}", fmt.Sprintf("%d:%02d", 6+r.IntN(5), 15*r.IntN(4)),
		"{time2}", fmt.Sprintf("%d:%02d", 16+r.IntN(7), 15*r.IntN(4)),
	).Replace(sentence)
	return strings.ToUpper(sentence[:1]) + sentence[1:]
}

func readQueries(statements []statement) ([]Query, error) {
	text, err := files.ReadFile("queries.txt")
	if err != nil {
		return nil, err
	}
	var queries []Query
	for i, line := range strings.Split(string(text), "\n") {
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		field := strings.Split(line, " | ")
		if len(field) != 4 {
			return nil, fmt.Errorf("queries.txt:%d has %d fields", i+1, len(field))
		}
		q := Query{Text: field[3], Grades: grade(statements, fact{field[0], field[1], field[2]})}
		if len(q.Grades) == 0 {
			return nil, fmt.Errorf("queries.txt:%d is answered by no document", i+1)
		}
		queries = append(queries, q)
	}
	return queries, nil
}

// grade returns the grades of the documents that state a fact. The thing * is any.
func grade(statements []statement, wanted fact) map[string]int {
	grades := map[string]int{}
	for i := range statements {
		for n, f := range statements[i].facts {
			if f.area != wanted.area || f.aspect != wanted.aspect || wanted.thing != "*" && f.thing != wanted.thing {
				continue
			}
			if grades[statements[i].ID] = 1; n == 0 {
				grades[statements[i].ID] = 2
				break
			}
		}
	}
	return grades
}

// NDCG returns the normalised discounted cumulative gain of the first ten of ids: 1 is the best order.
func NDCG(ids []string, grades map[string]int) float64 {
	const depth = 10
	gain := func(grade, rank int) float64 { return (math.Exp2(float64(grade)) - 1) / math.Log2(float64(rank+2)) }
	sum := 0.0
	for rank, id := range ids[:min(len(ids), depth)] {
		sum += gain(grades[id], rank)
	}
	var best []int
	for _, grade := range grades {
		best = append(best, grade)
	}
	slices.Sort(best)
	slices.Reverse(best)
	ideal := 0.0
	for rank, grade := range best[:min(len(best), depth)] {
		ideal += gain(grade, rank)
	}
	return sum / ideal
}

// Misspell changes one letter, but not the first, of one of the words of q with at least five letters. It returns false if
// there is none.
func Misspell(r *rand.Rand, q string) (string, bool) {
	const letters = "etaoinshrdlucmfwygpbvk"
	words := strings.Fields(q)
	var long []int
	for i, w := range words {
		if len(w) >= 5 && len(w) == utf8.RuneCountInString(w) && !strings.ContainsAny(w, "',") {
			long = append(long, i)
		}
	}
	if len(long) == 0 {
		return q, false
	}
	i := long[r.IntN(len(long))]
	w := words[i]
	at := 1 + r.IntN(len(w)-2)
	letter := string(letters[r.IntN(len(letters))])
	switch r.IntN(4) {
	case 0:
		words[i] = w[:at] + letter + w[at+1:]
	case 1:
		words[i] = w[:at] + letter + w[at:]
	case 2:
		words[i] = w[:at] + w[at+1:]
	default:
		words[i] = w[:at] + w[at+1:at+2] + w[at:at+1] + w[at+2:]
	}
	return strings.Join(words, " "), true
}
