package main

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"keepsake/client"
)

func TestATimelineShowsStatesAndWhatIsAhead(t *testing.T) {
	t.Parallel()
	date := func(text string) *time.Time {
		at, err := time.Parse(time.DateOnly, text)
		if err != nil {
			t.Fatal(err)
		}
		return &at
	}
	one := client.VersionRecord{
		Version:   client.Version{Version: "1", State: "deprecated", Since: *date("2026-07-01"), AnnouncedAt: date("2026-11-30"), SunsetAt: date("2027-08-31")},
		RetiresAt: date("2028-08-31"), CheckAt: date("2027-08-01"),
		Checks: []client.VersionCheck{{
			SunsetAt: *date("2027-05-31"), CheckedAt: *date("2027-05-01"), Verdict: "extended", NewSunsetAt: *date("2027-08-31"),
			Traffic: &client.VersionTraffic{Requests: 30, AllRequests: 1000, Keys: 2, ActiveKeys: 12},
		}},
	}
	two := client.VersionRecord{Version: client.Version{Version: "2", State: "active", Since: *date("2026-11-30")}}
	want := `     2026-07-01                                            2028-10-01
v1   ████████████▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓░░░░░░░░░░░░░░░░░░░░░░░░░░░░░
v2               ████████████████████████████████████████████████████
                                ^ now, 2027-06-15
     █ active   ▓ deprecated   ░ sunset (410)

v1  traffic check 2027-08-01, sunset 2027-08-31 (in 77 days)
    check 2027-05-01: sunset extended to 2027-08-31; 30 of 1000 requests, 2 of 12 API keys regularly
`
	if diff := cmp.Diff(want, timeline([]client.VersionRecord{one, two}, *date("2027-06-15"))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := timeline([]client.VersionRecord{{Version: client.Version{Version: "1", Since: *date("2026-07-01")}}}, *date("2027-06-15")); got != "" {
		t.Errorf("while no version ends: %s", got)
	}
	one.State, one.CheckAt, one.Checks[0].Traffic = "retired", nil, nil
	want = `     2026-07-01                                            2029-07-01
v1   █████████▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓░░░░░░░░░░░░░░░░░░░░░
                                                   now, 2029-06-01 ^
     █ active   ▓ deprecated   ░ sunset (410)

v1  retired since 2028-08-31
    check 2027-05-01: sunset extended to 2027-08-31
`
	if diff := cmp.Diff(want, timeline([]client.VersionRecord{one}, *date("2029-06-01"))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
