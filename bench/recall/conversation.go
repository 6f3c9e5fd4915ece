package recall

import (
	"bufio"
	"embed"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"
)

// scene is a story in parts that belong to different sessions, with questions about it.
type scene struct {
	values    []map[string]string // one is chosen
	parts     [][]string          // lines "A: …"
	questions []asked
}

// asked is a question of a scene.
type asked struct {
	text     string
	evidence []int // lines from 1, through all parts
}

// conversation describes a conversation to write.
type conversation struct {
	name     string
	scenes   string // file
	from     func(i, n int) bool
	take     int // number of scenes
	filler   string
	turns    int // approximately
	sessions int
	start    string
	people   [2]string
	swap     bool // either person can be the A of a scene
	plain    bool // facts without sessions and speakers
	loose    bool // turns without sessions
	foreign  bool // not in English
	aside    bool
}

func all(int, int) bool        { return true }
func even(i, _ int) bool       { return i%2 == 0 }
func odd(i, _ int) bool        { return i%2 == 1 }
func firstPart(i, n int) bool  { return i < n*7/10 }
func lastPart(i, n int) bool   { return i >= n*7/10 }
func firstHalf(i, n int) bool  { return i < n/2 }
func secondHalf(i, n int) bool { return i >= n/2 }
func shown(i, n int) bool      { return !hidden(i, n) }
func hidden(i, _ int) bool     { return i%5 == 1 || i%5 == 4 }

