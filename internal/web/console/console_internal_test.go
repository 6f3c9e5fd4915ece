package console

import (
	"encoding/json"
	"math"
	"os"
	"reflect"
	"slices"
	"strconv"
	"testing"
	"time"

	"keepsake/client"
)

var noon = time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)

func TestQuotasAreProjected(t *testing.T) {
	t.Parallel()
	since, resets := noon.Add(-12*time.Hour), noon.Add(12*time.Hour)
	for _, tc := range []struct {
		used, limit int64
		want        time.Time
	}{
		{0, 1000, time.Time{}},
		{10, 1000, time.Time{}}, // too little to say
		{500, 1000, time.Time{}},
		{600, 1000, since.Add(20 * time.Hour)},
		{1000, 1000, noon},
		{5, 0, time.Time{}},
	} {
		if got := emptyAt(tc.used, tc.limit, since, resets, noon); !got.Equal(tc.want) {
			t.Errorf("%d of %d: got %v, want %v", tc.used, tc.limit, got, tc.want)
		}
	}
}

func TestCommandsAreQuoted(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		call call
		want string
	}{
		{call{Method: "GET", Target: "/api/v1/health"}, `curl -H "X-API-Key: $KEEPSAKE_KEY" http://h/api/v1/health`},
		{call{Method: "GET", Target: "/api/v1/x?a=b&c='d'"}, `curl -H "X-API-Key: $KEEPSAKE_KEY" 'http://h/api/v1/x?a=b&c='\''d'\'''`},
		{
			call{Method: "POST", Target: "/api/v1/x", Body: `{"a":"it's $HOME"}`},
			`curl -X POST -H "X-API-Key: $KEEPSAKE_KEY" -H "Content-Type: application/json" -d '{"a":"it'\''s $HOME"}' http://h/api/v1/x`,
		},
	} {
		if got := tc.call.curl("http://h"); got != tc.want {
			t.Errorf("got %s, want %s", got, tc.want)
		}
	}
}

func TestFreeReadsAreBounded(t *testing.T) {
	t.Parallel()
	var r reads
	for i := range maxReads + 1 {
		if got := r.take("usr_a", noon); got != (i < maxReads) {
			t.Fatalf("read %d is free: %v", i, got)
		}
	}
	if !r.take("usr_b", noon) || !r.take("usr_a", noon.Add(time.Minute)) {
		t.Error("another user or minute has no free reads")
	}
}

func TestOnlyReadsOfTheWorkspaceAreFree(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]bool{
		"/api/v1/analytics/summary": true, "/api/v1/developer/api-keys": true, "/api/v2/profile": true, "/api/v1/admin/users": true,
		"/api/versions": true, "/api/v1/search": false, "/api/v1/memories": false, "/api/v1/documents": false, "/api/v1/documents/admin": false,
		"/api/v1/memories/subjects/analytics": false, "/ai/recall": false, "/developer/api-keys": false, "/api/auth/login": false,
	} {
		if got := uncountedPath(path); got != want {
			t.Errorf("%s: got %v, want %v", path, got, want)
		}
	}
}

func TestChartsHaveRoundScales(t *testing.T) {
	t.Parallel()
	for most, want := range map[float64]float64{0: 1, 1: 1, 3: 4, 4: 4, 7: 10, 11: 20, 99: 100, 0.3: 0.4, 4100: 5000} {
		c := chart{Names: []string{"a"}, Columns: []column{{Values: []float64{most}}, {Values: []float64{math.NaN()}}}}
		if got := c.top(); math.Abs(got-want) > 1e-9 {
			t.Errorf("%v: got %v, want %v", most, got, want)
		}
	}
	c := chart{Lines: true, Columns: []column{{Values: []float64{1}}, {Values: []float64{math.NaN()}}, {Values: []float64{1}}}, Classes: []string{"line"}}
	if got := c.line(0); got != "M60.0 0.0L120.0 0.0M540.0 0.0L600.0 0.0" {
		t.Errorf("a line with a gap is %s", got)
	}
}

func TestLivesOfVersionsShareAScale(t *testing.T) {
	t.Parallel()
	at := func(month int) *time.Time { return new(noon.AddDate(0, month, 0)) }
	l := livesOf([]client.VersionRecord{
		{Version: client.Version{Version: "1", Since: *at(-12), AnnouncedAt: at(0), SunsetAt: at(6)}, RetiresAt: at(18)},
		{Version: client.Version{Version: "2", Since: noon}},
		{Version: client.Version{Version: "3", Since: *at(1), AnnouncedAt: at(1), SunsetAt: at(7)}, RetiresAt: at(6)}, // retired before its time
	}, noon)
	if !l.From.Equal(*at(-12)) || !l.To.Equal(*at(18)) {
		t.Errorf("the picture is from %v to %v", l.From, l.To)
	}
	want := [][]string{{"active", "deprecated", "sunset"}, {"active"}, {"deprecated"}}
	for i, row := range l.Versions {
		var states []string
		at := 0.0
		for _, s := range row.Stages {
			states = append(states, s.State)
			x, _ := strconv.ParseFloat(s.X, 64)
			width, _ := strconv.ParseFloat(s.Width, 64)
			if width <= 0 || at > 0 && math.Abs(x-at) > 0.2 || x+width > livesWidth+0.2 {
				t.Errorf("version %s: %s is at %s and %s wide, after %v", row.Version, s.State, s.X, s.Width, at)
			}
			at = x + width
		}
		if !slices.Equal(states, want[i]) {
			t.Errorf("version %s: got %v, want %v", row.Version, states, want[i])
		}
	}
	if l.Now == "" || l.Now == "0.0" || l.Versions[1].Stages[0].X != l.Now {
		t.Errorf("now is at %s, and a version of now at %s", l.Now, l.Versions[1].Stages[0].X)
	}
}

// The form of a webhook must offer every event that the API knows.
func TestWebhooksOfferEveryEvent(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../../openapi/v1.json")
	if err != nil {
		t.Fatal(err)
	}
	var document struct {
		Components struct {
			Schemas map[string]struct {
				Properties struct {
					Events struct {
						Items struct {
							Enum []string `json:"enum"`
						} `json:"items"`
					} `json:"events"`
				} `json:"properties"`
			} `json:"schemas"`
		} `json:"components"`
	}
	if err := json.Unmarshal(text, &document); err != nil {
		t.Fatal(err)
	}
	want := slices.Sorted(slices.Values(document.Components.Schemas["CreateWebhookBody"].Properties.Events.Items.Enum))
	if got := slices.Sorted(slices.Values(allEvents())); len(want) == 0 || !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestEverySignalOfAScoreIsShown(t *testing.T) {
	t.Parallel()
	var why client.RecallWhy
	fields := reflect.ValueOf(&why).Elem()
	for i := range fields.NumField() {
		fields.Field(i).SetFloat(1)
	}
	if got := signals(&why); len(got) != fields.NumField() {
		t.Errorf("%d of %d signals are shown: %v", len(got), fields.NumField(), got)
	}
}

func TestAnAxisOfCountsNamesWholeNumbersOnly(t *testing.T) {
	t.Parallel()
	for top, half := range map[float64]string{1: "", 2: "1", 4: "2", 5: "", 10: "5", 50: "25", 5000: "2.5k"} {
		c := chart{Columns: []column{{Values: []float64{top}}}}
		if got := c.scale(c.top() / 2); c.top() != top || got != half {
			t.Errorf("an axis to %v: its middle is %q, want %q", c.top(), got, half)
		}
	}
}
