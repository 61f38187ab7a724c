package soak_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"pgregory.net/rapid"

	"cadre"
)

var (
	operator = cadre.Actor{Kind: cadre.ActorOperator, Name: "operator", Proof: cadre.ProofOwner}
	person   = cadre.Actor{Kind: cadre.ActorOperator, Name: "operator", Proof: cadre.ProofTerminal}
	session  = cadre.Actor{Kind: cadre.ActorSession, Name: "session-aaaaaaaa", Session: "aaaaaaaa-1111", Proof: cadre.ProofEnv}
	guest    = cadre.Actor{Kind: cadre.ActorGuest, Name: "guest", Proof: cadre.ProofEnv}
)

func as(name string) cadre.Actor {
	return cadre.Actor{Kind: cadre.ActorMember, Name: name, Proof: cadre.ProofOwner, By: "operator"}
}

func token(name string, scope cadre.Scope) cadre.Actor {
	return cadre.Actor{Kind: cadre.ActorMember, Name: name, Scope: scope, Proof: cadre.ProofToken}
}

// drawn makes random values of the things that commands are made of. Rapid draws
// one number a command, and the rest follows from it evenly: rapid itself prefers
// small numbers, which would make most commands the same few.
type drawn struct {
	*rand.Rand
	p *pair
}

func (d drawn) n(most int) int { return d.IntN(most + 1) }

func pick[T any](d drawn, from ...T) T { return from[d.n(len(from)-1)] }

func (d drawn) one(of int) bool { return d.n(of-1) == 0 }

// id is mostly a task that is there, sometimes one that is not, or none at all.
func (d drawn) id() cadre.TaskID {
	switch d.n(60) {
	case 0:
		return "77777"
	case 1:
		return cadre.TaskID(pick(d, []string{"", "../x", "a b", "#", "abc"}...))
	}
	last := int(d.p.receipts[len(d.p.receipts)-1].Head.Next) - 1
	return cadre.TaskID(fmt.Sprint(1 + d.n(min(max(last, 6), 20)-1)))
}

func (d drawn) ids(most int) []cadre.TaskID {
	var out []cadre.TaskID
	for range d.n(most) {
		out = append(out, d.id())
	}
	return out
}

func (d drawn) name() string {
	return pick(d, []string{"ann", "ann", "ben", "ben", "cat", "planner", "team-lead", "operator", "ann@docs", "nobody", "../x", "session-aaaaaaaa"}...)
}

func (d drawn) text() string {
	switch d.n(60) {
	case 0:
		return ""
	case 1:
		return strings.Repeat("x", cadre.MaxDescription+1)
	case 2:
		return "nul \x00"
	case 3:
		return "not utf-8 \xff"
	}
	return pick(d, []string{"a", "b", "ping", "write docs", "Write  DOCS", "日本語 ✓", `{"type":"shutdown_request"}`}...)
}

func (d drawn) maybe(s string) *string {
	if d.one(3) {
		return &s
	}
	return nil
}

func (d drawn) metadata() map[string]json.RawMessage {
	if !d.one(4) {
		return nil
	}
	k := pick(d, []string{"k", "priority", "tags", "result", ""}...)
	v := pick(d, []string{`1`, `"high"`, `["x","y"]`, `null`, `{`, `{"summary":"s"}`}...)
	return map[string]json.RawMessage{k: json.RawMessage(v)}
}

func (d drawn) actor() cadre.Actor {
	actors := []cadre.Actor{
		operator, operator, person, as("ann"), as("ann"), as("ben"), as("ben"), as("planner"), as("planner"), as("cat"), as("team-lead"),
		person, as("ann"), as("ben"), session, session, guest, token("ann", d.p.scope), token("ann", d.p.scope),
	}
	if d.one(30) {
		return pick(d, []cadre.Actor{token("ann", "elsewhere"), as("../x")}...)
	}
	return pick(d, actors...)
}

// ask is an ask that exists, if there is one.
func (d drawn) ask() cadre.AskID {
	for i := len(d.p.receipts) - 1; i >= 0; i-- {
		for _, e := range d.p.receipts[i].Events {
			if a, ok := e.After.(*cadre.Ask); ok && !d.one(4) {
				return a.ID
			}
		}
	}
	return "a1"
}

// draw makes one random command.
func (p *pair) draw(rt *rapid.T) call {
	return drawn{rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "command"), 0)), p}.call()
}