var conversations = []conversation{
	{name: "friends-1", scenes: "friends", from: firstPart, take: 20, filler: "friends", turns: 340, sessions: 24, start: "2022-11-06", people: [2]string{"Nora", "Elias"}, swap: true},
	{name: "friends-2", scenes: "friends", from: firstPart, take: 20, filler: "friends", turns: 330, sessions: 19, start: "2023-02-18", people: [2]string{"Tamsin", "Jonathan"}, swap: true},
	{name: "friends-3", scenes: "friends", from: firstPart, take: 20, filler: "friends", turns: 350, sessions: 30, start: "2021-08-01", people: [2]string{"Priyanka", "Marek"}, swap: true},
	{name: "friends-4", scenes: "friends", from: lastPart, take: 13, filler: "friends", turns: 300, sessions: 20, start: "2023-09-10", people: [2]string{"Delia", "Hugo"}, swap: true, aside: true},
	{name: "coach-1", scenes: "coach", from: even, take: 10, filler: "coach", turns: 230, sessions: 16, start: "2024-01-09", people: [2]string{"Bertram", "Lena"}},
	{name: "coach-2", scenes: "coach", from: odd, take: 10, filler: "coach", turns: 230, sessions: 14, start: "2023-04-03", people: [2]string{"Agnes", "Coach Tobias"}, aside: true},
	{name: "support-1", scenes: "support", from: firstHalf, take: 9, filler: "support", turns: 220, sessions: 15, start: "2024-03-01", people: [2]string{"Yusuf", "Support"}},
	{name: "support-2", scenes: "support", from: secondHalf, take: 9, filler: "support", turns: 220, sessions: 12, start: "2022-05-20", people: [2]string{"Clara", "Ben"}},
	{name: "assistant-1", scenes: "assistant", from: even, take: 10, filler: "assistant", turns: 240, sessions: 22, start: "2024-06-02", people: [2]string{"Priya", "Assistant"}},
	{name: "assistant-2", scenes: "assistant", from: odd, take: 10, filler: "assistant", turns: 240, sessions: 20, start: "2023-10-15", people: [2]string{"Magnus", "Assistant"}, aside: true},
	{name: "tutor-1", scenes: "tutor", from: all, take: 12, filler: "quiet", turns: 210, sessions: 12, start: "2022-09-05", people: [2]string{"Selma", "Mr Aalto"}},
	{name: "carer-1", scenes: "carer", from: all, take: 13, filler: "quiet", turns: 220, sessions: 14, start: "2023-01-12", people: [2]string{"Hedwig", "Ilona"}, aside: true},
	{name: "carenotes-1", scenes: "carenotes", from: shown, take: 10, filler: "carenotes", turns: 200, sessions: 14, start: "2024-02-03", people: [2]string{"Nurse Pavla", "Idris"}},
	{name: "carenotes-2", scenes: "carenotes", from: shown, take: 10, filler: "carenotes", turns: 180, sessions: 20, start: "2023-06-12", people: [2]string{"Ottilie", "Bram"}, loose: true},
	{name: "carenotes-3", scenes: "carenotes", from: hidden, take: 10, filler: "carenotes", turns: 190, sessions: 16, start: "2024-09-01", people: [2]string{"Femke", "Nurse Joao"}, aside: true},
	{name: "clinic-1", scenes: "clinic", from: shown, take: 10, filler: "clinic", turns: 220, sessions: 12, start: "2023-03-14", people: [2]string{"Leontine", "Dr Sarkis"}},
	{name: "clinic-2", scenes: "clinic", from: shown, take: 10, filler: "clinic", turns: 240, sessions: 18, start: "2022-10-02", people: [2]string{"Gustav", "Nurse"}},
	{name: "clinic-3", scenes: "clinic", from: hidden, take: 10, filler: "clinic", turns: 220, sessions: 15, start: "2024-04-20", people: [2]string{"Renske", "Dr Achebe"}, aside: true},
	{name: "colleagues-1", scenes: "colleagues", from: shown, take: 10, filler: "colleagues", turns: 260, sessions: 20, start: "2023-01-09", people: [2]string{"Kwame", "Birgit"}},
	{name: "colleagues-2", scenes: "colleagues", from: shown, take: 10, filler: "colleagues", turns: 230, sessions: 13, start: "2024-05-06", people: [2]string{"Saoirse", "Dmitri"}},
	{name: "colleagues-3", scenes: "colleagues", from: hidden, take: 10, filler: "colleagues", turns: 250, sessions: 17, start: "2022-08-15", people: [2]string{"Marisol", "Petter"}, aside: true},
	{name: "family-1", scenes: "family", from: shown, take: 10, filler: "family", turns: 260, sessions: 18, start: "2022-12-24", people: [2]string{"Ruth", "Emil"}},
	{name: "family-2", scenes: "family", from: shown, take: 10, filler: "family", turns: 230, sessions: 26, start: "2023-07-30", people: [2]string{"Grandma Ines", "Tobi"}},
	{name: "family-3", scenes: "family", from: hidden, take: 10, filler: "family", turns: 260, sessions: 21, start: "2024-03-10", people: [2]string{"Wilma", "Aaron"}, aside: true},
	{name: "helpdesk-1", scenes: "helpdesk", from: shown, take: 10, filler: "helpdesk", turns: 200, sessions: 12, start: "2024-01-22", people: [2]string{"User", "Agent"}},
	{name: "helpdesk-2", scenes: "helpdesk", from: shown, take: 10, filler: "helpdesk", turns: 190, sessions: 15, start: "2023-11-11", people: [2]string{"Customer", "Ravi"}, loose: true},
	{name: "helpdesk-3", scenes: "helpdesk", from: hidden, take: 10, filler: "helpdesk", turns: 210, sessions: 14, start: "2024-07-04", people: [2]string{"Noor", "Support"}, aside: true},
	{name: "students-1", scenes: "students", from: shown, take: 8, filler: "friends", turns: 200, sessions: 14, start: "2023-10-01", people: [2]string{"Ewa", "Sami"}},
	{name: "students-2", scenes: "students", from: shown, take: 8, filler: "friends", turns: 170, sessions: 10, start: "2022-02-14", people: [2]string{"Ludo", "Hanneke"}},
	{name: "students-3", scenes: "students", from: hidden, take: 7, filler: "friends", turns: 180, sessions: 12, start: "2024-10-05", people: [2]string{"Chiara", "Femi"}, aside: true},
	{name: "travel-1", scenes: "travel", from: shown, take: 8, filler: "friends", turns: 190, sessions: 12, start: "2023-04-08", people: [2]string{"Ingrid", "Rafael"}},
	{name: "travel-2", scenes: "travel", from: shown, take: 8, filler: "friends", turns: 170, sessions: 9, start: "2022-06-18", people: [2]string{"Bashir", "Orla"}},
	{name: "travel-3", scenes: "travel", from: hidden, take: 7, filler: "friends", turns: 180, sessions: 11, start: "2024-06-01", people: [2]string{"Yuki", "Matteo"}, aside: true},
	{name: "facts-1", scenes: "facts", from: shown, take: 17, filler: "facts", turns: 110, sessions: 12, start: "2023-02-01", people: [2]string{"Ada", "Ada"}, plain: true},
	{name: "facts-2", scenes: "facts", from: shown, take: 17, filler: "facts", turns: 160, sessions: 18, start: "2024-03-15", people: [2]string{"Ada", "Ada"}, plain: true},
	{name: "facts-3", scenes: "facts", from: hidden, take: 16, filler: "facts", turns: 130, sessions: 14, start: "2022-11-20", people: [2]string{"Ada", "Ada"}, plain: true, aside: true},
	{name: "de-1", scenes: "lang-de", from: shown, take: 10, filler: "lang-de", turns: 150, sessions: 12, start: "2023-05-02", people: [2]string{"Annegret", "Jonas"}, foreign: true},
	{name: "de-2", scenes: "lang-de", from: hidden, take: 10, filler: "lang-de", turns: 120, sessions: 10, start: "2024-02-11", people: [2]string{"Fatma", "Ulrich"}, foreign: true, aside: true},
	{name: "fr-1", scenes: "lang-fr", from: shown, take: 10, filler: "lang-fr", turns: 150, sessions: 12, start: "2023-05-02", people: [2]string{"Élodie", "Bastien"}, foreign: true},
	{name: "fr-2", scenes: "lang-fr", from: hidden, take: 10, filler: "lang-fr", turns: 120, sessions: 10, start: "2024-02-11", people: [2]string{"Maëlle", "Karim"}, foreign: true, aside: true},
	{name: "es-1", scenes: "lang-es", from: shown, take: 10, filler: "lang-es", turns: 150, sessions: 12, start: "2023-05-02", people: [2]string{"Lucía", "Andrés"}, foreign: true},
	{name: "es-2", scenes: "lang-es", from: hidden, take: 10, filler: "lang-es", turns: 120, sessions: 10, start: "2024-02-11", people: [2]string{"Pilar", "Mateo"}, foreign: true, aside: true},
	{name: "it-1", scenes: "lang-it", from: shown, take: 10, filler: "lang-it", turns: 150, sessions: 12, start: "2023-05-02", people: [2]string{"Giulia", "Lorenzo"}, foreign: true},
	{name: "it-2", scenes: "lang-it", from: hidden, take: 10, filler: "lang-it", turns: 120, sessions: 10, start: "2024-02-11", people: [2]string{"Chiara", "Davide"}, foreign: true, aside: true},
	{name: "pt-1", scenes: "lang-pt", from: shown, take: 10, filler: "lang-pt", turns: 150, sessions: 12, start: "2023-05-02", people: [2]string{"Beatriz", "Tiago"}, foreign: true},
	{name: "pt-2", scenes: "lang-pt", from: hidden, take: 10, filler: "lang-pt", turns: 120, sessions: 10, start: "2024-02-11", people: [2]string{"Inês", "Rui"}, foreign: true, aside: true},
	{name: "nl-1", scenes: "lang-nl", from: shown, take: 10, filler: "lang-nl", turns: 150, sessions: 12, start: "2023-05-02", people: [2]string{"Marieke", "Sander"}, foreign: true},
	{name: "nl-2", scenes: "lang-nl", from: hidden, take: 10, filler: "lang-nl", turns: 120, sessions: 10, start: "2024-02-11", people: [2]string{"Femke", "Joris"}, foreign: true, aside: true},
}

