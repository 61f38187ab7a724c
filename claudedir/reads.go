package claudedir

import (
	"iter"
	"strings"

	"cadre"
)

// reads is a Source that notes what a decision looks at, so that the files behind
// it can be looked at as well.
type reads struct {
	cadre.Source
	next uint64 // the next task id, where ids were reserved; else 0

	check *checker // looks at the files on the side where there are many; else nil

	tasks   []cadre.TaskID
	given   bool // some were given to the checker
	inboxes map[string]bool
	team    bool
}

// files says which files are behind what was read.
func (r *reads) files() look {
	return look{tasks: r.tasks, inboxes: r.inboxes, team: r.team, all: r.given}
}

func (r *reads) Head() cadre.Head {
	h := r.Source.Head()
	if r.next != 0 {
		h.Next = r.next
	}
	return h
}

func (r *reads) Get(ref cadre.Ref) (cadre.Object, error) {
	r.note(ref)
	return r.Source.Get(ref)
}

func (r *reads) History(ref cadre.Ref) iter.Seq2[cadre.Event, error] {
	r.note(ref)
	return r.Source.History(ref)
}

func (r *reads) Scan(i cadre.Index, prefix, after string) iter.Seq2[cadre.Object, error] {
	r.noteIndex(i, prefix)
	return func(yield func(cadre.Object, error) bool) {
		for o, err := range r.Source.Scan(i, prefix, after) {
			if o != nil {
				r.note(o.Ref())
			}
			if !yield(o, err) {
				return
			}
		}
	}
}

func (r *reads) Count(i cadre.Index, prefix string) (int, error) {
	r.noteIndex(i, prefix)
	return r.Source.Count(i, prefix)
}

func (r *reads) note(ref cadre.Ref) {
	switch ref.Kind {
	case cadre.KindTask:
		r.tasks = append(r.tasks, cadre.TaskID(ref.ID))
		if len(r.tasks) == batchSize && r.check != nil {
			r.check.add(r.tasks)
			r.tasks, r.given = make([]cadre.TaskID, 0, batchSize), true
		}
	case cadre.KindTeam, cadre.KindMember:
		r.team = true
	}
}

// noteIndex notes what an index would have shown, had it been there.
func (r *reads) noteIndex(i cadre.Index, prefix string) {
	switch i {
	case cadre.IndexInbox, cadre.IndexUnread:
		name, _, _ := strings.Cut(prefix, "\x00")
		if r.inboxes == nil {
			r.inboxes = map[string]bool{}
		}
		r.inboxes[name] = true
	case cadre.IndexSession, cadre.Index(cadre.KindMember):
		r.team = true
	}
}
