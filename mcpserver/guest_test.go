package mcpserver_test

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"
)

// task is what the operator is shown of one.
type task struct{ Status, Owner string }

func (w *world) task(team, id string) (t task) {
	w.t.Helper()
	if err := json.Unmarshal([]byte(w.cadre("task", "show", id, "--json", "--team", team)), &t); err != nil {
		w.t.Fatal(err)
	}
	return t
}

// leasedUntil is when the lease of a team's guest ends, as the log has it; 0 where it
// has none.
func (w *world) leasedUntil(team string) (until int64) {
	w.t.Helper()
	var events []struct {
		Object struct{ Kind, ID string }
		After  struct{ Lease struct{ Until int64 } }
	}
	if err := json.Unmarshal([]byte(w.cadre("audit", "export", "--json", "--team", team)), &events); err != nil {
		w.t.Fatal(err)
	}
	for _, e := range events {
		if e.Object.Kind == "holder" && e.Object.ID == "raw" {
			until = e.After.Lease.Until
		}
	}
	return until
}

// becomes waits until something is so. What has to happen by itself takes its time.
func becomes(so func() bool) {
	for !so() {
		time.Sleep(250 * time.Millisecond)
	}
}

// TestAKilledGuestIsGone: kill -9 of the process that serves it leaves nobody to say so.
// Its claims were leased at once, wherever they are and whichever tool made them, and
// were renewed while it lived.
func TestAKilledGuestIsGone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.cadre("task", "add", "One")
	w.cadre("task", "add", "Two", "--team", "web")
	guest := w.raw("")
	guest.greet(t)
	for _, call := range []string{
		`"TaskUpdate","arguments":{"taskId":"1","owner":"raw"}`, `"TeamJoin","arguments":{"team_name":"web","name":"raw"}`, `"TaskUpdate","arguments":{"taskId":"1","owner":"raw"}`,
	} {
		guest.say(t, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":`+call+`}}`)
		if m, _ := json.Marshal(guest.hear(t)); strings.Contains(string(m), `"isError":true`) {
			t.Fatalf("%s: %s", call, m)
		}
	}
	claimed := w.leasedUntil("docs")
	if claimed == 0 || w.leasedUntil("web") == 0 {
		t.Fatal("a claim has no lease")
	}
	becomes(func() bool { return w.leasedUntil("docs") != claimed })
	if got := w.task("docs", "1"); got.Owner != "raw" {
		t.Fatalf("the task of a guest that works elsewhere is %+v", got)
	}
	if err := guest.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	for _, team := range []string{"docs", "web"} {
		becomes(func() bool { return w.task(team, "1").Owner == "" })
		if got := w.task(team, "1"); got.Status != "pending" {
			t.Errorf("the task in %s is %+v", team, got)
		}
		var m struct{ State, Evidence string }
		if err := json.Unmarshal([]byte(w.cadre("member", "show", "raw", "--json", "--team", team)), &m); err != nil || m.State != "unreachable" || m.Evidence == "" {
			t.Errorf("in %s the guest is %+v, %v", team, m, err)
		}
		if got := w.cadre("msg", "inbox", "--team", team); strings.Count(got, "raw was lost") != 1 {
			t.Errorf("the lead of %s was told: %s", team, got)
		}
	}
}

// TestAGuestThatLedIsGoneWithItsConnection: what it held goes back, and the team it
// founded is there for another to take.
func TestAGuestThatLedIsGoneWithItsConnection(t *testing.T) {
	w := newWorld(t)
	w.cadre("task", "add", "One")
	s := w.agent(nil, "--allow-lead")
	succeeds(t, s, "TaskNext", `{}`, "Owner: some-agent")
	succeeds(t, s, "TeamCreate", `{"team_name":"mine"}`, "You lead it")
	succeeds(t, s, "TaskCreate", `{"subject":"mine","owner":"team-lead"}`, "#1")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for _, team := range []string{"docs", "mine"} {
		if got := w.task(team, "1"); got.Owner != "" || got.Status != "pending" {
			t.Errorf("in %s the task is %+v", team, got)
		}
	}
	var m struct{ State string }
	if err := json.Unmarshal([]byte(w.cadre("member", "show", "some-agent", "--json")), &m); err != nil || m.State != "departed" {
		t.Errorf("the guest is %+v, %v", m, err)
	}
	var team struct{ NoLead bool }
	if err := json.Unmarshal([]byte(w.cadre("team", "show", "mine", "--json")), &team); err != nil || !team.NoLead {
		t.Errorf("the team is %+v, %v", team, err)
	}
	next := w.agent(nil, "--allow-lead")
	succeeds(t, next, "TeamTake", `{"team":"mine"}`, "mine")
	succeeds(t, next, "TeamLabel", `{"label":"Ours"}`, "mine")
}

// TestAGuestThatIsAskedToEndLeaves: its server was told, and has the time.
func TestAGuestThatIsAskedToEndLeaves(t *testing.T) {
	w := newWorld(t)
	w.cadre("task", "add", "One")
	guest := w.raw("")
	guest.greet(t)
	guest.say(t, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"TaskNext","arguments":{}}}`)
	guest.hear(t)
	if got := w.task("docs", "1"); got.Owner != "raw" {
		t.Fatalf("the task is %+v", got)
	}
	if err := guest.cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := guest.cmd.Wait(); err != nil {
		t.Errorf("interrupted, its server ended with %v", err)
	}
	if got := w.task("docs", "1"); got.Owner != "" || got.Status != "pending" {
		t.Errorf("the task is %+v", got)
	}
}

// TestAGuestWhoseClientDoesNotReadLeavesAsWell: what is not read keeps the server from
// writing, and from nothing else.
func TestAGuestWhoseClientDoesNotReadLeavesAsWell(t *testing.T) {
	w := newWorld(t)
	w.cadre("task", "add", "One")
	guest := w.raw("")
	guest.greet(t)
	for n := range 50 { // more than a pipe has room for
		guest.say(t, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/list"}`, n))
	}
	guest.say(t, `{"jsonrpc":"2.0","id":"last","method":"tools/call","params":{"name":"TaskNext","arguments":{}}}`)
	becomes(func() bool { return w.task("docs", "1").Owner == "raw" })
	if err := guest.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if state, err := guest.cmd.Process.Wait(); err != nil || !state.Exited() { // what it wrote stays unread
		t.Errorf("it ended with %v, %v", state, err)
	}
	if got := w.task("docs", "1"); got.Owner != "" || got.Status != "pending" {
		t.Errorf("the task is %+v", got)
	}
	if got := w.cadre("member", "show", "raw", "--json"); !strings.Contains(got, `"departed"`) {
		t.Errorf("the guest is %s", got)
	}
}

// TestWhoHangsUpAndDoesNotReadIsNotServedForEver: it has closed its end, and nobody will
// ever read what there is to say.
func TestWhoHangsUpAndDoesNotReadIsNotServedForEver(t *testing.T) {
	w := newWorld(t)
	w.cadre("task", "add", "One")
	for name, line := range map[string]string{"answers": `{"jsonrpc":"2.0","id":%d,"method":"tools/list"}`, "complaints": "nonsense %d"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			guest := w.raw("")
			guest.greet(t)
			for n := range 2000 { // more than a pipe has room for
				guest.say(t, fmt.Sprintf(line, n))
			}
			if err := guest.in.Close(); err != nil {
				t.Fatal(err)
			}
			if state, err := guest.cmd.Process.Wait(); err != nil || !state.Exited() {
				t.Errorf("it ended with %v, %v", state, err)
			}
		})
	}
}