// conversationsOf writes all conversations from the scenes, and the questions about them. They are the same each time.
func conversationsOf(scenes embed.FS) (turns []turn, questions []question, err error) {
	for i, c := range conversations {
		list, err := readScenes(scenes, c.scenes+".txt")
		if err != nil {
			return nil, nil, err
		}
		fillers, err := readScenes(scenes, "filler-"+c.filler+".txt")
		if err != nil {
			return nil, nil, err
		}
		w := writer{c: c, random: rand.New(rand.NewPCG(20250601, uint64(i)))}
		w.write(list, fillers[0].parts)
		turns, questions = append(turns, w.turns...), append(questions, w.questions...)
	}
	return turns, questions, nil
}

// readScenes reads a file of scenes. A file without a heading is a single scene.
func readScenes(scenes embed.FS, name string) ([]scene, error) {
	file, err := scenes.Open("scenes/" + name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	list := []scene{{parts: [][]string{nil}}}
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		line, s := lines.Text(), &list[len(list)-1]
		switch {
		case strings.HasPrefix(line, "== "):
			list = append(list, scene{parts: [][]string{nil}})
		case strings.HasPrefix(line, "$ "):
			for choice := range strings.SplitSeq(line[2:], " | ") {
				s.values = append(s.values, readValues(choice))
			}
		case line == "--":
			s.parts = append(s.parts, nil)
		case strings.HasPrefix(line, "? "):
			text, evidence, _ := strings.Cut(line[2:], " | ")
			q := asked{text: text}
			for number := range strings.FieldsSeq(evidence) {
				n, err := strconv.Atoi(number)
				if err != nil {
					return nil, fmt.Errorf("%s: %q: %w", name, line, err)
				}
				q.evidence = append(q.evidence, n)
			}
			s.questions = append(s.questions, q)
		case line != "":
			last := len(s.parts) - 1
			s.parts[last] = append(s.parts[last], line)
		}
	}
	if len(list) > 1 {
		list = list[1:]
	}
	return list, lines.Err()
}

