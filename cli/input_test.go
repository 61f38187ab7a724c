package cli

import (
	"errors"
	"strings"
	"testing"

	"cadre"
)

func TestReadImport(t *testing.T) {
	lines, err := readImport(strings.NewReader("\ufeff{\"subject\":\"a\",\"x\":1}\r\n {\"subject\":\"b\",\"priority\":5} \n\n\n"), maxImportLine)
	if err != nil || len(lines) != 2 || lines[1].Priority != "5" {
		t.Fatalf("readImport() = %+v, %v", lines, err)
	}
	if _, err := readImport(strings.NewReader(`{"Subject":"a","unknown":1,"estimate":4,"state":"ready","metadata":{"blocked_by":1}}`), maxImportLine); err != nil {
		t.Errorf("names that are no mistake: %v", err)
	}
}

func TestReadImportNamesTheLine(t *testing.T) {
	const limit = 1000
	for _, test := range []struct{ in, want string }{
		{"", "nothing to import"},
		{"\n\n", "nothing to import"},
		{"null\n", "line 1 is not a JSON object"},
		{"[]\n", "line 1 is not a JSON object"},
		{"{\"subject\":\"a\"}\n{", "line 2: not valid JSON"},
		{"{\"subject\":\"a\"}{}", "line 1: not valid JSON"},
		{"{\"subject\":\"a\",\"blocked_by\":[\"@1\"]}", `line 1: a task has no field "blocked_by": did you mean blockedBy?`},
		{"{\"subject\":\"a\",\"ower\":\"ann\",\"history\":[]}", `"ower": did you mean owner?`},
		{"{\"subject\":5}", `line 1: "subject" cannot be a number`},
		{"{\"subject\":\"a\"}\n\n{\"subject\":\"b\"}", "line 2 is empty"},
		{"{\"subject\":\"\xff\"}", "line 1 is not valid UTF-8"},
		{"{\"subject\":\"a\"}\n{\"subject\":\"" + strings.Repeat("x", limit) + "\"}", "line 2 is longer than 1000 bytes"},
		{strings.Repeat("{\"subject\":\"a\"}\n", cadre.MaxTasks+1), "more than 100000 lines"},
	} {
		_, err := readImport(strings.NewReader(test.in), limit)
		if !errors.Is(err, cadre.ErrUsage) || !strings.Contains(err.Error(), test.want) {
			t.Errorf("readImport(%.40q) = %v, want %q", test.in, err, test.want)
		}
	}
}

// TestReadImportTakesWhatAnExportWrites: a task at its limits, written with the
// longest escapes, and a history that is longer than any line may be.
func TestReadImportTakesWhatAnExportWrites(t *testing.T) {
	bells := strings.Repeat(`\u0007`, cadre.MaxDescription)
	lines, err := readImport(strings.NewReader(`{"subject":"a","description":"`+bells+`"}`), maxImportLine)
	if err != nil || len(lines[0].Description) != cadre.MaxDescription {
		t.Errorf("a long description full of control characters: %v", err)
	}
	history := `[{"after":{"subject":"}],\"history\":\\"},"n":[1,{"history":2}]},` + strings.Repeat(`"x",`, 1000) + `1]`
	for _, in := range []string{
		`{"history":` + history + `,"subject":"a","metadata":{"history":"kept"}}`,
		`{"subject":"a","metadata":{"history":"kept"}, "history" : ` + history + ` }`,
		`{"subject":"a","history":"text, and } more","metadata":{"history":"kept"}}` + "\r\n",
	} {
		lines, err := readImport(strings.NewReader(in), 200)
		if err != nil || len(lines) != 1 || lines[0].Subject != "a" || string(lines[0].Metadata["history"]) != `"kept"` {
			t.Errorf("readImport(%.60s) = %+v, %v", in, lines, err)
		}
	}
}

// FuzzReadImport: whatever a file holds, it is read or refused with a usage error.
func FuzzReadImport(f *testing.F) {
	f.Add(`{"subject":"a","blockedBy":["@1"]}`)
	f.Add("\x00{}\n")
	f.Add(`{"subject":"a","history":[{"a":"}"}],"owner":"b"}`)
	f.Fuzz(func(t *testing.T, s string) {
		lines, err := readImport(strings.NewReader(s), maxImportLine)
		if err != nil && !errors.Is(err, cadre.ErrUsage) || err == nil && len(lines) == 0 {
			t.Fatalf("readImport(%q) = %d lines, %v", s, len(lines), err)
		}
	})
}
