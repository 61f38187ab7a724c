package cadre

import (
	"slices"
	"strings"
	"time"
)

// Index names one way to find objects. A store keeps every index by calling
// [Reindex] and knows nothing about what it means.
type Index string

const (
	IndexReady     Index = "ready"    // tasks without owner that could start: priority, id
	IndexOwner     Index = "owner"    // open tasks: owner, those in progress first, id
	IndexStatus    Index = "status"   // tasks: status, id
	IndexInternal  Index = "internal" // tasks that are a client's own records: status, id
	IndexParent    Index = "parent"   // tasks: parent, id
	IndexSubject   Index = "subject"  // open tasks: folded subject, id
	IndexKey       Index = "key"      // tasks that are not removed: key, id
	IndexBlocker   Index = "blocker"  // tasks: each blocker, id; the edge from its other side
	IndexReference Index = "refers"   // references: either task, the other
	IndexLeased    Index = "leased"   // holders whose lease was not ended: boot, when it ends, name
	IndexSession   Index = "session"  // members: session, name
	IndexGuest     Index = "guest"    // members that are there only while a connection says so: boot, until when, name
	IndexInbox     Index = "inbox"    // messages: recipient, number
	IndexUnread    Index = "unread"   // messages not read: recipient, number
	IndexDead      Index = "dead"     // messages that cannot arrive: number
	IndexSent      Index = "sent"     // messages: sender, time, number
	IndexOpenAsk   Index = "open-ask" // open asks: number
	IndexTaskAsk   Index = "task-ask" // open asks: task, number
	IndexDeadline  Index = "deadline" // open asks that do not wait for ever: until when, number
)

// An Entry is one key of one index, or, with Index equal to the object's kind,
// the object's place among its kind.
type Entry struct {
	Index Index
	Key   string
}

// Entries gives every key under which an object is found.
func Entries(o Object) []Entry {
	if o == nil {
		return nil
	}
	entries := []Entry{{Index(o.Ref().Kind), o.order()}}
	o.index(func(i Index, k string) { entries = append(entries, Entry{i, k}) })
	return entries
}

// Reindex gives the entries to remove and to add when an object is replaced.
// Either image may be nil.
func Reindex(before, after Object) (remove, add []Entry) {
	old, now := Entries(before), Entries(after)
	for _, e := range old {
		if !slices.Contains(now, e) {
			remove = append(remove, e)
		}
	}
	for _, e := range now {
		if !slices.Contains(old, e) {
			add = append(add, e)
		}
	}
	return remove, add
}

// keySep ends a part of a key. Names cannot contain it.
const keySep = "\x00"

func joinKey(parts ...string) string { return strings.Join(parts, keySep) }

// prefixKey is the prefix that finds everything under the given first parts.
func prefixKey(parts ...string) string { return strings.Join(parts, keySep) + keySep }

func timeKey(t time.Time) string { return seqKey(uint64(max(0, t.UnixMilli()))) }

func upKey(up time.Duration) string { return seqKey(uint64(max(0, up))) }

func (t *Task) index(add func(Index, string)) {
	id := t.ID.sortKey()
	add(IndexStatus, joinKey(string(t.Status), id))
	if t.Kind == KindInternal {
		add(IndexInternal, joinKey(string(t.Status), id))
	}
	if t.Parent != "" {
		add(IndexParent, joinKey(string(t.Parent), id))
	}
	if t.Status != Deleted {
		if t.Key != "" {
			add(IndexKey, joinKey(t.Key, id))
		}
		for _, b := range t.BlockedBy {
			add(IndexBlocker, joinKey(string(b), id))
		}
	}
	if !t.Open() {
		return
	}
	add(IndexSubject, joinKey(foldSubject(t.Subject), id))
	if t.Owner != "" {
		rank := "1"
		if t.Status == InProgress {
			rank = "0"
		}
		add(IndexOwner, joinKey(t.Owner, rank, id))
	} else if t.Ready() && t.Kind != KindTrack { // a worker's notes are nobody else's work
		add(IndexReady, joinKey(priorityKey(t.Priority), id))
	}
}

// priorityKey sorts the most urgent first.
func priorityKey(p int) string {
	return seqKey(uint64(maxPriority - min(max(p, -maxPriority), maxPriority)))
}

// foldSubject makes subjects that mean the same compare equal.
func foldSubject(s string) string {
	return clip(strings.Join(strings.Fields(strings.ToLower(s)), " "), 200)
}
