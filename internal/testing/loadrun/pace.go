package loadrun

import (
	"sync"
	"time"
)

// pace schedules requests. All connections share it.
type pace struct {
	start, measure, end time.Time     // start of the warm-up, start of the measured time, end of both
	interval            time.Duration // between two requests; 0: as fast as the connections allow

	mu     sync.Mutex
	count  int64         // of requests that were scheduled
	resume time.Time     // the server asked for no request before this time
	waited time.Duration // how much of the measured time was waited because the server asked for it
}

// next returns when the next request is due, which can be in the past; false means that the run is over.
func (p *pace) next(now time.Time) (due time.Time, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	due = now
	if p.interval > 0 {
		if behind := p.resume.Sub(p.start); behind > time.Duration(p.count)*p.interval {
			p.count = int64((behind + p.interval - 1) / p.interval) // requests that were due during a wait are left out
		}
		due = p.start.Add(time.Duration(p.count) * p.interval)
		p.count++
	}
	if due.Before(p.resume) {
		due = p.resume
	}
	return due, due.Before(p.end) && now.Before(p.end)
}

// owed returns the time from which the latency of a request counts: when it was due, without a wait that the server asked
// for.
func (p *pace) owed(due time.Time) time.Time {
	if resume := p.resumeAt(); resume.After(due) {
		return resume
	}
	return due
}

func (p *pace) resumeAt() time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.resume
}

// pause delays all requests until a time.
func (p *pace) pause(now, until time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	from := latest(now, p.resume, p.measure) // an overlapping wait is counted once
	if until.After(p.resume) {
		p.resume = until
	}
	if until.After(p.end) {
		until = p.end
	}
	p.waited += max(0, until.Sub(from))
}

func latest(times ...time.Time) time.Time {
	var last time.Time
	for _, t := range times {
		if t.After(last) {
			last = t
		}
	}
	return last
}
