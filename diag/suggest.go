package diag

import "strings"

// Suggest returns the candidate that a mistyped word most likely meant, or "" when none is near. Near is a
// Damerau-Levenshtein distance of at most a third of the word (and at least one), letters compared in lower
// case with - and _ left out. Of equally near candidates the first is taken, so give them sorted.
func Suggest(word string, candidates []string) string {
	w := fold(word)
	if len(w) == 0 || len(w) > 64 {
		return ""
	}
	best, nearest := "", max(1, len(w)/3)+1
	for _, c := range candidates {
		if c == word || c == "" {
			continue
		}
		f := fold(c)
		if len(f)-len(w) >= nearest || len(w)-len(f) >= nearest {
			continue
		}
		d := distance(w, f)
		if d >= len(w) && d > 0 {
			continue // no letter in common is no likeness
		}
		if d < nearest {
			best, nearest = c, d
		}
	}
	return best
}

func fold(s string) []rune {
	return []rune(strings.NewReplacer("-", "", "_", "").Replace(strings.ToLower(s)))
}

// distance counts insertions, deletions, substitutions and swaps of neighbours that lead from a to b.
func distance(a, b []rune) int {
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}
