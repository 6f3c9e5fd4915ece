package conformance

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"sync"
)

// releases is the section that runs last, because a release cannot be undone.
const releases = "I releases"

// alone says why a check does not run at the same time as others. Each changes something that other checks rely on, or relies
// on something that they change.
var alone = map[string]string{
	"OfTwoAdminsWhoDemoteEachOtherOneStays": "changes the administrators of the second workspace",
	"TheLastAdminOfAWorkspaceStays":         "changes the administrators of the second workspace",
	"ATiersCountOfUsersIsKept":              "changes the tier of the second workspace",
	"ManyAtOnceAreNotMoreThanTheTierAllows": "changes the tier of the second workspace",
	"AnotherTierHoldsAtOnceAndKeepsTheUse":  "changes the tier of the second workspace and counts its requests",
	"ASuspendedWorkspaceIs403AtOnce":        "suspends the second workspace",
	"ATiersNumbersAreInForceWithinASecond":  "changes the numbers of a tier",
	"ATiersCountOfKeysIsKept":               "makes all the keys that the workspace may have",
	"ATiersLimitIsItsOwnPolicy":             "spends what the workspace has for a minute",
	"TheLogOfRequestsHasNoQueryAndNoID":     "needs all its requests in the log, which takes 200 a second of all clients",
}

// lasting lists the checks that need time to pass. If the suite moves the deployment's clock, they run alone, because other
// checks would see the clock jump.
var lasting = map[string]bool{
	"AKeyExpiresOnTheSecondAndMayBeExtended":         true,
	"DisabledComesBeforeExpiredAndRevokedBeforeBoth": true,
	"WhoWaitsRetryAfterIsAdmitted":                   true,
	"AMemoryExpiresToTheSecond":                      true,
	"AnOldSecretLivesForTheGraceOfARotation":         true,
	"AKeyThatIsOutOfUseIsNotRotated":                 true,
	"EveryStateHasItsCode":                           true,
}

// job is a check of a run.
type job struct {
	section string
	promise promise
	done    chan Result // receives one result, or is closed if the run ended before the check
}

// plan returns the checks whose "section/name" contains only.
func plan(list []section, only string) (jobs []*job) {
	for _, section := range list {
		for _, p := range section.checks {
			if strings.Contains(section.name+"/"+p.name, only) {
				jobs = append(jobs, &job{section: section.name, promise: p, done: make(chan Result, 1)})
			}
		}
	}
	return jobs
}

// runAll runs jobs and reports their results in the order of jobs. Its error is that of ctx.
func (s *suite) runAll(ctx context.Context, jobs []*job, r Reporter) error {
	var ended sync.WaitGroup
	ended.Go(func() { s.schedule(ctx, jobs) })
	defer ended.Wait()
	for _, j := range jobs {
		result, ok := <-j.done
		if !ok {
			return ctx.Err()
		}
		r.Report(result)
	}
	return nil
}

// early lists the checks that wait in real time. They start first, so that other checks run meanwhile.
var early = map[string]bool{"AfterTenSecondsTheParentIsReuseToo": true}

// schedule first runs the checks that run alone, then the others at the same time, and releases last.
func (s *suite) schedule(ctx context.Context, jobs []*job) {
	s.running = make(chan struct{}, s.parallel())
	var first, beside, last []*job
	for _, j := range jobs {
		switch {
		case j.section == releases:
			last = append(last, j)
		case s.runsAlone(j.promise):
			first = append(first, j)
		default:
			beside = append(beside, j)
		}
	}
	for _, j := range first {
		s.work(ctx, j, false)
	}
	slices.SortStableFunc(beside, func(a, b *job) int { return cmp.Compare(a.waits(), b.waits()) })
	var all sync.WaitGroup
	for _, j := range beside {
		s.running <- struct{}{}
		all.Go(func() {
			defer func() { <-s.running }()
			s.work(ctx, j, true)
		})
	}
	all.Wait()
	for _, j := range last {
		s.work(ctx, j, false)
	}
}

func (s *suite) work(ctx context.Context, j *job, beside bool) {
	defer close(j.done)
	if ctx.Err() == nil {
		j.done <- s.try(&check{ctx: ctx, suite: s, beside: beside}, j.section, j.promise)
	}
}

// waits orders the checks that wait before those that do not.
func (j *job) waits() int {
	if early[j.promise.name] || lasting[j.promise.name] {
		return 0
	}
	return 1
}

func (s *suite) runsAlone(p promise) bool {
	return alone[p.name] != "" || s.target.Advance != nil && lasting[p.name]
}

// parallel returns how many checks run at the same time.
func (s *suite) parallel() int {
	switch {
	case s.target.Parallel > 0:
		return s.target.Parallel
	case s.limit <= smallTier || !s.way.many():
		return 1
	}
	return 8
}
