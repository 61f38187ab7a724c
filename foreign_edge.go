package cadre

import (
	"maps"
	"slices"
)

// edge is one that a file shows, or shows no more: what waits is its key.
type edge struct {
	by     TaskID
	writer Actor
}

// edges adds and removes what the files say on either side of an edge. A task that
// waits changes once, however many edges it gets.
func (in *intake) edges(writes []ForeignTask) error {
	add, drop := map[TaskID][]edge{}, map[TaskID][]edge{}
	for _, w := range writes {
		if w.Gone {
			continue
		}
		for _, by := range w.AddBlockedBy {
			add[w.ID] = append(add[w.ID], edge{by, w.By})
		}
		for _, waits := range w.AddBlocks {
			add[waits] = append(add[waits], edge{w.ID, w.By})
		}
		for _, by := range w.DropBlockedBy {
			drop[w.ID] = append(drop[w.ID], edge{by, w.By})
		}
		for _, waits := range w.DropBlocks {
			drop[waits] = append(drop[waits], edge{w.ID, w.By})
		}
	}
	for _, id := range slices.SortedFunc(maps.Keys(drop), TaskID.Compare) {
		if err := in.dropEdges(id, drop[id]); err != nil {
			return err
		}
	}
	// From the end of the list: what is waited for has then no edges of its own
	// yet, and looking for a cycle ends at once.
	for _, id := range slices.Backward(slices.SortedFunc(maps.Keys(add), TaskID.Compare)) {
		if err := in.addEdges(id, add[id]); err != nil {
			return err
		}
	}
	return nil
}

func (in *intake) dropEdges(id TaskID, edges []edge) error {
	t, err := in.Task(id)
	if err != nil || t == nil || t.Status == Deleted {
		return err
	}
	next := t.Clone()
	var writer Actor
	for _, e := range edges {
		i := slices.Index(next.BlockedBy, e.by)
		if i < 0 {
			continue
		}
		if in.guard && !in.may(e.writer, func(d *draft) error { return d.needAuthor(t, "unblock") }) {
			in.leaveOut("%s let task %s no longer wait for %s, which it may not: the file was put back", e.writer, id, e.by)
			continue
		}
		next.BlockedBy, writer = slices.Delete(next.BlockedBy, i, i+1), e.writer
	}
	return in.putEdges(t, next, writer)
}

func (in *intake) addEdges(id TaskID, edges []edge) error {
	t, err := in.Task(id)
	if err != nil {
		return err
	}
	if t == nil || t.Status == Deleted {
		for _, e := range edges {
			in.leaveOut("a file says that task %s waits for %s, which was left out: there is no task %s", id, e.by, id)
		}
		return nil
	}
	next := t.Clone()
	var writer Actor
	for _, e := range edges {
		if slices.Contains(next.BlockedBy, e.by) {
			continue
		}
		if in.guard && !in.may(e.writer, func(d *draft) error { return d.needOwner(t, "add a blocker to") }) {
			in.leaveOut("%s let task %s wait for %s, which it may not: the file was put back", e.writer, id, e.by)
			continue
		}
		if err := in.foreignEdge(next, e.by); err != nil {
			if AsError(err).Code == CodeInternal {
				return err
			}
			in.leaveOut("a file says that task %s waits for %s, which was left out: %s", id, e.by, err)
			continue
		}
		writer = e.writer
	}
	if writer.Kind != "" && next.Status == Completed && !next.has(FlagForced) && !next.has(FlagAccepted) {
		next.flag(FlagUnaccepted) // unless all that it waits for is finished
	}
	return in.putEdges(t, next, writer)
}

// putEdges puts a task whose edges somebody changed.
func (in *intake) putEdges(t, next *Task, writer Actor) error {
	if slices.Equal(t.BlockedBy, next.BlockedBy) {
		return nil
	}
	in.wrote(t, writer)
	return in.putTask(t, next)
}

// foreignEdge adds an edge that a file shows. A completed task may have one to an
// open blocker: it was completed out of order then.
func (in *intake) foreignEdge(t *Task, by TaskID) error {
	status := t.Status
	if status == Completed {
		t.Status = Pending
	}
	err := in.addEdge(t, by)
	t.Status = status
	return err
}
