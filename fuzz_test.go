package cadre

import (
	"encoding/json"
	"testing"
	"unicode/utf8"
)

// FuzzEvent: whatever is read as an event can be written and read again, and is
// then the same.
func FuzzEvent(f *testing.F) {
	w := newTeam(f, "ann")
	w.add("a")
	w.must(as("ann"), &TaskDone{ID: "1", Result: "r"})
	w.must(as("ann"), &MsgSend{To: LeadName, Text: "done"})
	for ref := range w.state.Refs() {
		for e := range w.state.History(ref) {
			line, err := json.Marshal(e)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(line)
		}
	}
	f.Add([]byte(`{"object":{"kind":"task","id":"1"},"after":{"id":"2"}}`))
	f.Add([]byte(`{"object":{"kind":"nothing"},"after":{}}`))
	f.Add([]byte(`{"before":null,"after":[]}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		var e Event
		if json.Unmarshal(line, &e) != nil {
			return
		}
		again, err := json.Marshal(e)
		if err != nil {
			t.Fatalf("read %q and cannot write it: %v", line, err)
		}
		var e2 Event
		if err := json.Unmarshal(again, &e2); err != nil {
			t.Fatalf("wrote %q and cannot read it: %v", again, err)
		}
		third, err := json.Marshal(e2)
		if err != nil || string(third) != string(again) {
			t.Fatalf("%q became %q", again, third)
		}
		for _, o := range []Object{e.Before, e.After} {
			Reindex(o, nil)
		}
		c := NewChainCheck("docs", nil)
		c.Add(e.Seq, HashLine(line), line)
		c.Finish()
	})
}

// FuzzImportLine: any line is imported or refused by a rule, and leaves the list
// as it must be.
func FuzzImportLine(f *testing.F) {
	for _, s := range []string{
		`{"subject":"a"}`, `{"subject":"a","blockedBy":["@1","@2","1",""],"parent":"@2","references":["@2"]}`,
		`{"subject":"a","status":"resolved","priority":-3,"metadata":{"priority":"high","tags":["x"],"result":{"summary":"s"},"_internal":true}}`,
		`{"subject":"a","kind":"track","comments":[{"author":"x","content":"y"}],"labels":["",""," x "]}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var line ImportLine
		if json.Unmarshal(data, &line) != nil {
			return
		}
		w := newTeam(t)
		w.add("exists")
		if _, _, err := w.try(operator, &TaskImport{Lines: []ImportLine{line, {Subject: "second", BlockedBy: []LineRef{"@1"}}}}); err != nil && AsError(err).Rule == "" {
			t.Fatalf("%q: %v", data, err)
		}
	})
}

// FuzzNames: what is accepted as a name is safe to be a file's name.
func FuzzNames(f *testing.F) {
	for _, s := range []string{"docs", "../x", "a\x00b", "ü", "@host", "#12", "007", "in_progress", "-1e3", "ann@docs"} {
		f.Add(s)
	}
	safe := func(s string) bool {
		for _, r := range s {
			if folderRune(r) != r {
				return false
			}
		}
		return s != "" && len(s) <= maxScope
	}
	f.Fuzz(func(t *testing.T, s string) {
		if scope, err := ParseScope(s); err == nil && !safe(string(scope)) {
			t.Errorf("ParseScope(%q) = %q", s, scope)
		}
		if id, err := parseTaskID(TaskID(s)); err == nil && !safe(string(id)) {
			t.Errorf("parseTaskID(%q) = %q", s, id)
		}
		if CheckTeamName(s) == nil && !safe(s) {
			t.Errorf("%q may be a team's name", s)
		}
		if CheckMemberName(s) == nil && !safe(s) {
			t.Errorf("%q may be a member's name", s)
		}
		if st, err := ParseStatus(s); err == nil && st == "" {
			t.Errorf("ParseStatus(%q) is empty", s)
		}
		if p, err := ParsePriority(s); err == nil && (p < -maxPriority || p > maxPriority) {
			t.Errorf("ParsePriority(%q) = %d", s, p)
		}
		if c := clip(s, 20); utf8.ValidString(s) && !utf8.ValidString(c) {
			t.Errorf("clip(%q) = %q", s, c)
		}
	})
}
