package cadre

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// digestOf is what the lead's mail ends with, if that is a digest.
func (w *world) digestOf() *MessageView {
	w.t.Helper()
	answer, err := (&MsgInbox{}).Look(Snap{&w.state}, w.command(operator))
	if err != nil {
		w.t.Fatal(err)
	}
	mail := answer.([]*MessageView)
	if len(mail) == 0 || mail[len(mail)-1].Kind != MessageDigest {
		return nil
	}
	return mail[len(mail)-1]
}

func TestIdleIsToldInADigest(t *testing.T) {
	names := []string{"m1", "m2", "m3", "m4", "m5", "m6", "m7", "m8"}
	w := spawned(t, names...)
	w.must(operator, &MsgAck{})
	w.now.Wall = w.now.Wall.Add(time.Second)
	for range 3 {
		for i, name := range names {
			w.must(as(name), &MemberReport{State: StateWorking})
			w.must(as(name), &MsgSend{To: names[(i+1)%8], Text: "nothing new"})
			w.must(as(name), &MemberReport{State: StateIdle, Evidence: "nothing is ready for it"})
		}
		w.now.Wall = w.now.Wall.Add(time.Minute)
	}
	if got := w.inbox(LeadName); len(got) != 0 {
		t.Errorf("the lead was sent %v", got)
	}
	d := w.digestOf()
	if d == nil || d.Summary != "8 became idle, 24 messages between members" || strings.Count(d.Text, "\n") != 18 || !strings.Contains(d.Text, "m8 to m1: nothing new\n") {
		t.Fatalf("the digest is %+v", d)
	}
	w.must(operator, &MsgAck{})
	if d := w.digestOf(); d != nil {
		t.Errorf("told, and told again: %s", d.Text)
	}
	if _, r, err := w.try(operator, &MsgAck{}); err != nil || len(r.Events) != 0 {
		t.Errorf("marking nothing wrote %v, %v", r.Events, err)
	}
	w.now.Wall = w.now.Wall.Add(time.Minute)
	w.must(as("m1"), &MemberReport{State: StateWorking})
	w.must(as("m1"), &MemberReport{State: StateIdle, Evidence: "failed: task 3"})
	if d := w.digestOf(); d == nil || d.Summary != "1 became idle" || !strings.Contains(d.Text, "failed: task 3") {
		t.Errorf("the digest is %+v", d)
	}
	w.must(operator, &MsgAck{IDs: []MessageID{digestID}})
	if d := w.digestOf(); d != nil {
		t.Errorf("told, and told again: %s", d.Text)
	}
	w.must(as("m1"), &MsgSend{To: "m2", Text: "alone"})
	if d := w.digestOf(); d == nil || d.Summary != "1 message between members" {
		t.Errorf("the digest of one message is %+v", d)
	}
	answer, err := (&MsgInbox{}).Look(Snap{&w.state}, w.command(as("m1")))
	if err != nil || len(answer.([]*MessageView)) != 3 {
		t.Errorf("who leads nobody has %v, %v", answer, err)
	}
}

func TestADigestDoesNotGrowWithHistory(t *testing.T) {
	w := spawned(t, "ann", "ben")
	for i := range digestSpan + 100 {
		if i%100 == 0 {
			w.now.Wall = w.now.Wall.Add(time.Hour)
		}
		c := w.command(as("ann"))
		events, err := (&MsgSend{To: "ben", Text: fmt.Sprint("no ", i)}).Decide(Snap{&w.state}, c)
		if err != nil {
			t.Fatal(err)
		}
		w.apply(c, events)
	}
	c := &counted{Source: &w.state, index: Index(KindMessage)}
	lead, err := Snap{c}.Member(LeadName)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := (Snap{c}).digest(lead, w.now.Wall); err != nil || c.n > digestSpan {
		t.Errorf("%d messages were read, %v", c.n, err)
	}
}

func TestAClientsLeadGetsItsOwnIdleNotice(t *testing.T) {
	w := newWorld(t, "docs")
	lead := session("12345678-1234-1234-1234-123456789012")
	w.must(lead, &TeamCreate{Name: "docs"})
	w.must(lead, &MemberSpawn{Name: "ann", Backend: BackendShell, Folder: "/work"})
	w.must(Self, &MemberStarted{Name: "ann", Process: processOf(1)})
	for range 2 {
		w.must(as("ann"), &MemberReport{State: StateWorking})
		w.must(as("ann"), &MemberReport{State: StateIdle, Evidence: "nothing is ready for it"})
		w.must(as("ann"), &MemberReport{State: StateIdle, Evidence: "still nothing"})
	}
	got := w.inbox(LeadName)
	if len(got) != 2 {
		t.Fatalf("the lead was sent %v", got)
	}
	for m, err := range (Snap{&w.state}).Unread(LeadName) {
		if err != nil || m.Kind != MessageIdle || m.From != "ann" || m.Text != "nothing is ready for it" {
			t.Errorf("%+v, %v", m, err)
		}
	}
}
