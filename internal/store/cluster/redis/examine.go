package redis

import (
	"context"
	"strings"
	"time"
)

// Facts describes a server.
type Facts struct {
	Version  string
	Eviction string        // maxmemory-policy; empty if the server does not report it
	Took     time.Duration // of a PING
}

// Examine reads the facts.
func (s *Store) Examine(ctx context.Context) (*Facts, error) {
	client, err := s.connect()
	if err != nil {
		return nil, err
	}
	begun := time.Now()
	if err := client.Do(ctx, client.B().Ping().Build()).Error(); err != nil {
		return nil, withoutAddress(err)
	}
	f := &Facts{Took: time.Since(begun)}
	text, err := client.Do(ctx, client.B().Info().Section("server", "memory").Build()).ToString()
	if err != nil {
		return nil, withoutAddress(err)
	}
	info := map[string]string{}
	for line := range strings.Lines(text) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
			info[name] = value
		}
	}
	f.Version, f.Eviction = info["redis_version"], info["maxmemory_policy"]
	if v := info["valkey_version"]; v != "" {
		f.Version = "Valkey " + v
	}
	return f, nil
}
