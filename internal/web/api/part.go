package api

import (
	"bytes"
	"errors"
	"net/http"
	"time"

	"keepsake/internal/base/problem"
	"keepsake/internal/govern/limit"
	"keepsake/internal/govern/usage"
)

// Part implements endpoint.Request.
func (c *operationContext) Part(run func() error) ([]byte, error) {
	x := c.running
	if x == nil || x.charged == nil || !x.op.Parts {
		return nil, errors.New("run a part of a request whose operation does not declare parts")
	}
	x.parts++
	if x.parts > 1 {
		return x.nextPart(run), nil
	}
	err := run() // it was charged as the request
	if err == nil {
		return nil, nil
	}
	p := x.charged.problemOf(err)
	if x.charged.failedByUs(p, err) {
		x.charged.refund()
	}
	return x.charged.partBody(p), nil
}

// partBody returns the body of a problem as a value in another body.
func (x *charged) partBody(p *problem.Problem) []byte { return bytes.TrimSpace(x.bodyOf(p)) }

// nextPart charges a part after the first, runs it, and records it as one more request.
func (x *admitted) nextPart(run func() error) (failed []byte) {
	if err := x.ctx.Err(); err != nil {
		return x.charged.partBody(x.charged.problemOf(err))
	}
	began, status := x.api.o.Now(), http.StatusInternalServerError
	receipt, left := x.chargePart()
	refund := func() {
		receipt.Refund()
		receipt = limit.Receipt{}
		x.charged.verdict = x.identified.peekLimits()
	}
	defer func() {
		if status >= http.StatusInternalServerError && receipt.Cost() > 0 && failed == nil { // after a panic
			refund()
		}
		x.recordPart(receipt, status, x.api.o.Now().Sub(began))
	}()
	if !left {
		p := spent(&x.charged.verdict, x.at)
		x.api.counters.throttle(p.Details.Policy)
		status = statuses[p.Kind]
		return x.charged.partBody(p)
	}
	err := run()
	if err == nil {
		status = http.StatusOK
		return nil
	}
	p := x.charged.problemOf(err)
	if x.charged.failedByUs(p, err) && receipt.Cost() > 0 {
		refund()
	}
	status = statuses[p.Kind]
	return x.charged.partBody(p)
}

// chargePart charges the caller for a part, unless its requests are free.
func (x *admitted) chargePart() (receipt limit.Receipt, left bool) {
	who := x.identified
	if who.caller == nil || who.free(x.op) {
		return limit.Receipt{}, true
	}
	x.charged.verdict, receipt = x.api.o.Limiter.Charge(x.at, 1, who.caller.workspace, who.caller.live.Account)
	return receipt, x.charged.verdict.Allowed
}

// recordPart records the use of a part.
func (x *admitted) recordPart(receipt limit.Receipt, status int, took time.Duration) {
	if isUncounted(x.ctx.parent) {
		return
	}
	routed := x.identified.routed
	use := usage.Event{
		Route: routed.route.usage, Surface: x.surface(), Version: uint8(routed.version.Number), Status: uint16(status), At: x.at, Took: took,
	}
	if who := x.identified.caller; who != nil {
		use.Owner = who.live.Usage
	}
	if receipt.Cost() > 0 {
		use.At, use.Charged = receipt.At(), receipt.Cost()
	}
	x.api.o.Usage.Record(use)
}
