package cli

import (
	"testing"
	"time"

	"cadre"
	"cadre/claudefile"
)

func TestControlMessagesAreToldInWords(t *testing.T) {
	at := time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)
	for want, m := range map[string]cadre.Message{
		"hello":               {Kind: cadre.MessagePlain, Text: "hello"},
		`{"type":"shutdown"}`: {Kind: cadre.MessagePlain, Text: `{"type":"shutdown"}`}, // only looks like one
		`{"type":"new_kind"}`: {Kind: "new_kind", Text: `{"type":"new_kind"}`},

		"assigned you task 1: Outline\n\nall of it": {Kind: cadre.MessageAssignment, Task: "1", Text: claudefile.TaskAssignment("1", "Outline", "all of it", "ann", at)},
		"assigned you task 2: Chapters":             {Kind: cadre.MessageAssignment, Task: "2", Text: "Chapters\n\n"},
		"asks you to shut down: done":               {Kind: cadre.MessageShutdownRequest, Text: claudefile.ShutdownRequest("r", "ann", "done", at)},
		"asks you to shut down":                     {Kind: cadre.MessageShutdownRequest},
		"shutdown approved":                         {Kind: cadre.MessageShutdownResponse, Text: claudefile.ShutdownApproved("r", "bob", "%1", "tmux", at)},
		"shutdown rejected: not yet":                {Kind: cadre.MessageShutdownResponse, Text: claudefile.ShutdownRejected("r", "bob", "not yet", at)},
		"plan to approve: # Plan":                   {Kind: cadre.MessagePlanRequest, Text: claudefile.PlanApprovalRequest("bob", "/p.md", "# Plan\n", "r", at)},
		"plan approved":                             {Kind: cadre.MessagePlanResponse, Text: claudefile.PlanApprovalResponse("r", true, "", "default", at)},
		"plan rejected: too long":                   {Kind: cadre.MessagePlanResponse, Text: claudefile.PlanApprovalResponse("r", false, "too long", "", at)},
		"plan approved: go on":                      {Kind: cadre.MessagePlanResponse, Text: "approved: go on"},
		"permission wanted: run it":                 {Kind: cadre.MessagePermRequest, Text: "run it"},
		"permission approved":                       {Kind: cadre.MessagePermResponse, Text: claudefile.PermissionGranted("r", nil)},
		"permission rejected: no":                   {Kind: cadre.MessagePermResponse, Text: claudefile.PermissionDenied("r", "no")},
		"is idle":                                   {Kind: cadre.MessageIdle, Text: claudefile.IdleNotification("bob", "available", "", "", at)},
		"is idle: failed\n[to ann] a note":          {Kind: cadre.MessageIdle, Text: claudefile.IdleNotification("bob", "failed", "[to ann] a note", "", at)},
	} {
		if got := letter(&m); got != want {
			t.Errorf("%s %s says %q, want %q", m.Kind, m.Text, got, want)
		}
	}
}
