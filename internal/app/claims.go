package app

import (
	"context"
	"sync"

	clusterpg "keepsake/internal/cluster/postgres"
	"keepsake/internal/idempotency"
	"keepsake/internal/seal"
	"keepsake/internal/store/postgres"
)

// assembleReplays makes what answers repeated requests. On a shared database the members tell each other what runs.
func (p *parts) assembleReplays(deps *Deps) {
	d := p.data
	p.replays = idempotency.NewService(d.store, d.store, d.secrets.Get(seal.Replay), deps.Now)
	if engine, ok := d.engine.(*postgres.Engine); ok && !deps.Local {
		p.claims = clusterpg.NewClaims(engine.Connect, deps.Log)
		p.replays.Among(p.claims)
	}
}

// runClaims ends after the last request.
func (p *parts) runClaims(ctx context.Context, running *sync.WaitGroup) {
	if p.claims != nil {
		running.Go(func() { p.claims.Run(ctx) })
	}
}
