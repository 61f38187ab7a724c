//go:build unix

package bench

import (
	"testing"
	"time"

	"cadre"
)

// BenchmarkInbox sends to an inbox that stands in Claude Code's files, with a long
// history of mail that was read and with none. Every message is read before the
// next is sent.
func BenchmarkInbox(b *testing.B) {
	b.ReportMetric(0, "ns/op")
	fresh, old := newInbox(b, 0), newInbox(b, history)
	for range 3 * rounds(0) {
		for _, m := range []*mail{fresh, old} {
			began := time.Now()
			if err := m.message(); err != nil {
				b.Fatal(err)
			}
			m.sent = append(m.sent, time.Since(began))
			reader := m.caller
			reader.actor.Name = "reader"
			if err := reader.do("msg ack", &cadre.MsgAck{}); err != nil {
				b.Fatal(err)
			}
		}
	}
	world.report.times("sending with 100,000 read messages before, files", old.sent.median(), "with none", fresh.sent.median(), atMost(1.5))
}

// newInbox is a team with a history, in files.
func newInbox(b *testing.B, before int) *mail {
	h := newHome(b, "inbox")
	m := &mail{caller: newCaller(openFiles(b, h), "sender"), before: before}
	now := m.clock.now().Wall
	m.put(b, []cadre.Event{{After: &cadre.Team{Name: string(scope), CreatedAt: now, Creator: m.actor}}})
	m.fill(b, &now)
	return m
}
