package memory

import (
	"keepsake/internal/auth"
	"keepsake/internal/problem"
)

// What a caller's key is bound to is all there is for it. It stands in for what a call leaves out; another subject or
// agent is not there.

// subjectOf is the subject that a call is about.
func subjectOf(p *auth.Principal, given string) (string, error) {
	if p.SubjectID != "" {
		if given != "" && given != p.SubjectID {
			return "", problem.Missing()
		}
		return p.SubjectID, nil
	}
	return given, checkName("subjectId", given, true)
}

// subjectNamed is subjectOf for a subject whose name is a place in the path: one that cannot be a name is not there.
func subjectNamed(p *auth.Principal, given string) (string, error) {
	if !ValidName(given) || p.SubjectID != "" && given != p.SubjectID {
		return "", problem.Missing()
	}
	return given, nil
}

// agentOf is the agent that a call is about; empty: any, or none.
func agentOf(p *auth.Principal, given string) (string, error) {
	if p.AgentID != "" {
		if given != "" && given != p.AgentID {
			return "", problem.Missing()
		}
		return p.AgentID, nil
	}
	return given, checkName("agentId", given, false)
}

// reach is what p may see, for the store.
func (s *Service) reach(p *auth.Principal) (r Reach) {
	if p.SubjectID != "" {
		r.Subject = s.o.Lookup.Subject(p.WorkspaceID, p.SubjectID)
	}
	if p.AgentID != "" {
		r.Agent = s.o.Lookup.Agent(p.WorkspaceID, p.AgentID)
	}
	return r
}

// mine reports whether p may see a memory of its subject.
func mine(p *auth.Principal, m *Memory) bool { return p.AgentID == "" || m.AgentID == p.AgentID }