// readValues reads "name=value,name=value". A value can contain commas.
func readValues(s string) map[string]string {
	values, last := map[string]string{}, ""
	for piece := range strings.SplitSeq(s, ",") {
		if name, value, ok := strings.Cut(piece, "="); ok {
			values[name], last = value, name
		} else {
			values[last] += "," + piece
		}
	}
	return values
}

// writer writes one conversation.
type writer struct {
	c         conversation
	random    *rand.Rand
	days      []time.Time
	turns     []turn
	questions []question
}

// told is a part of a scene with its place in a session.
type told struct {
	scene, part int
	lines       []string
}

func (w *writer) write(scenes []scene, fillers [][]string) {
	var mine []int
	for i := range scenes {
		if w.c.from(i, len(scenes)) {
			mine = append(mine, i)
		}
	}
	w.random.Shuffle(len(mine), func(i, j int) { mine[i], mine[j] = mine[j], mine[i] })
	mine = mine[:min(len(mine), w.c.take)]
	day, _ := time.Parse(time.DateOnly, w.c.start)
	for range w.c.sessions {
		w.days = append(w.days, day.Add(time.Duration(7*60+w.random.IntN(15*60))*time.Minute))
		day = day.AddDate(0, 0, 2+w.random.IntN(13))
	}

	sessions := make([][]told, w.c.sessions)
	values := map[int]map[string]string{}
	lines := 0
	for _, i := range mine {
		v := map[string]string{"A": w.c.people[0], "B": w.c.people[1]}
		if w.c.swap && w.random.IntN(2) == 0 {
			v["A"], v["B"] = v["B"], v["A"]
		}
		if n := len(scenes[i].values); n > 0 {
			maps.Copy(v, scenes[i].values[w.random.IntN(n)])
		}
		values[i] = v
		at := w.random.IntN(w.c.sessions - len(scenes[i].parts) + 1)
		v["date1"], v["month1"] = w.days[at].Format("2 January 2006"), w.days[at].Format("January")
		for part, text := range scenes[i].parts {
			if part > 0 {
				at += 1 + w.random.IntN(max(w.c.sessions-len(scenes[i].parts)+part-at, 1))
				at = min(at, w.c.sessions-len(scenes[i].parts)+part)
			}
			sessions[at] = append(sessions[at], told{i, part, w.fill(text, v)})
			lines += len(text)
		}
	}
	// Small talk between and around, until the conversation is as long as it should be.
	for lines < w.c.turns {
		for _, f := range w.random.Perm(len(fillers)) {
			if lines >= w.c.turns {
				break
			}
			v := map[string]string{"A": w.c.people[0], "B": w.c.people[1]}
			if w.c.swap && w.random.IntN(2) == 0 {
				v["A"], v["B"] = v["B"], v["A"]
			}
			at := w.random.IntN(w.c.sessions)
			list := sessions[at]
			sessions[at] = slices.Insert(list, w.random.IntN(len(list)+1), told{-1, 0, w.fill(fillers[f], v)})
			lines += len(fillers[f])
		}
	}
	place := map[[2]int][]string{} // IDs of the turns of a scene's part
	for s, list := range sessions {
		n := 0
		for _, t := range list {
			for _, line := range t.lines {
				n++
				speaker, text, _ := strings.Cut(line, ": ")
				id := fmt.Sprintf("%s.s%02d.%02d", w.c.name, s+1, n)
				turn := turn{Conversation: w.c.name, ID: id, Session: fmt.Sprintf("s%02d", s+1), Speaker: speaker, Text: text, At: w.days[s]}
				if w.c.loose || w.c.plain {
					turn.Session = ""
				}
				if w.c.plain {
					turn.Speaker = ""
				}
				w.turns = append(w.turns, turn)
				if t.scene >= 0 {
					key := [2]int{t.scene, t.part}
					place[key] = append(place[key], id)
				}
			}
		}
	}
	for _, i := range mine {
		var ids []string
		for part := range scenes[i].parts {
			ids = append(ids, place[[2]int{i, part}]...)
		}
		for _, q := range scenes[i].questions {
			out := question{Conversation: w.c.name, Question: w.fill([]string{q.text}, values[i])[0], Aside: w.c.aside}
			for _, n := range q.evidence {
				out.Evidence = append(out.Evidence, ids[n-1])
			}
			w.questions = append(w.questions, w.dated(out))
		}
	}
}

