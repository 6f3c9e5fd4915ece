package store

import (
	"context"
	"fmt"
)

// Bindings seals the subjects and agents that API keys are bound to: *seal.Binding.
type Bindings interface {
	// Seal returns the same text for the same name. It leaves sealed names as they are.
	Seal(workspaceID, kind, name string) string
	Open(workspaceID, kind, text string) string
}

// The kinds of names.
const (
	boundSubject = "subject"
	boundAgent   = "agent"
)

// SealBindings makes the store seal and open what API keys are bound to. Call it before the store is used; without it, sealed
// names are returned sealed.
func (s *APIKeys) SealBindings(b Bindings) { s.bindings = b }

// bound is how a name is stored.
func (s *APIKeys) bound(workspaceID, kind, name string) string {
	if s.bindings == nil {
		return name
	}
	return s.bindings.Seal(workspaceID, kind, name)
}

// boundTo reads what bound wrote.
func (s *APIKeys) boundTo(workspaceID, kind, text string) string {
	if s.bindings == nil || text == "" {
		return text
	}
	return s.bindings.Open(workspaceID, kind, text)
}

// boundKey is what an API key is bound to, as stored.
type boundKey struct{ id, workspaceID, subject, agent string }

func (s *APIKeys) boundKeys(ctx context.Context, where string, args ...any) (list []boundKey, err error) {
	rows, err := s.main.In(ctx).Query(ctx, `
		SELECT id, workspace_id, subject_id, agent_id FROM api_key WHERE (subject_id <> '' OR agent_id <> '')`+where, args...)
	if err != nil {
		return nil, fmt.Errorf("list bound keys: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var k boundKey
		if err := rows.Scan(&k.id, &k.workspaceID, &k.subject, &k.agent); err != nil {
			return nil, fmt.Errorf("read bound key: %w", err)
		}
		list = append(list, k)
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("list bound keys: %w", err)
	}
	return list, nil
}

// ForgetBoundSubject removes a subject from the records of a workspace's revoked keys. is reports whether a name is that
// subject.
func (s *APIKeys) ForgetBoundSubject(ctx context.Context, workspaceID string, is func(subjectID string) bool) error {
	return s.main.Run(ctx, func(ctx context.Context) error {
		list, err := s.boundKeys(ctx, ` AND workspace_id = $1 AND revoked_at IS NOT NULL`, workspaceID)
		if err != nil {
			return err
		}
		for _, k := range list {
			if k.subject == "" || !is(s.boundTo(workspaceID, boundSubject, k.subject)) {
				continue
			}
			if _, err := s.main.In(ctx).Exec(ctx, `UPDATE api_key SET subject_id = '' WHERE id = $1 AND revoked_at IS NOT NULL`, k.id); err != nil {
				return fmt.Errorf("forget what key %s was bound to: %w", k.id, err)
			}
		}
		return nil
	})
}
