package config

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/knadh/koanf/parsers/yaml"
	"github.com/knadh/koanf/providers/confmap"
	"github.com/knadh/koanf/providers/env/v2"
	"github.com/knadh/koanf/providers/file"
	"github.com/knadh/koanf/v2"

	"keepsake/internal/base/secretfile"
)

// Error is a mistake in a setting. It is one line that names the setting and says where it was made.
type Error struct {
	Setting string // path, or the variable or file as it was written
	Source  string // "config file /etc/keepsake.yaml", "environment", "flag", empty for what spans sources
	Reason  string
}

func (e *Error) Error() string {
	if e.Source == "" {
		return fmt.Sprintf("setting %s: %s", e.Setting, e.Reason)
	}
	return fmt.Sprintf("setting %s (%s): %s", e.Setting, e.Source, e.Reason)
}

// Sources is where settings come from, the later ones stronger: defaults, file, environment, flags.
type Sources struct {
	File  string            // path of a YAML file, empty for none
	Env   []string          // NAME=value, as os.Environ gives it
	Flags map[string]string // setting path to text, only flags that were given
}

// Load merges the sources over Default and checks the result.
func Load(s Sources) (Config, error) {
	cfg := Default()
	layers := []func() (*koanf.Koanf, string, error){
		func() (*koanf.Koanf, string, error) { return fromFile(s.File) },
		func() (*koanf.Koanf, string, error) { return fromEnv(&cfg, s.Env) },
		func() (*koanf.Koanf, string, error) { return fromFlags(s.Flags) },
	}
	for _, layer := range layers {
		k, source, err := layer()
		if err != nil {
			return Config{}, err
		}
		if err := cfg.apply(k, source); err != nil {
			return Config{}, err
		}
	}
	if err := cfg.check(); err != nil {
		return Config{}, err
	}
	return cfg, nil
}

func fromFile(path string) (*koanf.Koanf, string, error) {
	k := koanf.New(".")
	if path == "" {
		return k, "", nil
	}
	source := "config file " + path
	if err := k.Load(file.Provider(path), yaml.Parser()); err != nil {
		if _, isPath := errors.AsType[*os.PathError](err); isPath {
			return nil, "", &Error{Setting: "--config", Reason: oneLine(err)}
		}
		return nil, "", &Error{Setting: "--config", Source: source, Reason: "not YAML: " + oneLine(err)}
	}
	return k, source, nil
}

// fromEnv takes the variables KEEPSAKE_…; an empty one sets nothing. One that names no setting is a mistake, because it
// would be silently without effect.
func fromEnv(cfg *Config, environ []string) (*koanf.Koanf, string, error) {
	known := map[string]string{}
	settings := Settings()
	for _, name := range cfg.tierNames() {
		settings = append(settings, tierSettings(name)...)
	}
	for _, s := range settings {
		known[s.Env()] = s.Path
		if s.Secret {
			known[s.Env()+"_FILE"] = s.Path + "File"
		}
	}
	var unknown []string
	k := koanf.New(".")
	err := k.Load(env.Provider(".", env.Opt{
		Prefix:      "KEEPSAKE_",
		EnvironFunc: func() []string { return environ },
		TransformFunc: func(name, value string) (string, any) {
			path, ok := known[name]
			if !ok && !notASetting(name) {
				unknown = append(unknown, name)
			}
			if value == "" {
				return "", nil
			}
			return path, value
		},
	}), nil)
	if err != nil {
		return nil, "", fmt.Errorf("read environment: %w", err)
	}
	if len(unknown) > 0 {
		return nil, "", &Error{Setting: slices.Min(unknown), Source: "environment", Reason: "there is no such setting"}
	}
	return k, "environment", nil
}

// injected matches the variables that Kubernetes sets in every container for each Service of the namespace: for one named
// keepsake-redis, KEEPSAKE_REDIS_SERVICE_HOST, KEEPSAKE_REDIS_SERVICE_PORT_CLIENT, KEEPSAKE_REDIS_PORT and
// KEEPSAKE_REDIS_PORT_6379_TCP_ADDR.
var injected = regexp.MustCompile(`^KEEPSAKE(_\w+)?_(SERVICE_HOST|SERVICE_PORT(_\w+)?|PORT|PORT_[0-9]+_(TCP|UDP)(_\w+)?)$`)

// notASetting recognises the variables of the commands' --url and --key, and those of sibling services.
func notASetting(name string) bool {
	switch name {
	case "KEEPSAKE_URL", "KEEPSAKE_KEY", "KEEPSAKE_KEY_FILE":
		return true
	}
	return injected.MatchString(name)
}

func fromFlags(flags map[string]string) (*koanf.Koanf, string, error) {
	given := make(map[string]any, len(flags))
	for path, text := range flags {
		given[path] = text
	}
	k := koanf.New(".")
	if err := k.Load(confmap.Provider(given, "."), nil); err != nil {
		return nil, "", fmt.Errorf("read flags: %w", err)
	}
	return k, "flag", nil
}

// apply overwrites c with what one source says.
func (c *Config) apply(k *koanf.Koanf, source string) error {
	rest := map[string]bool{}
	for _, path := range k.Keys() {
		if k.Get(path) != nil { // a name with nothing after it, as in a file half commented out, sets nothing
			rest[path] = true
		}
	}
	root := reflect.ValueOf(c).Elem()
	for _, s := range Settings() {
		if rest[s.Path] {
			delete(rest, s.Path)
			delete(c.SecretFiles, s.Path)
			err := assign(root.FieldByIndex(s.field), k.Get(s.Path))
			if err == nil && s.atLeast > 0 {
				err = s.checkLength(root.FieldByIndex(s.field).String())
			}
			if err != nil {
				return &Error{s.Path, source, err.Error()}
			}
		}
		if path := s.Path + "File"; s.Secret && rest[path] {
			delete(rest, path)
			if k.Exists(s.Path) {
				return &Error{s.Path, source, "given together with " + path + "; only one can hold"}
			}
			text, err := secretfile.ReadToken(k.String(path))
			if err != nil {
				return &Error{path, source, oneLine(err)}
			}
			err = assign(root.FieldByIndex(s.field), text)
			if err == nil {
				err = s.checkLength(text)
			}
			if err != nil {
				return &Error{path, source, err.Error()}
			}
			if c.SecretFiles == nil {
				c.SecretFiles = map[string]string{}
			}
			c.SecretFiles[s.Path] = k.String(path)
		}
	}
	if err := c.applyTiers(k, source, rest); err != nil {
		return err
	}
	if len(rest) > 0 {
		return &Error{slices.Min(slices.Collect(maps.Keys(rest))), source, "there is no such setting"}
	}
	return nil
}

// applyTiers changes the numbers of the tiers that are named, and takes their paths out of rest.
func (c *Config) applyTiers(k *koanf.Koanf, source string, rest map[string]bool) error {
	for _, name := range k.MapKeys("tiers") {
		tier := c.Tiers[name]
		for _, s := range tierSettings(name) {
			if !rest[s.Path] {
				continue
			}
			delete(rest, s.Path)
			if err := assign(reflect.ValueOf(&tier).Elem().FieldByIndex(s.field), k.Get(s.Path)); err != nil {
				return &Error{s.Path, source, err.Error()}
			}
		}
		c.Tiers[name] = tier
	}
	return nil
}

// oneLine keeps an error's text on one line: YAML's come with several.
func oneLine(err error) string { return strings.Join(strings.Fields(err.Error()), " ") }
