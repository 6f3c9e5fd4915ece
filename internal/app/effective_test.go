//go:build !noconsole

package app_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"keepsake/internal/app"
	"keepsake/internal/app/config"
)

// Every secret setting gets a value that would be noticed.
func TestSettingsInEffectShowNoSecret(t *testing.T) {
	t.Parallel()
	cfg := config.Default()
	const secret = "hidden-0123456789"
	cfg.DatabaseURL, cfg.KeysURL = "postgres://u:"+secret+"@db.example/keepsake?password="+secret, "postgres://"+secret+"@keys.example/k"
	cfg.RedisURL, cfg.MasterKey, cfg.Backend.Secret = "redis://:"+secret+"@cache.example:6379", secret, secret
	cfg.Embeddings.URL, cfg.Embeddings.Key = "https://"+secret+"@embeddings.example/v1?key="+secret, secret
	cfg.Search.OpenSearch.URL, cfg.Search.OpenSearch.Password = "https://"+secret+"@search.example:9200", secret
	cfg.Tracing.Endpoint, cfg.Tracing.Headers = "http://user:"+secret+"@traces.example:4318", secret
	for _, s := range config.Settings() {
		if s.Secret && reflect.ValueOf(s.In(&cfg)).IsZero() {
			t.Errorf("%s has no value in this test", s.Path)
		}
	}
	text := fmt.Sprint(app.EffectiveSettings(&cfg, "0.1.0"))
	if strings.Contains(text, secret) {
		t.Errorf("a secret is shown: %s", text)
	}
	for _, want := range []string{"PostgreSQL at db.example/keepsake", "cache.example:6379", "from the settings", "embeddings.example/v1", "kept for 7 days"} {
		if !strings.Contains(text, want) {
			t.Errorf("lacks %q: %s", want, text)
		}
	}
}

func TestSettingsInEffectNameWhatExists(t *testing.T) {
	t.Parallel()
	cfg := config.Default()
	paths := map[string]bool{}
	for _, s := range config.Settings() {
		paths[s.Path] = true
	}
	for _, s := range app.EffectiveSettings(&cfg, "") {
		if s.Value == "" || s.Path != "" && !paths[s.Path] {
			t.Errorf("%+v has no value, or its setting does not exist", s)
		}
	}
}
