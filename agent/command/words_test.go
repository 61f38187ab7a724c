package command

import (
	"slices"
	"testing"
)

func TestWords(t *testing.T) {
	for line, want := range map[string][]string{
		`mytool --flag {prompt}`:    {"mytool", "--flag", "{prompt}"},
		"  a\tb\n c ":               {"a", "b", "c"},
		`a 'b c' "d e"f`:            {"a", "b c", "d ef"},
		`a '' ""`:                   {"a", "", ""},
		`a b\ c \\ \'`:              {"a", "b c", `\`, "'"},
		`"say \"hi\"" "\n" '\n' é`:  {`say "hi"`, `\n`, `\n`, "é"},
		`sh -c 'echo "$1"; ls *' x`: {"sh", "-c", `echo "$1"; ls *`, "x"},
	} {
		if got, err := words(line); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %q, %v", line, got, err)
		}
	}
	for _, line := range []string{"", "  ", "'a", `"a`, `a \`} {
		if got, err := words(line); err == nil {
			t.Errorf("%s: %q", line, got)
		}
	}
}
