package recall

import (
	"bufio"
	"embed"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"
)

// neutral are conversations and questions whose writers had not read how memories are ranked: see neutral/README.md.
//
//go:embed neutral/*.txt
var neutral embed.FS

// neutralAside are the neutral conversations that are set aside.
var neutralAside = []string{"club-1", "family-3", "french-1", "journal-2", "parents-1", "polish-1", "support-2"}

// foreign are the kinds of neutral conversations that are not in English.
var foreign = []string{"chinese", "french", "german", "polish", "spanish", "vietnamese"}

// readNeutral reads the neutral conversations and the questions about them.
func readNeutral() (turns []turn, questions []question, err error) {
	names, err := neutral.ReadDir("neutral")
	if err != nil {
		return nil, nil, err
	}
	for _, entry := range names {
		text, err := neutral.ReadFile("neutral/" + entry.Name())
		if err != nil {
			return nil, nil, err
		}
		r := &neutralReader{name: strings.TrimSuffix(entry.Name(), path.Ext(entry.Name())), labels: map[string]string{}}
		lines := bufio.NewScanner(strings.NewReader(string(text)))
		for n := 1; lines.Scan(); n++ {
			if err := r.read(lines.Text()); err != nil {
				return nil, nil, fmt.Errorf("%s, line %d: %w", entry.Name(), n, err)
			}
		}
		turns, questions = append(turns, r.turns...), append(questions, r.questions...)
	}
	return turns, questions, nil
}

// neutralReader reads one conversation.
type neutralReader struct {
	name      string
	at        time.Time
	session   int
	labels    map[string]string // IDs of turns
	turns     []turn
	questions []question
}

func (r *neutralReader) read(line string) (err error) {
	switch mark, rest, _ := strings.Cut(line, " "); mark {
	case "", "#":
		return nil
	case "@":
		r.session++
		r.at, err = time.Parse("2006-01-02 15:04", rest)
		return err
	case "?", ">":
		return r.ask(rest, mark == ">")
	case "-":
		return r.say("", rest)
	}
	speaker, text, ok := strings.Cut(line, ": ")
	if !ok {
		return fmt.Errorf("%q names no speaker", line)
	}
	return r.say(speaker, text)
}

// say adds a turn.
func (r *neutralReader) say(speaker, text string) error {
	t := turn{
		Conversation: "neutral-" + r.name, ID: fmt.Sprintf("neutral-%s.%04d", r.name, len(r.turns)+1), Session: fmt.Sprintf("s%02d", r.session),
		Speaker: speaker, Text: text, At: r.at.Add(time.Duration(len(r.turns)) * time.Second),
	}
	if before, label, ok := strings.Cut(text, " {"); ok && strings.HasSuffix(label, "}") {
		label = strings.TrimSuffix(label, "}")
		if r.labels[label] != "" {
			return fmt.Errorf("the label %s is used twice", label)
		}
		t.Text, r.labels[label] = before, t.ID
	}
	r.turns = append(r.turns, t)
	return nil
}

// ask adds a question or a message.
func (r *neutralReader) ask(line string, message bool) error {
	at := strings.LastIndex(line, " | ")
	if at < 0 {
		return fmt.Errorf("%q names no evidence", line)
	}
	kind, _, _ := strings.Cut(r.name, "-")
	q := question{
		Conversation: "neutral-" + r.name, Question: line[:at], Aside: slices.Contains(neutralAside, r.name),
		Neutral: true, Message: message, Foreign: slices.Contains(foreign, kind),
	}
	for label := range strings.SplitSeq(line[at+3:], ",") {
		id := r.labels[strings.TrimSpace(label)]
		if id == "" {
			return fmt.Errorf("no turn has the label %s", label)
		}
		q.Evidence = append(q.Evidence, id)
	}
	r.questions = append(r.questions, q)
	return nil
}
