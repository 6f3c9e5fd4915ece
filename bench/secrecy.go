package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"time"

	keepsake "keepsake/client"
	"keepsake/internal/app"
	"keepsake/internal/app/config"
	"keepsake/internal/base/id"
)

// pairs is how often each pair of requests is sent.
var pairs = flag.Int("pairs", 500, "secrecy: pairs of requests")

// measureSecrecy compares the times of requests that must be indistinguishable: logins with a known and an unknown email, and
// reads of another workspace's memories and of IDs that never existed. The requests of a pair are sent one after the other in
// random order. p is the result of the Mann-Whitney test: a small p means that the times differ.
func measureSecrecy(contest) (err error) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(runtime.NumCPU()))
	b := &ground{}
	defer func() {
		b.clear()
		if given, ok := recover().(stopped); ok {
			err = given.error
		}
	}()
	s := b.secrecy()
	fmt.Printf("\ntimes that should not differ, %d pairs; load %s\n%24s  %12s  %12s  %6s\n", *pairs, load(), "", "known", "unknown", "p")
	s.logins()
	s.memories()
	return nil
}

// secrecy is a program with a caller whose requests are timed.
type secrecy struct {
	b        *ground
	a        *app.App
	operator *keepsake.Client
}

func (b *ground) secrecy() *secrecy {
	s := &secrecy{b: b}
	s.a = b.start(func(*config.Config) {})
	first, _ := s.a.First()
	var err error
	s.operator, err = keepsake.New(s.a.PrimaryURL(), first.APIKey)
	b.must(err)
	return s
}

// logins signs in with a wrong password. Each email has few failures, and each login its own address of 127.0.0.0/8, so that
// none is throttled.
func (s *secrecy) logins() {
	const perEmail = 8
	for i := range *pairs/perEmail + 1 {
		_, err := s.operator.CreateUser(context.Background(), keepsake.NewUser{Email: fmt.Sprintf("known%d@example.org", i)})
		s.b.must(err)
	}
	addresses := 0
	login := func(email string) time.Duration {
		addresses++
		dialer := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 1+byte(addresses/62500), byte(addresses/250%250), byte(1+addresses%250))}}
		transport := &http.Transport{DialContext: dialer.DialContext}
		defer transport.CloseIdleConnections()
		body := fmt.Sprintf(`{"email":%q,"password":"not the password"}`, email)
		return s.timed(transport, "POST", "/api/auth/login", "", body, http.StatusUnauthorized)
	}
	s.compare("login", func(i int) time.Duration {
		return login(fmt.Sprintf("known%d@example.org", i/perEmail))
	}, func(i int) time.Duration {
		return login(fmt.Sprintf("unknown%d@example.org", i/perEmail))
	})
}

// memories reads memories of another workspace, and memories that do not exist.
func (s *secrecy) memories() {
	ctx := context.Background()
	const subject = "known@example.com"
	stored, err := s.operator.CreateMemory(ctx, keepsake.NewMemory{SubjectID: subject, Text: "a memory of the operator's workspace"})
	s.b.must(err)
	workspace, err := s.operator.CreateWorkspace(ctx, keepsake.NewWorkspace{Name: "stranger", Tier: "unlimited"})
	s.b.must(err)
	user, err := s.operator.CreateUser(ctx, keepsake.NewUser{Email: "stranger@example.org", WorkspaceID: workspace.ID, Role: "admin"})
	s.b.must(err)
	anonymous, err := keepsake.New(s.a.PrimaryURL(), "")
	s.b.must(err)
	tokens, err := anonymous.Login(ctx, user.Email, *user.Password)
	s.b.must(err)
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	read := func(format, of string) time.Duration {
		return s.timed(transport, "GET", fmt.Sprintf(format, of), tokens.AccessToken, "", http.StatusNotFound)
	}
	for _, r := range []struct {
		name, format, known string
		unknown             func() string
	}{
		{"a memory", "/api/v1/memories/%s", stored.ID, func() string { return id.New(id.Memory) }},
		{"its history", "/api/v1/memories/%s/history", stored.ID, func() string { return id.New(id.Memory) }},
		{"a subject", "/api/v1/memories/subjects/%s", subject, func() string { return fmt.Sprintf("%05d@example.com", rand.IntN(100000)) }},
	} {
		s.compare(r.name, func(int) time.Duration { return read(r.format, r.known) }, func(int) time.Duration { return read(r.format, r.unknown()) })
	}
}

// compare prints the medians of both sides and whether their times differ.
func (s *secrecy) compare(name string, known, unknown func(i int) time.Duration) {
	var times [2][]time.Duration
	sides := [2]func(int) time.Duration{known, unknown}
	for i := range *pairs {
		first := rand.IntN(2)
		for _, side := range []int{first, 1 - first} {
			times[side] = append(times[side], sides[side](i))
		}
	}
	p := mannWhitney(times[0], times[1])
	fmt.Printf("%24s  %12s  %12s  %6.3f\n", name, medianTime(times[0]), medianTime(times[1]), p)
}

// timed sends a request and returns the time until its answer has been read.
func (s *secrecy) timed(transport http.RoundTripper, method, path, token, body string, want int) time.Duration {
	req, err := http.NewRequestWithContext(context.Background(), method, s.a.PrimaryURL()+path, strings.NewReader(body))
	s.b.must(err)
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	began := time.Now()
	res, err := transport.RoundTrip(req)
	s.b.must(err)
	text, err := io.ReadAll(res.Body)
	took := time.Since(began)
	s.b.must(errors.Join(err, res.Body.Close()))
	if res.StatusCode != want {
		s.b.Fatalf("%s %s: status %d, want %d: %s", method, path, res.StatusCode, want, bytes.TrimSpace(text))
	}
	return took
}

// medianTime returns the median, rounded to a tenth of a microsecond.
func medianTime(times []time.Duration) time.Duration {
	return slices.Sorted(slices.Values(times))[len(times)/2].Round(100 * time.Nanosecond)
}

// mannWhitney returns the two-sided p of the hypothesis that neither list tends to have longer times, by the normal
// approximation.
func mannWhitney(a, b []time.Duration) float64 {
	type value struct {
		took  time.Duration
		first bool
	}
	all := make([]value, 0, len(a)+len(b))
	for _, took := range a {
		all = append(all, value{took, true})
	}
	for _, took := range b {
		all = append(all, value{took, false})
	}
	slices.SortFunc(all, func(x, y value) int { return cmp.Compare(x.took, y.took) })
	ranks := 0.0 // the sum of the ranks of a; equal times share theirs
	for i := 0; i < len(all); {
		j := i
		for j < len(all) && all[j].took == all[i].took {
			j++
		}
		for _, v := range all[i:j] {
			if v.first {
				ranks += float64(i+j+1) / 2
			}
		}
		i = j
	}
	n, m := float64(len(a)), float64(len(b))
	u := ranks - n*(n+1)/2
	z := (u - n*m/2) / math.Sqrt(n*m*(n+m+1)/12)
	return math.Erfc(math.Abs(z) / math.Sqrt2)
}
