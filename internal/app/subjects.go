package app

import (
	"context"

	"keepsake/internal/seal"
)

// assembleSubjects makes what opens the data keys of subjects, and by what subjects are found.
func (p *parts) assembleSubjects(ctx context.Context, deps *Deps) error {
	i := p.instance
	p.subjects = seal.NewSubjects(seal.SubjectsOptions{Store: i.Store, Secrets: i.Secrets, Now: deps.Now})
	p.keeper.Subjects = p.subjects
	// A lost one would leave every memory where nobody finds it; but it lies in the same file as the data keys, without
	// which there are no memories to find.
	secret, err := i.Secrets.Ensure(ctx, seal.LookupSecret)
	if err != nil {
		return err
	}
	p.lookup = seal.NewLookup(secret)
	return nil
}