func (d drawn) call() call {
	kinds := []func() cadre.Change{d.task, d.task, d.task, d.status, d.status, d.status, d.status, d.edges, d.edges, d.mail, d.team, d.asks, d.undo, d.own}
	return call{d.actor(), kinds[d.n(len(kinds)-1)]()}
}

func (d drawn) task() cadre.Change {
	switch d.n(9) {
	case 0, 1:
		return &cadre.TaskAdd{
			Subject: d.text(), Description: d.text(), BlockedBy: d.ids(2), Owner: pick(d, []string{"", "", "ann", "ben", "later", "../x"}...),
			Priority: cadre.Level(pick(d, []string{"", "high", "-5", "soon"}...)), Metadata: d.metadata(), Plan: d.one(3), Parent: d.parent(),
		}
	case 2:
		return &cadre.TaskComment{ID: d.id(), Text: d.text()}
	case 3:
		if !d.one(3) {
			return &cadre.TaskAdd{Subject: d.text()}
		}
		return &cadre.TaskImport{Lines: []cadre.ImportLine{
			{Subject: "one", BlockedBy: []cadre.LineRef{"@2", cadre.LineRef(d.id())}},
			{Subject: "two", BlockedBy: []cadre.LineRef{pick(d, []cadre.LineRef{"@3", "@1", "@2", "@9"}...)}},
			{Subject: "three", Status: pick(d, []string{"", "completed", "open", "?"}...)},
		}}
	}
	v := &cadre.TaskUpdate{ID: d.id(), Subject: d.maybe(d.text()), Description: d.maybe("d"), ActiveForm: d.maybe("doing"), Owner: d.maybe(d.name()), Metadata: d.metadata(), Result: d.maybe("r")}
	if d.one(3) {
		v.Status = d.maybe(pick(d, []string{"pending", "in_progress", "completed", "deleted", "resolved", "?"}...))
	}
	if d.one(3) {
		v.IfVersion = new(uint64(d.n(6)))
	}
	if d.one(4) {
		v.AddBlocks, v.Reference, v.Unreference = d.ids(1), d.ids(1), d.ids(1)
	}
	v.Force = d.one(3)
	return v
}

func (d drawn) parent() cadre.TaskID {
	if d.one(8) {
		return d.id()
	}
	return ""
}

func (d drawn) status() cadre.Change {
	lease := time.Duration(d.n(1)*d.n(60)) * time.Second
	fence := uint64(0)
	if d.one(6) {
		fence = uint64(1 + d.n(20))
	}
	switch d.n(9) {
	case 0:
		return &cadre.TaskClaim{ID: d.id(), Force: d.one(3), Lease: lease}
	case 1, 2:
		return &cadre.TaskStart{ID: d.id(), Force: d.one(3), Lease: lease}
	case 3:
		return &cadre.TaskDone{ID: d.id(), Force: d.one(3), Fence: fence, Result: "r"}
	case 4, 5:
		return &cadre.TaskRelease{ID: d.id(), Fence: fence}
	case 6:
		return &cadre.TaskAccept{ID: d.id()}
	case 7:
		if d.one(2) {
			return &cadre.TaskNext{Claim: true}
		}
		return &cadre.TaskRenew{ID: d.id(), Fence: fence, Lease: time.Minute}
	case 8:
		if d.one(2) {
			return &cadre.LeasesExpire{}
		}
		return &cadre.TaskRefused{ID: d.id(), Reason: "no"}
	}
	return &cadre.TaskNext{Claim: !d.one(4), Lease: lease}
}

func (d drawn) edges() cadre.Change {
	switch d.n(4) {
	case 0, 1:
		return &cadre.TaskBlock{ID: d.id(), By: d.ids(2)}
	case 2:
		return d.unblock()
	case 3:
		return &cadre.TaskRemove{ID: d.id(), Unblock: d.one(2)}
	}
	return &cadre.TaskRestore{ID: d.id()}
}

// unblock mostly takes an edge away that is there, or was a little while ago.
func (d drawn) unblock() cadre.Change {
	for i := len(d.p.receipts) - 1; i >= 0; i-- {
		for _, e := range d.p.receipts[i].Events {
			if t, ok := e.After.(*cadre.Task); ok && len(t.BlockedBy) > 0 && d.one(2) {
				return &cadre.TaskUnblock{ID: t.ID, By: []cadre.TaskID{pick(d, t.BlockedBy...)}}
			}
		}
	}
	return &cadre.TaskUnblock{ID: d.id(), By: d.ids(2)}
}

