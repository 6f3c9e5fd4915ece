package api_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"keepsake/internal/base/problem"
	"keepsake/internal/govern/auth"
	"keepsake/internal/web/api/apitest"
	"keepsake/internal/web/endpoint"
)

type partsBody struct {
	Body struct {
		Parts []string `json:"parts"`
	}
}

type partsAnswer struct {
	Body struct {
		Results []endpoint.Outcome[onePart] `json:"results"`
	}
}

type onePart struct {
	Part string `json:"part"`
}

// inParts returns a surface whose only operation runs each of its parts: ok, invalid, fault or panic.
func inParts(t *testing.T) *bundle {
	t.Helper()
	b := &bundle{t: t, clock: &apitest.Clock{}}
	b.Place = apitest.New(b.clock.Now, apitest.Tiers())
	r := endpoint.NewRegistry()
	endpoint.Add(r, endpoint.Operation{
		ID: "inParts", Method: "POST", Path: "/parts", Since: 1, Tag: "t", Summary: "t", Status: 200, Credentials: endpoint.Key, Parts: true,
	}, func(ctx context.Context, in *partsBody) (*partsAnswer, error) {
		out := &partsAnswer{}
		for _, part := range in.Body.Parts {
			result := endpoint.Outcome[onePart]{Value: onePart{part}}
			failed, err := endpoint.RequestOf(ctx).Part(func() error {
				switch part {
				case "invalid":
					return problem.Validation("q", problem.Required, "q is required.")
				case "fault":
					return errors.New("a defect")
				case "panic":
					panic("a defect")
				}
				return nil
			})
			if err != nil {
				return nil, err
			}
			result.Error = failed
			out.Body.Results = append(out.Body.Results, result)
		}
		return out, nil
	})
	b.handler = apitest.Surface(b.Options(r))
	return b
}

func (b *bundle) parts(key string, parts ...string) answer {
	b.t.Helper()
	body, err := json.Marshal(map[string]any{"parts": parts})
	if err != nil {
		b.t.Fatal(err)
	}
	return b.do("POST", "/api/v1/parts", string(body), "X-API-Key", key, "Content-Type", "application/json")
}

// Each part costs a request, except if it fails by a fault of ours. What is spent and what is recorded agree.
func TestEachPartOfARequestIsCharged(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		parts  []string
		spent  int64
		counts map[int]int64 // requests by class of their status
	}{
		{[]string{"ok"}, 1, map[int]int64{2: 1}},
		{[]string{"ok", "ok", "invalid"}, 3, map[int]int64{2: 2, 4: 1}},
		{[]string{"invalid", "ok"}, 2, map[int]int64{2: 2}},
		{[]string{"fault", "fault", "ok"}, 1, map[int]int64{2: 2, 5: 1}},
		{[]string{"ok", "ok", "panic"}, 1, map[int]int64{2: 1, 5: 2}},
	} {
		t.Run(fmt.Sprint(c.parts), func(t *testing.T) {
			t.Parallel()
			b := inParts(t)
			key := b.Key(apitest.Guest, auth.All, perMinute(20))
			a := b.parts(key, c.parts...)
			if left := number(t, a, "X-RateLimit-Key-Remaining"); left != 20-c.spent {
				t.Errorf("%d of 20 are left, want %d", left, 20-c.spent)
			}
			counts := map[int]int64{}
			for _, total := range b.Usage.Totals().Requests {
				counts[total.Class] += total.Requests
			}
			if fmt.Sprint(counts) != fmt.Sprint(c.counts) {
				t.Errorf("recorded %v, want %v", counts, c.counts)
			}
		})
	}
}

func TestPartsWithoutRequestsLeftAreRefused(t *testing.T) {
	t.Parallel()
	b := inParts(t)
	key := b.Key(apitest.Guest, auth.All, perMinute(3))
	a := b.parts(key, "ok", "invalid", "ok", "ok", "invalid").want(t, 200, "")
	var got struct {
		Results []struct {
			Part        string
			Error       string
			ResetTimeMs int64
			RequestID   string
			Details     struct{ Policy string }
		}
	}
	if err := json.Unmarshal([]byte(a.text), &got); err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"", "validation_error", "", "rate_limit_exceeded", "rate_limit_exceeded"} {
		r := got.Results[i]
		refused := want == "rate_limit_exceeded"
		if r.Error != want || (want == "") != (r.Part == "ok") || (want != "") != (r.RequestID != "") || refused != (r.Details.Policy == "key_minute") || refused != (r.ResetTimeMs > 0) {
			t.Errorf("part %d is %+v, want the error %q", i, r, want)
		}
	}
	if left := number(t, a, "X-RateLimit-Key-Remaining"); left != 0 {
		t.Errorf("%d are left", left)
	}
	b.parts(key, "ok", "ok").want(t, 429, "rate_limit_exceeded")
	b.clock.Move(time.Minute)
	b.parts(key, "ok", "ok", "ok").want(t, 200, "")
}
