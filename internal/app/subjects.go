package app

import (
	"context"

	"keepsake/internal/memory/seal"
)

// assembleSubjects creates the cache of data keys, and the keyed hash that finds subjects.
func (s *services) assembleSubjects(ctx context.Context, deps *Deps) error {
	i := s.instance
	s.subjects = seal.NewSubjects(seal.SubjectsOptions{Store: i.Store.SubjectKeys, Secrets: i.Secrets, Now: deps.Now})
	s.keeper.Subjects = s.subjects
	// A new secret would make every memory unfindable. But it is stored with the data keys, so losing it alone is unlikely.
	secret, err := i.Secrets.Ensure(ctx, seal.LookupSecret)
	if err != nil {
		return err
	}
	s.lookup = seal.NewLookup(secret)
	return nil
}