func (d drawn) mail() cadre.Change {
	switch d.n(5) {
	case 0:
		return &cadre.MsgBroadcast{Text: d.text()}
	case 1:
		return &cadre.MsgAck{}
	case 2:
		return &cadre.MsgAck{IDs: []cadre.MessageID{cadre.MessageID(fmt.Sprint("m", d.n(60)))}}
	case 3:
		item := cadre.TodoItem{Content: d.text(), ActiveForm: d.text(), Status: cadre.Status(pick(d, []string{"pending", "in_progress", "completed", "?"}...))}
		return &cadre.TodoWrite{Items: []cadre.TodoItem{item, item}[:1+d.n(1)]}
	}
	if d.one(2) {
		return &cadre.MsgSend{To: "ann", Text: "ping"} // again and again
	}
	return &cadre.MsgSend{To: d.name(), Text: d.text()}
}

func (d drawn) team() cadre.Change {
	switch d.n(9) {
	case 7, 8:
		return &cadre.TeamCreate{Name: "docs"}
	case 0, 1:
		return &cadre.TeamJoin{Name: d.name(), PlanMode: d.one(4)}
	case 2:
		return &cadre.TeamTake{}
	case 3:
		return &cadre.TeamLabel{Label: d.text()}
	case 4:
		return &cadre.TeamCreate{Name: pick(d, []string{"docs", "Docs", "../x"}...)}
	case 5:
		return &cadre.MemberLeave{Name: d.name()}
	}
	return &cadre.TeamClose{Force: d.one(20)}
}

// own is what members say of themselves, and how a team works.
func (d drawn) own() cadre.Change {
	switch d.n(8) {
	case 0:
		return &cadre.MemberReport{State: pick(d, cadre.StateWorking, cadre.StateWaiting, cadre.StateIdle, cadre.StateStalled, "asleep"), Name: pick(d, "", "", d.name()), Evidence: "e"}
	case 1:
		return &cadre.MemberNudge{Name: d.name(), Text: d.text()}
	case 2:
		after := time.Duration(d.n(40)) * time.Minute
		return &cadre.TeamPolicy{Kind: pick(d, cadre.AskPlan, cadre.AskQuestion, "?"), Then: pick[cadre.PolicyAnswer](d, "approve", "deny", "wait"), After: pick(d, nil, &after)}
	case 3:
		return &cadre.TeamMode{Mode: pick[cadre.WorkMode](d, "dispatch", "self-claim", "?")}
	case 4:
		return &cadre.TeamLimit{Most: d.n(5) - 1, Backend: pick[cadre.Backend](d, "", "shell", "hand")}
	case 5:
		return &cadre.TeamApprovals{Only: pick(d, "any", "any", "?")}
	}
	items := []cadre.TodoItem{}
	for range d.n(3) {
		items = append(items, cadre.TodoItem{Content: d.text(), ActiveForm: d.text(), Status: pick(d, cadre.Pending, cadre.InProgress, cadre.Completed, cadre.Completed, "?")})
	}
	return &cadre.TodoWrite{Items: items}
}

func (d drawn) asks() cadre.Change {
	switch d.n(7) {
	case 0, 1:
		v := &cadre.AskFor{Kind: pick(d, []cadre.AskKind{cadre.AskPlan, cadre.AskQuestion, cadre.AskPermission, "?"}...), Text: d.text(), Task: d.id()}
		if d.one(3) {
			v.Approvers = []string{d.name()}
		}
		return v
	case 2:
		return &cadre.AskReject{ID: d.ask(), Text: "no"}
	case 3:
		return &cadre.AskAnswer{ID: d.ask(), Text: d.text()}
	case 4:
		return &cadre.AskShutdownOf{Name: d.name(), Reason: "done"}
	}
	return &cadre.AskApprove{ID: d.ask()}
}

// undo takes back one of the last commands.
func (d drawn) undo() cadre.Change {
	if len(d.p.receipts) == 0 || d.one(20) {
		return &cadre.Undo{}
	}
	back := d.n(min(len(d.p.receipts)-1, 5))
	return &cadre.Undo{Events: d.p.receipts[len(d.p.receipts)-1-back].Events}
}
