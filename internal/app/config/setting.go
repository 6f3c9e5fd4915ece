package config

import (
	"encoding"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"keepsake/internal/govern/limit"
)

// Setting is one leaf of Config.
type Setting struct {
	Path   string // limits.inFlight
	Flag   string // empty where there is none
	Help   string
	Secret bool // may also come from a file: Path + "File"

	FileFlag string // the flag that names this file; empty where there is none

	atLeast int // bytes that a given text must have

	field []int // index path in Config; nil for a tier's number
}

// Env is the setting's environment variable: KEEPSAKE_LIMITS_IN_FLIGHT.
func (s Setting) Env() string { return envName(s.Path) }

// checkLength refuses a text that is too short. The error does not quote it, because it can be a secret.
func (s Setting) checkLength(text string) error {
	if len(text) < s.atLeast {
		return fmt.Errorf("must have at least %d characters", s.atLeast)
	}
	return nil
}

// In gives the setting's value in c.
func (s Setting) In(c *Config) any {
	return reflect.ValueOf(c).Elem().FieldByIndex(s.field).Interface()
}

// Settings lists the settings in the order of Config, but for tiers, whose names are open.
func Settings() []Setting { return settingsOf(reflect.TypeFor[Config](), "", nil) }

func settingsOf(t reflect.Type, prefix string, index []int) []Setting {
	var list []Setting
	for i := range t.NumField() {
		f := t.Field(i)
		at := append(slices.Clone(index), i)
		path := prefix + f.Tag.Get("setting")
		switch {
		case f.Type.Kind() == reflect.Struct:
			list = append(list, settingsOf(f.Type, path+".", at)...)
		case f.Type.Kind() == reflect.Map:
			// tiers: see tierSettings
		default:
			atLeast, _ := strconv.Atoi(f.Tag.Get("atLeast")) // 0 without the tag
			list = append(list, Setting{
				Path: path, Flag: f.Tag.Get("flag"), Help: f.Tag.Get("help"),
				Secret: f.Tag.Get("secret") != "", FileFlag: f.Tag.Get("fileFlag"), atLeast: atLeast, field: at,
			})
		}
	}
	return list
}

// tierSettings are the numbers of one tier.
func tierSettings(name string) []Setting {
	list := settingsOf(reflect.TypeFor[Tier](), "tiers."+name+".", nil)
	return list
}

// tierNames are the built-in names in their order, then the added ones sorted.
func (c *Config) tierNames() []string {
	var names []string
	for _, t := range limit.Tiers() {
		names = append(names, t.Name)
	}
	for _, name := range slices.Sorted(maps.Keys(c.Tiers)) {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// envName turns camelCase steps into capitals with underscores, as docs/spec/commandline.md shows.
func envName(path string) string {
	var b strings.Builder
	b.WriteString("KEEPSAKE_")
	for _, r := range path {
		switch {
		case r == '.' || r == '-':
			b.WriteByte('_')
		case unicode.IsUpper(r):
			b.WriteByte('_')
			b.WriteRune(r)
		default:
			b.WriteRune(unicode.ToUpper(r))
		}
	}
	return b.String()
}

// noLimit is a count of a tier that has no limit.
const noLimit = "none"

// assign gives v the value that a file, a variable or a flag holds: text for the latter two, what YAML made of it for a
// file. The error says what is expected; the caller adds which setting it was.
func assign(v reflect.Value, value any) error {
	if v.Kind() == reflect.Slice {
		return assignList(v, value)
	}
	text, ok := scalar(value)
	if !ok {
		return fmt.Errorf("must be one value, not a list or a group")
	}
	if u, ok := v.Addr().Interface().(encoding.TextUnmarshaler); ok {
		if err := u.UnmarshalText([]byte(text)); err != nil {
			return fmt.Errorf("%q is not a network such as 10.0.0.0/8", text)
		}
		return nil
	}
	if v.Type() == reflect.TypeFor[time.Duration]() {
		d, err := time.ParseDuration(text)
		if err != nil {
			return fmt.Errorf("%q is not a time such as 20s or 5m", text)
		}
		v.SetInt(int64(d))
		return nil
	}
	switch v.Kind() {
	case reflect.Pointer: // a count that can be without a limit
		if text == noLimit {
			v.SetZero()
			return nil
		}
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return fmt.Errorf("%q is not a whole number or none", text)
		}
		v.Set(reflect.ValueOf(&n))
	case reflect.String:
		v.SetString(text)
	case reflect.Bool:
		b, err := strconv.ParseBool(text)
		if err != nil {
			return fmt.Errorf("%q is not true or false", text)
		}
		v.SetBool(b)
	case reflect.Int, reflect.Int64:
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return fmt.Errorf("%q is not a whole number", text)
		}
		v.SetInt(n)
	case reflect.Float64:
		f, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return fmt.Errorf("%q is not a number", text)
		}
		v.SetFloat(f)
	default:
		panic("config: a setting of type " + v.Type().String())
	}
	return nil
}

// assignList takes a YAML list, or text with commas.
func assignList(v reflect.Value, value any) error {
	var parts []any
	switch value := value.(type) {
	case []any:
		parts = value
	case string:
		for part := range strings.SplitSeq(value, ",") {
			if part = strings.TrimSpace(part); part != "" {
				parts = append(parts, part)
			}
		}
	default:
		return fmt.Errorf("must be a list")
	}
	list := reflect.MakeSlice(v.Type(), len(parts), len(parts))
	for i, part := range parts {
		if err := assign(list.Index(i), part); err != nil {
			return err
		}
	}
	v.Set(list)
	return nil
}

// scalar gives the text of a single value.
func scalar(value any) (string, bool) {
	switch value := value.(type) {
	case string:
		return value, true
	case bool, int, int64, uint64, float64:
		return fmt.Sprint(value), true
	default:
		return "", false
	}
}
