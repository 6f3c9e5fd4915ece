package event

import (
	"context"

	"keepsake/internal/problem"
)

func issueOf(err error) problem.Issue {
	p, ok := problem.As(err)
	if !ok {
		return ""
	}
	return p.Details.Issue
}

// Round sends what is due with the context sending, and waits until it has been sent.
func (d *Deliverer) Round(ctx, sending context.Context) error {
	err := d.round(ctx, sending)
	d.wait()
	return err
}

// Begin is Round without the wait.
func (d *Deliverer) Begin(ctx, sending context.Context) error { return d.round(ctx, sending) }

// Wait waits until nothing is being sent.
func (d *Deliverer) Wait() { d.wait() }

// Prune removes what is old.
func (d *Deliverer) Prune(ctx context.Context) error { return d.prune(ctx) }

// ClaimFor is how long a claim lasts.
const ClaimFor = claimFor
