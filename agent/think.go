package agent

import (
	"strings"
	"time"

	"cadre"
)

// longestPause is the most that a member waits whose provider does not say for how
// long it lets it do nothing.
const longestPause = 30 * time.Minute

// think gives a member a turn without a task: for its prompt, or for its mail. What it
// says at the end is for the lead, if that is whom it answers and it did not write
// itself. It says whether the worker is still there.
func (r *runner) think() bool {
	r.v.begins(r)
	r.v.wait(r, false)
	r.due.Store(false)
	r.report(cadre.StateWorking, "reads what it was told")
	prompted := !r.told && r.member.Prompt != ""
	var before uint64
	if err := r.v.Store.View(r.ctx, r.v.Scope, func(snap cadre.Snap) error { before = uint64(snap.Head().Seq); return nil }); err != nil {
		r.v.warn("%s: %v", r.member.Name, err)
	}
	done := make(chan ended, 1)
	go func() {
		out, err := r.worker.Do(r.ctx, nil)
		done <- ended{out, err}
	}()
	out := r.attend(nil, nil, done)
	if out.err != nil || r.ctx.Err() != nil {
		return false
	}
	if out.Limited {
		r.due.Store(true)
		return r.pause(out.Outcome)
	}
	r.read(out.Outcome)
	if r.because = ""; !out.OK {
		r.v.warn("%s could not read what it was told: %s", r.member.Name, out.Summary)
		r.failed("what it was told", out.Summary)
	} else if out.Summary != "" {
		r.answer(out.Outcome, prompted, before)
	}
	return true
}

// read records that a member has read mail, and has been told its prompt.
func (r *runner) read(out Outcome) {
	if out.Limited {
		return
	}
	r.limited = 0
	if !r.told && out.OK && !r.backend.RunsOnly() {
		r.told = true
		r.note(&cadre.MemberKnown{Name: r.member.Name, Told: true})
	}
	if len(out.Read) > 0 {
		r.do("msg ack", &cadre.MsgAck{IDs: out.Read})
	}
}

// answer sends the lead what a member said last, where the lead asked and the member
// wrote nothing to it meanwhile.
func (r *runner) answer(out Outcome, prompted bool, before uint64) {
	asked := prompted
	err := r.v.Store.View(r.ctx, r.v.Scope, func(snap cadre.Snap) error {
		for _, id := range out.Read {
			m, err := snap.Message(id)
			if err != nil {
				return err
			}
			asked = asked || m != nil && m.From == cadre.LeadName
		}
		for m, err := range snap.Inbox(cadre.LeadName, before) {
			if err != nil {
				return err
			}
			asked = asked && (m.From != r.member.Name || !m.Said())
		}
		return nil
	})
	if err != nil && r.ctx.Err() == nil {
		r.v.warn("%s: %v", r.member.Name, err)
	}
	if asked && err == nil {
		r.do("msg send", &cadre.MsgSend{To: cadre.LeadName, Text: out.Summary})
	}
}

// pause has a member wait until its provider lets it do something again, and twice as
// long each time that it does not. Only a shutdown ends it early.
func (r *runner) pause(out Outcome) bool {
	wait := min(r.v.Retry<<min(r.limited, 20), longestPause)
	r.limited++
	if !out.Until.IsZero() {
		wait = max(time.Until(out.Until), r.v.Retry)
	}
	r.report(cadre.StateRateLimited, clip(out.Summary, "; tries again at "+time.Now().Add(wait).UTC().Format(time.RFC3339)))
	over := time.NewTimer(wait)
	defer over.Stop()
	for len(r.asked) == 0 {
		select {
		case <-r.ctx.Done():
			return false
		case <-r.worker.Done():
			return false
		case <-over.C:
			return true
		case <-r.worker.Beats():
		case <-r.wake:
		}
	}
	return true
}

// do does something in the member's name that only goes wrong when it is late.
func (r *runner) do(name string, v cadre.Change) {
	if _, err := r.self.Do(r.ctx, name, v); err != nil && r.ctx.Err() == nil {
		r.v.warn("%s: %s: %v", r.member.Name, name, err)
	}
}

// clip makes evidence of a text that may be long, and of what it is to end with.
func clip(text, end string) string {
	const most = 300 // bytes
	if text = strings.Join(strings.Fields(text), " "); len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "…"
	}
	return text + end
}