// dated adds the time to one question of eight.
func (w *writer) dated(q question) question {
	if w.c.foreign || w.c.plain || w.random.IntN(8) > 0 || strings.HasPrefix(q.Question, "When") || len(q.Evidence) != 1 {
		return q
	}
	for _, t := range w.turns {
		if t.ID == q.Evidence[0] {
			form := []string{"in January 2006", "on 2 January 2006", "in January"}[w.random.IntN(3)]
			q.Question = "According to what was said " + t.At.Format(form) + ", " + strings.ToLower(q.Question[:1]) + q.Question[1:]
		}
	}
	return q
}

// fill inserts values for {name} and makes a choice for (one|other).
func (w *writer) fill(lines []string, values map[string]string) []string {
	var out []string
	for _, line := range lines {
		for {
			open := strings.IndexByte(line, '(')
			end := strings.IndexByte(line, ')')
			if open < 0 || end < open || !strings.Contains(line[open:end], "|") {
				break
			}
			choices := strings.Split(line[open+1:end], "|")
			line = line[:open] + choices[w.random.IntN(len(choices))] + line[end+1:]
		}
		if speaker, text, ok := strings.Cut(line, ": "); ok && (speaker == "A" || speaker == "B") {
			line = values[speaker] + ": " + sentenceCase(replace(text, values))
		} else {
			line = sentenceCase(replace(line, values))
		}
		out = append(out, line)
	}
	return out
}

func replace(text string, values map[string]string) string {
	for _, name := range slices.Sorted(maps.Keys(values)) {
		text = strings.ReplaceAll(text, "{"+name+"}", values[name])
	}
	return text
}

// sentenceCase capitalizes the first letter of each sentence, because a sentence can begin with a value.
func sentenceCase(s string) string {
	b := []byte(s)
	start := true
	for i, c := range b {
		if start && c >= 'a' && c <= 'z' {
			b[i] = c - 32
		}
		if c != ' ' {
			start = false
		}
		if (c == '.' || c == '!' || c == '?') && i+1 < len(b) && b[i+1] == ' ' {
			start = true
		}
	}
	return string(b)
}
