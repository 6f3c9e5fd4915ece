package memory

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"keepsake/internal/base/field"
	"keepsake/internal/base/id"
	"keepsake/internal/base/problem"
)

// Limits of a memory.
const (
	MaxText     = 65_536 // bytes
	MaxSpeaker  = 128    // characters
	MaxTags     = 32
	MaxTag      = 64    // characters
	MaxMetadata = 32    // entries
	MaxEntry    = 1_024 // characters of a name, and of a string
	MaxKey      = 256   // characters
	MaxSource   = 1_024 // characters
)

var rules = field.Rules{MaxTags: MaxTags, MaxTag: MaxTag, MaxMetadata: MaxMetadata, MaxEntry: MaxEntry}

// Times are limited to the years that every engine and format can represent.
var firstTime, lastTime = time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(9999, 12, 31, 23, 59, 59, 999_000_000, time.UTC)

// check validates a memory. An error names the field.
func (m *Memory) check() error {
	for _, f := range []struct {
		field, id string
		needed    bool
	}{{"subjectId", m.SubjectID, true}, {"agentId", m.AgentID, false}, {"sessionId", m.SessionID, false}} {
		if err := checkName(f.field, f.id, f.needed); err != nil {
			return err
		}
	}
	if !slices.Contains(Kinds(), m.Kind) {
		return problem.Validation("kind", problem.NotAllowed, "kind must be fact, preference, event, instruction, summary, turn or note.")
	}
	if err := checkText(m.Text); err != nil {
		return err
	}
	for _, f := range []struct {
		field, value string
		limit        int
	}{{"speaker", m.Speaker, MaxSpeaker}, {"key", m.Key, MaxKey}, {"source", m.Source, MaxSource}} {
		if err := rules.String(f.field, f.value, f.limit); err != nil {
			return err
		}
		if f.value != "" && field.Blank(f.value) {
			return problem.Validation(f.field, problem.Required, f.field+" must not be blank.")
		}
	}
	if err := rules.Tags("tags", m.Tags); err != nil {
		return err
	}
	if err := rules.Metadata(m.Metadata); err != nil {
		return err
	}
	if i := m.Importance; i != nil {
		switch {
		case math.IsNaN(*i) || *i < 0:
			return problem.Validation("importance", problem.TooSmall, "importance must be from 0 to 1.")
		case *i > 1:
			return problem.Validation("importance", problem.TooLargeVal, "importance must be from 0 to 1.")
		}
	}
	return m.checkTimes()
}

func (m *Memory) checkTimes() error {
	for _, f := range []struct {
		field string
		at    *time.Time
	}{{"occurredAt", m.OccurredAt}, {"validFrom", m.ValidFrom}, {"validTo", m.ValidTo}, {"expiresAt", m.ExpiresAt}} {
		if f.at != nil && (f.at.Before(firstTime) || f.at.After(lastTime)) {
			return problem.Validation(f.field, problem.Format, f.field+" must lie in the years 1 to 9999.")
		}
	}
	if m.ValidFrom != nil && m.ValidTo != nil && !m.ValidFrom.Before(*m.ValidTo) {
		return problem.Validation("validTo", problem.TooSmall, "validTo must be later than validFrom.")
	}
	return nil
}

// checkExpiry validates the expiry of a memory that is written now.
func checkExpiry(expiresAt *time.Time, now time.Time) error {
	if expiresAt != nil && !now.Before(*expiresAt) {
		return problem.Validation("expiresAt", problem.Expired, "expiresAt must lie in the future.")
	}
	return nil
}

func checkName(what, name string, needed bool) error {
	switch {
	case name == "" && !needed || ValidName(name):
		return nil
	case field.Blank(name):
		return problem.Validation(what, problem.Required, what+" is required.")
	case len(name) > maxName && utf8.RuneCountInString(name) > maxName:
		return problem.Validation(what, problem.TooLong, fmt.Sprintf("%s must have at most %d characters.", what, maxName))
	}
	return problem.Validation(what, problem.Format, fmt.Sprintf("%s must have at most %d letters, digits and . _ : @ | + = - and must not begin with . : or @.", what, maxName))
}

// checkKind validates a kind of a filter.
func checkKind(what string, kind Kind) error {
	if !slices.Contains(Kinds(), kind) {
		return problem.Validation(what, problem.NotAllowed, "There is no such kind.")
	}
	return nil
}

func checkText(text string) error {
	switch {
	case field.Blank(text):
		return problem.Validation("text", problem.Required, "text is required.")
	case len(text) > MaxText:
		return problem.Validation("text", problem.TooLong, fmt.Sprintf("text must have at most %d bytes.", MaxText))
	}
	return rules.Characters("text", text)
}

const maxName = 128

// ValidName reports whether name can be the ID of a subject, agent or session: [A-Za-z0-9_|+=-][A-Za-z0-9._:@|+=-]{0,127}.
func ValidName(name string) bool {
	if name == "" || len(name) > maxName || strings.IndexByte(".:@", name[0]) >= 0 {
		return false
	}
	for i := range len(name) {
		if c := name[i]; !letterOrDigit(c) && strings.IndexByte("._:@|+=-", c) < 0 {
			return false
		}
	}
	return true
}

func letterOrDigit(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z'
}

// ValidID reports whether s can be the ID of a memory. IDs are stored in plaintext, also in the access log, so they must be
// generated and never contain a user's text.
func ValidID(s string) bool {
	_, ok := id.Parse(id.Memory, s)
	return ok
}

// normalize brings a memory into the form in which it is stored, so that a response is equal to what is read later.
func (m *Memory) normalize() {
	tags := make([]string, 0, len(m.Tags))
	for _, tag := range m.Tags {
		if !slices.Contains(tags, tag) {
			tags = append(tags, tag)
		}
	}
	m.Tags = tags
	if m.Metadata == nil {
		m.Metadata = map[string]any{}
	}
}

// truncateTimes brings times into the form in which they are stored. It comes before check, which compares them.
func (m *Memory) truncateTimes() {
	for _, at := range []**time.Time{&m.OccurredAt, &m.ValidFrom, &m.ValidTo, &m.ExpiresAt} {
		if *at != nil {
			stored := storedTime(**at)
			*at = &stored
		}
	}
	m.CreatedAt, m.UpdatedAt = storedTime(m.CreatedAt), storedTime(m.UpdatedAt)
}

// storedTime returns a time as it is stored.
func storedTime(t time.Time) time.Time { return t.UTC().Truncate(time.Millisecond) }
