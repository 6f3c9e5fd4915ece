package problem

import "strings"

// Similar returns the known name that name probably stands for: the one with the fewest edits, regardless of case,
// hyphens and underscores. It returns "" if none is similar. It looks at the first 64 bytes of name.
func Similar(name string, known []string) string {
	name = plainName(name[:min(len(name), 64)])
	best, fewest := "", 1+min(max(1, len(name)/2), 3)
	for _, k := range known {
		if edits := distance(name, plainName(k)); edits < fewest {
			best, fewest = k, edits
		}
	}
	return best
}

func plainName(s string) string {
	return strings.NewReplacer("_", "", "-", "").Replace(strings.ToLower(s))
}

// distance returns the Levenshtein distance of two texts, in bytes.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			edits := diagonal
			if a[i] != b[j] {
				edits = 1 + min(diagonal, row[j], row[j+1])
			}
			diagonal, row[j+1] = row[j+1], edits
		}
	}
	return row[len(b)]
}
