package apikey

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"keepsake/internal/base/problem"
	"keepsake/internal/govern/limit"
)

// The largest values that a client can send.
const (
	maxName     = 120  // characters
	maxReason   = 512  // characters
	maxMetadata = 32   // entries
	maxEntry    = 1024 // characters of the name or string of an entry
)

func checkExpiry(at *time.Time, now time.Time) error {
	if at != nil && !now.Before(*at) {
		return problem.Validation("expiresAt", problem.Expired, "expiresAt must be in the future.")
	}
	return nil
}

func checkRateLimit(perMinute *int64, tier *limit.Tier) error {
	if perMinute != nil && *perMinute > tier.RequestsPerMinute {
		return problem.Validation("rateLimit.requestsPerMinute", problem.TooLargeVal,
			fmt.Sprintf("The tier %s allows at most %d requests per minute.", tier.Name, tier.RequestsPerMinute))
	}
	return nil
}

func checkName(name string) error {
	if strings.TrimSpace(name) == "" {
		return problem.Validation("name", problem.Required, "name must not be blank.")
	}
	return checkText("name", name, maxName)
}

// checkMetadata returns an error for the first entry, by name, that is wrong.
func checkMetadata(metadata map[string]any) error {
	if len(metadata) > maxMetadata {
		return problem.Validation("metadata", problem.TooLong, fmt.Sprintf("metadata must have at most %d entries.", maxMetadata))
	}
	for _, name := range slices.Sorted(maps.Keys(metadata)) {
		if err := checkText("metadata", name, maxEntry); err != nil {
			return err
		}
		member := "metadata." + name
		switch v := metadata[name].(type) {
		case string:
			if err := checkText(member, v, maxEntry); err != nil {
				return err
			}
		case float64, bool:
		default:
			return problem.Validation(member, problem.Type, "Values in metadata must be strings, numbers or booleans.")
		}
	}
	return nil
}

// checkText limits the length of a text and refuses what PostgreSQL cannot store. Its messages do not repeat field, which
// can be a name that the client chose.
func checkText(field, text string, maxLength int) error {
	if len(text) > maxLength && utf8.RuneCountInString(text) > maxLength {
		return problem.Validation(field, problem.TooLong, fmt.Sprintf("This text must have at most %d characters.", maxLength))
	}
	if strings.IndexByte(text, 0) >= 0 || !utf8.ValidString(text) {
		return problem.Validation(field, problem.Format, "This text must be valid UTF-8 without the character U+0000.")
	}
	return nil
}
