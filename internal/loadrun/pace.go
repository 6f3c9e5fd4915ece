package loadrun

import (
	"sync"
	"time"
)

// pace says when requests begin. All connections share it.
type pace struct {
	start, measure, end time.Time     // of the warm-up, of the measured time, of both
	interval            time.Duration // between two requests; 0: none, the connections alone set the pace

	mu     sync.Mutex
	count  int64         // of requests that were given a moment
	resume time.Time     // the server has asked for no request before
	waited time.Duration // of the measured time, because the server asked for it
}

// next gives the moment of the next request, which can have passed; false says that the run is over.
func (p *pace) next(now time.Time) (due time.Time, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	due = now
	if p.interval > 0 {
		if behind := p.resume.Sub(p.start); behind > time.Duration(p.count)*p.interval {
			p.count = int64((behind + p.interval - 1) / p.interval) // what was due during a wait is not owed
		}
		due = p.start.Add(time.Duration(p.count) * p.interval)
		p.count++
	}
	if due.Before(p.resume) {
		due = p.resume
	}
	return due, due.Before(p.end) && now.Before(p.end)
}

// owed is the moment a request counts from that was due at a moment: a wait that the server asked for does not count.
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

// pause lets no request begin before a moment.
func (p *pace) pause(now, until time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	from := latest(now, p.resume, p.measure) // what is waited for already is counted already
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
