package memory

import (
	"keepsake/internal/base/problem"
	"keepsake/internal/govern/auth"
)

// An API key can be bound to a subject, an agent or both. A request that omits them is about these; a request for another
// subject or agent fails with problem.Missing, as if it did not exist.

// subjectOf returns the subject of a request.
func subjectOf(p *auth.Principal, given string) (string, error) {
	if p.SubjectID != "" {
		if given != "" && given != p.SubjectID {
			return "", problem.Missing()
		}
		return p.SubjectID, nil
	}
	return given, checkName("subjectId", given, true)
}

// subjectNamed returns the subject of a path. An invalid name is problem.Missing, because no subject can have it.
func subjectNamed(p *auth.Principal, given string) (string, error) {
	if !ValidName(given) || p.SubjectID != "" && given != p.SubjectID {
		return "", problem.Missing()
	}
	return given, nil
}

// agentOf returns the agent of a request, or nothing if it names none.
func agentOf(p *auth.Principal, given string) (string, error) {
	if p.AgentID != "" {
		if given != "" && given != p.AgentID {
			return "", problem.Missing()
		}
		return p.AgentID, nil
	}
	return given, checkName("agentId", given, false)
}

// visibilityOf returns what p can see.
func visibilityOf(lookup Lookup, p *auth.Principal) (r Visibility) {
	if p.SubjectID != "" {
		r.Subject = lookup.Subject(p.WorkspaceID, p.SubjectID)
	}
	if p.AgentID != "" {
		r.Agent = lookup.Agent(p.WorkspaceID, p.AgentID)
	}
	return r
}

// visible reports whether p can see a memory of a subject that it can see.
func visible(p *auth.Principal, m *Memory) bool { return p.AgentID == "" || m.AgentID == p.AgentID }

// newRowFilter returns a filter for what p can see of the given names. An empty name selects all.
func newRowFilter(lookup Lookup, p *auth.Principal, subjectID, agentID, sessionID string) *RowFilter {
	f := &RowFilter{Visible: visibilityOf(lookup, p)}
	if subjectID != "" {
		f.Subject = lookup.Subject(p.WorkspaceID, subjectID)
	}
	if agentID != "" {
		f.Agent = lookup.Agent(p.WorkspaceID, agentID)
	}
	if sessionID != "" {
		f.Session = lookup.Session(p.WorkspaceID, sessionID)
	}
	return f
}
