package main

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"keepsake/client"
)

func TestAKeyChangeHasOnlyTheGivenFields(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 29, 8, 0, 0, 0, time.UTC)
	daily := int64(100)
	for _, c := range []struct {
		given   []string
		flags   keyChangeFlags
		present *client.Quota
		want    string
	}{
		{[]string{"name"}, keyChangeFlags{name: "x"}, nil, `{"name":"x"}`},
		{[]string{"scopes", "allowed-ips"}, keyChangeFlags{scopes: []string{"read"}, networks: []string{"10.0.0.0/8"}}, nil, `{"scopes":["read"],"allowedIps":["10.0.0.0/8"]}`},
		{[]string{"allowed-ips"}, keyChangeFlags{networks: []string{"any"}}, nil, `{"allowedIps":[]}`},
		{[]string{"expires-in"}, keyChangeFlags{expiresIn: "never"}, nil, `{"expiresAt":null}`},
		{[]string{"expires-in"}, keyChangeFlags{expiresIn: "1d"}, nil, `{"expiresAt":"2026-11-30T08:00:00Z"}`},
		{[]string{"requests-per-minute"}, keyChangeFlags{perMinute: "60"}, nil, `{"rateLimit":{"requestsPerMinute":60}}`},
		{[]string{"requests-per-minute"}, keyChangeFlags{perMinute: "tier"}, nil, `{"rateLimit":null}`},
		{[]string{"monthly"}, keyChangeFlags{monthly: "900"}, &client.Quota{Daily: &daily}, `{"quota":{"daily":100,"monthly":900}}`},
		{[]string{"daily"}, keyChangeFlags{daily: "none"}, &client.Quota{Daily: &daily}, `{"quota":null}`},
		{[]string{"daily"}, keyChangeFlags{daily: "7"}, nil, `{"quota":{"daily":7,"monthly":null}}`},
	} {
		given := map[string]bool{}
		for _, flag := range c.given {
			given[flag] = true
		}
		change, quota, err := c.flags.change(func(flag string) bool { return given[flag] }, now)
		if !quota.isNone() {
			change.Quota = quota.of(c.present)
		}
		got, _ := json.Marshal(change)
		if err != nil || string(got) != c.want {
			t.Errorf("%v: got %s, %v, want %s", c.given, got, err, c.want)
		}
	}
	for wrong, set := range map[string]func(*keyChangeFlags){
		"expires-in":          func(f *keyChangeFlags) { f.expiresIn = "soon" },
		"requests-per-minute": func(f *keyChangeFlags) { f.perMinute = "none" },
		"daily":               func(f *keyChangeFlags) { f.daily = "tier" },
		"monthly":             func(f *keyChangeFlags) { f.monthly = "1.5" },
	} {
		var flags keyChangeFlags
		set(&flags)
		if _, _, err := flags.change(func(flag string) bool { return flag == wrong }, now); err == nil || !strings.Contains(err.Error(), "--"+wrong) {
			t.Errorf("%s: got %v", wrong, err)
		}
	}
}
