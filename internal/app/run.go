package app

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"
)

// Run serves until ctx ends. Then readiness fails, running requests finish within shutdown.grace, and usage is flushed. It
// returns nil after an orderly stop. Call Close afterwards.
func (a *App) Run(ctx context.Context) error {
	background, stopBackground := context.WithCancel(context.WithoutCancel(ctx))
	defer stopBackground()
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)

	var running sync.WaitGroup
	a.services.run(background, &running, a.deps.Log, fail)
	for _, l := range a.listeners() {
		running.Go(func() {
			if l == a.primary || l == a.agents {
				a.services.members.awaitCounted(ctx)
			}
			if err := l.server.Serve(l.inner); !errors.Is(err, http.ErrServerClosed) {
				fail(fmt.Errorf("serve %s: %w", l.name, err))
			}
		})
	}
	a.deps.Log.Info("serving", "url", a.PrimaryAddress(), "aiUrl", a.AIURL(), "backendUrl", a.backend.address(), "data", a.cfg.Data, "version", a.deps.Version)
	a.warn() // after the line above, which people who start it look for

	<-ctx.Done()
	err := context.Cause(ctx)
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		err = nil // a requested stop
	}
	a.stopping.Store(true)
	a.deps.Log.Info("stopping")
	if err == nil {
		a.deps.Sleep(a.cfg.Shutdown.Delay)
		a.drain()
	}
	a.shutDown()
	stopBackground()
	running.Wait()
	if flushed := a.services.records.usage.Close(context.WithoutCancel(ctx)); flushed != nil {
		err = errors.Join(err, fmt.Errorf("flush usage: %w", flushed))
	}
	if flushed := a.services.versions.calls.Close(context.WithoutCancel(ctx)); flushed != nil {
		err = errors.Join(err, fmt.Errorf("flush version callers: %w", flushed))
	}
	if flushed := a.services.records.requests.Close(context.WithoutCancel(ctx)); flushed != nil {
		err = errors.Join(err, flushed)
	}
	if closed := a.services.records.audit.Close(context.WithoutCancel(ctx)); closed != nil {
		err = errors.Join(err, fmt.Errorf("close the audit log: %w", closed))
	}
	err = errors.Join(err, a.services.closeBackground(context.WithoutCancel(ctx)))
	return err
}

// drainTimeout is how long clients have to leave their connections before the servers shut down. A connection in use is
// closed with its next response. An idle one is closed after that time; a request sent on it at that moment is lost.
const drainTimeout = 1500 * time.Millisecond

// drain stops accepting connections that another process can accept, and serves those that are open. Without it, a server
// that shuts down drops connections that it has accepted but not read. Another process can accept them if the socket
// outlives this process, or if shutdown.delay gave a load balancer time to notice.
func (a *App) drain() {
	ctx, cancel := context.WithTimeout(context.Background(), drainTimeout)
	defer cancel()
	var all sync.WaitGroup
	for _, l := range a.listeners() {
		if l.limited != nil && (l.inherited || a.cfg.Shutdown.Delay > 0) {
			// What remains open is idle, or has a request that the shutdown waits for.
			all.Go(func() { _ = l.limited.Retire(ctx) })
		}
	}
	all.Wait()
}

// shutDown waits for running requests, and closes the connections of those that do not finish in time.
func (a *App) shutDown() {
	ctx, cancel := context.WithTimeout(context.Background(), a.cfg.Shutdown.Grace)
	defer cancel()
	var all sync.WaitGroup
	for _, l := range a.listeners() {
		all.Go(func() {
			if err := l.server.Shutdown(ctx); err != nil {
				a.deps.Log.Warn("closed connections with unfinished requests", "surface", l.name)
				l.server.Close()
			}
		})
	}
	all.Wait()
}

func (a *App) listeners() []*listener {
	var list []*listener
	for _, l := range []*listener{a.primary, a.backend, a.agents, a.socket} {
		if l != nil {
			list = append(list, l)
		}
	}
	return list
}
