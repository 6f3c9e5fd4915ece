package app

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"
)

// Run serves until ctx ends, then stops: readiness says no, running requests finish within shutdown.grace, and usage is
// flushed. It returns nil after an orderly stop. Close still has to be called.
func (a *App) Run(ctx context.Context) error {
	background, stopBackground := context.WithCancel(context.WithoutCancel(ctx))
	defer stopBackground()
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)

	var parts sync.WaitGroup
	a.parts.run(background, &parts, a.deps.Log, fail)
	for _, d := range a.doors() {
		parts.Go(func() {
			if d == a.primary {
				a.parts.introduce(ctx)
			}
			if err := d.server.Serve(d.listener); !errors.Is(err, http.ErrServerClosed) {
				fail(fmt.Errorf("serve %s: %w", d.name, err))
			}
		})
	}
	a.deps.Log.Info("serving", "url", a.PrimaryURL(), "backendUrl", a.BackendURL(), "data", a.cfg.Data, "version", a.deps.Version)

	<-ctx.Done()
	err := context.Cause(ctx)
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		err = nil // somebody asked for the end
	}
	a.stopping.Store(true)
	a.deps.Log.Info("stopping")
	if err == nil {
		a.deps.Sleep(a.cfg.Shutdown.Delay)
		a.handOver()
	}
	a.shutDown()
	stopBackground()
	parts.Wait()
	if flushed := a.parts.usage.Close(context.WithoutCancel(ctx)); flushed != nil {
		err = errors.Join(err, fmt.Errorf("flush usage: %w", flushed))
	}
	if flushed := a.parts.callers.Close(context.WithoutCancel(ctx)); flushed != nil {
		err = errors.Join(err, fmt.Errorf("flush callers of versions: %w", flushed))
	}
	if closed := a.parts.audit.Close(context.WithoutCancel(ctx)); closed != nil {
		err = errors.Join(err, fmt.Errorf("close the audit log: %w", closed))
	}
	err = errors.Join(err, a.parts.closeBeside(context.WithoutCancel(ctx)))
	return err
}

// handOverTime is how long clients have to leave their connections before the servers shut down. One that is in use is
// closed with its next answer; one that lies idle all that time is closed after it, and if a request is sent on it in that
// moment, it is lost.
const handOverTime = 1500 * time.Millisecond

// handOver takes no new connections any more, where they can go to another process, and answers those there are: a server
// that shuts down drops what it has accepted and not begun to read. Others can take them where the socket outlives this
// process, and where shutdown.delay has told a load balancer.
func (a *App) handOver() {
	ctx, cancel := context.WithTimeout(context.Background(), handOverTime)
	defer cancel()
	var doors sync.WaitGroup
	for _, d := range a.doors() {
		if d.limited != nil && (d.inherited || a.cfg.Shutdown.Delay > 0) {
			// What is still open then is idle, or busy with a request that the shutdown waits for.
			doors.Go(func() { _ = d.limited.Retire(ctx) })
		}
	}
	doors.Wait()
}

// shutDown lets running requests finish; what has not by then is cut off.
func (a *App) shutDown() {
	ctx, cancel := context.WithTimeout(context.Background(), a.cfg.Shutdown.Grace)
	defer cancel()
	var doors sync.WaitGroup
	for _, d := range a.doors() {
		doors.Go(func() {
			if err := d.server.Shutdown(ctx); err != nil {
				a.deps.Log.Warn("requests were cut off at the stop", "surface", d.name)
				d.server.Close()
			}
		})
	}
	doors.Wait()
}

func (a *App) doors() []*door {
	var list []*door
	for _, d := range []*door{a.primary, a.backend, a.socket} {
		if d != nil {
			list = append(list, d)
		}
	}
	return list
}
