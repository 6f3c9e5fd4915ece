package main

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// unit is a unit of sizes.
type unit struct {
	name  string
	bytes int64
}

// The units of sizes, the largest first.
var (
	binaryUnits  = []unit{{"TiB", 1 << 40}, {"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}}
	decimalUnits = []unit{{"TB", 1e12}, {"GB", 1e9}, {"MB", 1e6}, {"kB", 1e3}}
)

// sizeText formats a number of bytes: 100 GiB, or 107 GB if that is exact and a binary unit is not.
func sizeText(n int64) string {
	binary, exact := inUnits(n, binaryUnits)
	if exact {
		return binary
	}
	if decimal, exact := inUnits(n, decimalUnits); exact {
		return decimal
	}
	return binary
}

// inUnits formats a number of bytes in the largest unit that it fills, and reports whether one decimal place is exact.
func inUnits(n int64, units []unit) (text string, exact bool) {
	for _, u := range units {
		if n >= u.bytes {
			text := strings.TrimSuffix(strconv.FormatFloat(float64(n)/float64(u.bytes), 'f', 1, 64), ".0")
			return text + " " + u.name, n%u.bytes*10%u.bytes == 0
		}
	}
	return fmt.Sprintf("%d B", n), n < 1000
}

// parseSize reads a number of bytes, with a unit or without: 107374182400, 100GiB, 1.5 GB.
func parseSize(text string) (int64, bool) {
	number, factor := strings.TrimSpace(text), int64(1)
	for _, u := range slices.Concat(binaryUnits, decimalUnits) {
		if rest, ok := cutSuffixFold(number, u.name); ok {
			number, factor = strings.TrimSpace(rest), u.bytes
			break
		}
	}
	if n, err := strconv.ParseInt(number, 10, 64); err == nil {
		return n * factor, n >= 0 && n <= math.MaxInt64/factor
	}
	f, err := strconv.ParseFloat(number, 64)
	f *= float64(factor)
	return int64(f), err == nil && factor > 1 && f >= 0 && f < math.MaxInt64
}

// cutSuffixFold is strings.CutSuffix without regard to case.
func cutSuffixFold(s, suffix string) (string, bool) {
	if i := len(s) - len(suffix); i >= 0 && strings.EqualFold(s[i:], suffix) {
		return s[:i], true
	}
	return s, false
}
