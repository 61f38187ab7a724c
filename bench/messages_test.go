//go:build unix

package bench

import (
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"

	"cadre"
)

const history = 100_000

// BenchmarkMessages sends to a reader that waits in another process, without a
// history and with a long one.
func BenchmarkMessages(b *testing.B) {
	b.ReportMetric(0, "ns/op")
	fresh, old := newMail(b, 0), newMail(b, history)
	const turns = 10
	for range turns {
		for _, m := range []*mail{fresh, old} {
			m.send(b, max(5, 3*rounds(0)))
		}
	}
	r := &world.report
	const limit = 2 * time.Millisecond
	for _, m := range []*mail{fresh, old} {
		name := fmt.Sprintf("message wakes its reader, %d before", m.before)
		r.times(name+", p50", m.woke.median(), "2 ms", limit, nil)
		r.times(name+", p99", m.woke.at(0.99), "2 ms", limit, atMost(1))
		r.times(name+", with its commit, p99", m.whole.at(0.99), "2 ms", limit, nil)
	}
	r.times("sending with 100,000 messages before", old.sent.median(), "with none", fresh.sent.median(), nil)
}

// mail is a store with a history, and a process that follows it.
type mail struct {
	caller
	before            int
	lines             <-chan time.Time
	n                 int
	sent, woke, whole samples
}

func newMail(b *testing.B, before int) *mail {
	h := newHome(b, "mail")
	m := &mail{caller: newCaller(openStore(b, h.state()), "sender"), before: before}
	m.fill(b, nil)
	m.lines = follow(b, h, scope, func() {
		if err := m.message(); err != nil {
			b.Fatal(err)
		}
	})
	return m
}

// fill makes two members and a history of messages, all read or none.
func (m *mail) fill(b *testing.B, read *time.Time) {
	now := m.clock.now().Wall
	var events []cadre.Event
	for i, name := range []string{"sender", "reader"} {
		events = append(events, cadre.Event{After: &cadre.Member{
			Name: name, Role: cadre.RoleTeammate, Backend: cadre.BackendHand, N: uint64(i + 1), JoinedAt: now, State: cadre.StateIdle, Since: now,
		}})
	}
	m.put(b, events)
	for sent := 0; sent < m.before; {
		events = events[:0]
		for ; len(events) < 2000 && sent < m.before; sent++ {
			n := uint64(sent + 10)
			events = append(events, cadre.Event{After: &cadre.Message{
				ID: cadre.MessageID(fmt.Sprint("m", n)), N: n, From: "sender", To: "reader", Kind: cadre.MessagePlain,
				Text: fmt.Sprintf("message number %d of a long history", sent), Summary: "a message", SentAt: m.clock.now().Wall, ReadAt: read,
			}})
		}
		m.put(b, events)
	}
}

func stop(cmd *exec.Cmd) {
	_ = cmd.Process.Signal(os.Interrupt)
	_ = cmd.Wait()
}

func (m *mail) message() error {
	m.n++
	return m.do("msg send", &cadre.MsgSend{To: "reader", Text: fmt.Sprintf("message %d of this run", m.n)})
}

func (m *mail) send(b *testing.B, times int) {
	for range times {
		began := time.Now()
		if err := m.message(); err != nil {
			b.Fatal(err)
		}
		sent := time.Now()
		heard, ok := <-m.lines
		if !ok {
			b.Fatal("the reader ended")
		}
		m.sent = append(m.sent, sent.Sub(began))
		m.woke = append(m.woke, max(0, heard.Sub(sent)))
		m.whole = append(m.whole, heard.Sub(began))
		time.Sleep(2 * time.Millisecond) // it waits again
	}
}
