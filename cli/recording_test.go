package cli

import (
	"bytes"
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"

	"cadre"
)

// checkRecording holds a recorded log against its own hashes.
func checkRecording(data []byte) (events []cadre.Event, findings []cadre.Finding, err error) {
	check := cadre.NewChainCheck("survey", nil)
	for line := range bytes.Lines(data) {
		var e cadre.Event
		if err := json.Unmarshal(line, &e); err != nil {
			return nil, nil, err
		}
		events = append(events, e)
		stored, _, _ := strings.Cut(string(line), `,"hash":"`+e.Hash) // the hash is of all before it
		check.Add(e.Seq, e.Hash, []byte(stored+"}"))
	}
	return events, check.Finish(), nil
}

// TestTheRecordingIsAsItWasMade: `make recording` makes it, and nobody edits it.
func TestTheRecordingIsAsItWasMade(t *testing.T) {
	data, err := os.ReadFile("../docs/recording.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	events, findings, err := checkRecording(data)
	if err != nil || len(findings) > 0 || len(events) < 100 {
		t.Fatalf("%d events, %v, %v", len(events), findings, err)
	}
	died, failed, approved := false, false, false
	for _, e := range events {
		switch o := e.After.(type) {
		case *cadre.Member:
			died = died || o.State == cadre.StateDead
		case *cadre.Task:
			failed = failed || e.Verb == "task fail" && o.Key == "folders"
		case *cadre.Ask:
			approved = approved || o.Kind == cadre.AskPlan && o.State == cadre.AskApproved && e.Actor.Proof == cadre.ProofToken
		}
	}
	if !died || !failed || !approved {
		t.Errorf("a member died: %v, a task failed: %v, a plan was approved: %v", died, failed, approved)
	}
	if found := regexp.MustCompile(`/(home|root|Users|work|var)/[^ "]*`).Find(data); found != nil {
		t.Errorf("it tells where it was made: %s", found)
	}
	edited := bytes.Replace(data, []byte("List the files"), []byte("List all files"), 1)
	if _, findings, err := checkRecording(edited); err != nil || len(findings) == 0 {
		t.Errorf("an edited recording is not noticed: %v, %v", findings, err)
	}
}
