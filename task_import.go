package cadre

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// ImportLine is one task of an import, with the names of the task's JSON; only
// the subject is required. An entry of Blocks, BlockedBy or References, and Parent, is "@N",
// the N-th line of the same import; or the id that a line has there; or else the id
// of a task that exists. What is made gets an id of its own, whatever the line's is.
// A line with a key that a task of the list has already makes no task: it means that
// one.
type ImportLine struct {
	ID          LineRef                    `json:"id,omitempty"`
	Key         string                     `json:"key,omitempty"`
	Subject     string                     `json:"subject"`
	Description string                     `json:"description,omitempty"`
	ActiveForm  string                     `json:"activeForm,omitempty"`
	Owner       string                     `json:"owner,omitempty"`
	Status      string                     `json:"status,omitempty"`
	Blocks      []LineRef                  `json:"blocks,omitempty"`
	BlockedBy   []LineRef                  `json:"blockedBy,omitempty"`
	References  []LineRef                  `json:"references,omitempty"`
	Metadata    map[string]json.RawMessage `json:"metadata,omitempty"`
	Kind        TaskKind                   `json:"kind,omitempty"`
	Priority    Level                      `json:"priority,omitempty"`
	Labels      []string                   `json:"labels,omitempty"`
	Parent      LineRef                    `json:"parent,omitempty"`
	Paths       []string                   `json:"paths,omitempty"`
	Run         string                     `json:"run,omitempty"`
	MaxAttempts int                        `json:"maxAttempts,omitempty"`
	Plan        *PlanGate                  `json:"plan,omitempty"`
	Flags       []Flag                     `json:"flags,omitempty"`
	Result      *Result                    `json:"result,omitempty"`
	Comments    []CommentView              `json:"comments,omitempty"`
}

// LineRef names a task in an import: "@N", or an id.
type LineRef string

// UnmarshalJSON takes a number as well: people write ids so.
func (r *LineRef) UnmarshalJSON(data []byte) error {
	var s string
	if json.Unmarshal(data, &s) == nil {
		*r = LineRef(s)
		return nil
	}
	var n uint64
	if err := json.Unmarshal(data, &n); err != nil {
		return err
	}
	*r = LineRef(decimal(n))
	return nil
}

// TaskImport creates many tasks with dependencies among themselves: all, or none.
type TaskImport struct {
	Lines []ImportLine `json:"lines"`
	Key   string       `json:"key,omitempty"`
}

// CommandKey makes a repeated import with the same key one command.
func (v *TaskImport) CommandKey() string { return v.Key }

// Decide creates the tasks. The first line that is wrong is named.
func (v *TaskImport) Decide(s Snap, c Command) ([]Event, error) {
	d, err := begin(s, c)
	if err != nil {
		return nil, err
	}
	if len(v.Lines) == 0 {
		return nil, refuse(RuleValue, "there is nothing to import")
	}
	if err := d.room(len(v.Lines)); err != nil {
		return nil, err
	}
	first, ok := d.NextID().number()
	if !ok {
		return nil, refuse(RuleLimit, "the list %s has no ids left", d.Scope())
	}
	batch := &importBatch{draft: d, first: first, keys: map[string]bool{}, named: map[LineRef][]int{}}
	if batch.working, err = d.worksOn(); err != nil {
		return nil, err
	}
	for i, line := range v.Lines {
		if err := batch.place(line); err != nil {
			return nil, onLine(i, err)
		}
	}
	batch.tasks = make([]*Task, len(batch.lines))
	for i := range batch.lines {
		if err := batch.make(i); err != nil {
			return nil, onLine(batch.at[i], err)
		}
	}
	for i := range batch.lines {
		if err := batch.block(i); err != nil {
			return nil, onLine(batch.at[i], err)
		}
	}
	if err := batch.acyclic(); err != nil {
		return nil, err
	}
	if err := d.mayCreate(); err != nil {
		return nil, err
	}
	if batch.states {
		if err := d.needLead("import tasks that are already under way"); err != nil {
			return nil, err
		}
	}
	for i, line := range batch.lines {
		if err := d.mayRun(line.Run); err != nil {
			return nil, onLine(batch.at[i], err)
		}
	}
	for i := range batch.tasks {
		if err := batch.put(i); err != nil {
			return nil, onLine(batch.at[i], err)
		}
	}
	if err := batch.tellOwners(); err != nil {
		return nil, err
	}
	return d.finish()
}

// onLine says which line of the import an error is about.
func onLine(i int, err error) error {
	e := *AsError(err)
	e.Message = "line " + strconv.Itoa(i+1) + ": " + e.Message
	return &e
}

// importBatch is an import under way.
type importBatch struct {
	*draft
	first  uint64
	ids    []TaskID // the task of each line of the import
	keys   map[string]bool
	named  map[LineRef][]int // the lines that have an id of the import's own
	lines  []ImportLine      // those that make a task
	at     []int             // where each of these stands in the import
	tasks  []*Task
	refs   [][]TaskID
	states bool // some task does not begin as pending, or is more than a part of the plan

	working *Task // what the caller has in progress, if it is a teammate
}

// place gives a line its task: a new one, or the one that has its key.
func (b *importBatch) place(line ImportLine) error {
	if line.ID != "" {
		b.named[line.ID] = append(b.named[line.ID], len(b.ids))
	}
	id := taskIDOf(b.first + uint64(len(b.lines)))
	if line.Key != "" {
		if err := checkText("key", line.Key, 4*MaxSubject); err != nil {
			return err
		}
		if b.keys[line.Key] {
			return refuse(RuleValue, "another line has the key %q too", clip(line.Key, 40))
		}
		b.keys[line.Key] = true
		for t, err := range b.Tasks(TaskQuery{Index: IndexKey, Key: line.Key}) {
			if err != nil {
				return err
			}
			b.ids = append(b.ids, t.ID)
			return nil
		}
	}
	b.ids, b.lines, b.at = append(b.ids, id), append(b.lines, line), append(b.at, len(b.ids))
	return nil
}

// make checks one line and makes its task; edges within the file may point
// forward, so they are only named here.
func (b *importBatch) make(i int) error {
	line := b.lines[i]
	if len(line.BlockedBy) > MaxBlockers || len(line.References) > MaxBlockers {
		return refuse(RuleLimit, "a task has to do with %d others at most", MaxBlockers)
	}
	metadata := line.Metadata
	if _, marked := metadata[internalMark]; marked && b.cmd.Actor.Kind == ActorOperator {
		metadata = maps.Clone(metadata) // the operator brings back what a client made
		delete(metadata, internalMark)
	}
	add := TaskAdd{
		Subject: line.Subject, Description: line.Description, ActiveForm: line.ActiveForm, Owner: line.Owner,
		Priority: line.Priority, Labels: line.Labels, Paths: line.Paths, Run: line.Run, MaxAttempts: line.MaxAttempts, Metadata: metadata,
	}
	t, err := add.check(b.draft)
	if err != nil {
		return err
	}
	t.ID, t.Key = b.ids[b.at[i]], line.Key
	if err := b.describe(t, line); err != nil {
		return err
	}
	if line.Parent != "" {
		if t.Parent, err = b.resolve(i, line.Parent); err != nil {
			return err
		}
	}
	for _, by := range line.BlockedBy {
		id, err := b.resolve(i, by)
		if err != nil {
			return err
		}
		if !slices.Contains(t.BlockedBy, id) {
			t.BlockedBy = append(t.BlockedBy, id)
		}
	}
	var refs []TaskID
	for _, r := range line.References {
		id, err := b.resolve(i, r)
		if err != nil {
			return err
		}
		refs = append(refs, id)
	}
	b.refs = append(b.refs, refs)
	b.tasks[i] = t
	return b.setStatus(t, line.Status)
}

// describe sets what an import may say of a task and a new task may not.
func (b *importBatch) describe(t *Task, line ImportLine) (err error) {
	switch line.Kind {
	case KindPlan, KindTrack:
		t.Kind = line.Kind
	case KindInternal:
		if b.cmd.Actor.Kind != ActorOperator {
			return refuse(RuleValue, "a task of kind %s is a client's own record", line.Kind)
		}
		t.Kind, b.states = line.Kind, true
		if raw, ok := line.Metadata[internalMark]; ok {
			t.Metadata = maps.Clone(t.Metadata)
			if t.Metadata == nil {
				t.Metadata = map[string]json.RawMessage{}
			}
			t.Metadata[internalMark] = raw
		}
	default:
		return refuse(RuleValue, "%q is not a kind of task", clip(string(line.Kind), 40))
	}
	if b.working != nil {
		t.Kind, t.Parent = KindTrack, b.working.ID
	}
	if line.Result != nil {
		if t.Result, err = checkResult(*line.Result); err != nil {
			return err
		}
	}
	if line.Plan != nil {
		t.Plan = &PlanGate{}
		if t.Plan.Approvers, err = b.memberNames(line.Plan.Approvers); err != nil {
			return err
		}
	}
	for _, f := range line.Flags {
		if f == FlagForced || f == FlagAccepted { // what excuses an order that would be refused now
			t.flag(f)
			b.states = true
		}
	}
	return nil
}

func (b *importBatch) setStatus(t *Task, status string) error {
	if status == "" {
		return nil
	}
	st, err := ParseStatus(status)
	if err != nil {
		return err
	}
	if st == Deleted {
		return refuse(RuleValue, "a removed task cannot be imported")
	}
	now := b.now()
	t.Status = st
	switch st {
	case InProgress:
		t.StartedAt = &now
	case Completed:
		t.StartedAt, t.CompletedAt = &now, &now
	}
	b.states = b.states || st != Pending
	return nil
}

// block adds the edges that a line names from their other side.
func (b *importBatch) block(i int) error {
	for _, ref := range b.lines[i].Blocks {
		id, err := b.resolve(i, ref)
		if err != nil {
			return err
		}
		n, ok := id.number()
		if !ok || n < b.first {
			return refuse(RuleValue, "task %s is there already: an import makes only its own tasks wait", id).hint("cadre task block %s --by ID", id)
		}
		t := b.tasks[n-b.first]
		if slices.Contains(t.BlockedBy, b.tasks[i].ID) {
			continue
		}
		if t.BlockedBy = append(t.BlockedBy, b.tasks[i].ID); len(t.BlockedBy) > MaxBlockers {
			return refuse(RuleLimit, "a task has to do with %d others at most", MaxBlockers)
		}
	}
	return nil
}

// resolve finds the task that an entry names.
func (b *importBatch) resolve(i int, ref LineRef) (TaskID, error) {
	name := string(ref)
	line := 0
	if n, ok := strings.CutPrefix(name, "@"); ok {
		var err error
		if line, err = strconv.Atoi(n); err != nil || line < 1 || line > len(b.ids) {
			return "", refuse(RuleValue, "%q names no line of this import, which has %d", clip(name, 40), len(b.ids))
		}
	} else if named := b.named[ref]; len(named) > 1 {
		return "", refuse(RuleValue, "the lines %d and %d both have the id %q", named[0]+1, named[1]+1, clip(name, 40))
	} else if len(named) == 1 {
		line = named[0] + 1
	}
	if line > 0 {
		if line == b.at[i]+1 {
			return "", refuse(RuleCycle, "the task cannot have to do with itself")
		}
		return b.ids[line-1], nil
	}
	t, err := b.task(TaskID(name))
	if err != nil {
		return "", err
	}
	return t.ID, nil
}

// acyclic checks the edges among the new tasks. Tasks that exist cannot wait for
// new ones, so no cycle can lead through them.
func (b *importBatch) acyclic() error {
	byID := make(map[TaskID]*Task, len(b.tasks))
	for _, t := range b.tasks {
		byID[t.ID] = t
	}
	ordered := topological(byID)
	if len(ordered) == len(b.tasks) {
		return nil
	}
	for _, t := range ordered {
		delete(byID, t.ID)
	}
	for i, t := range b.tasks {
		if path := cycleAmong(byID, t.ID); path != nil {
			lines := make([]TaskID, len(path))
			for k, id := range path {
				n, _ := id.number()
				lines[k] = TaskID("@" + strconv.Itoa(b.at[n-b.first]+1))
			}
			return onLine(b.at[i], refuse(RuleCycle, "the import has a cycle: %s", showCycle(lines)))
		}
	}
	return nil
}

// cycleAmong follows edges from a task until it comes back to it.
func cycleAmong(byID map[TaskID]*Task, from TaskID) []TaskID {
	if byID[from] == nil {
		return nil
	}
	came := map[TaskID]TaskID{}
	for queue := []TaskID{from}; len(queue) > 0; queue = queue[1:] {
		for _, by := range byID[queue[0]].BlockedBy {
			if byID[by] == nil {
				continue
			}
			if by == from {
				path := []TaskID{from}
				for id := queue[0]; id != from; id = came[id] {
					path = append(path, id)
				}
				slices.Reverse(path)
				return append([]TaskID{from}, path...)
			}
			if _, seen := came[by]; !seen {
				came[by] = queue[0]
				queue = append(queue, by)
			}
		}
	}
	return nil
}

// put records one task of the batch with its comments and references. Its count
// of open blockers is known without looking the new tasks up: they are here.
func (b *importBatch) put(i int) error {
	t := b.tasks[i]
	t.Version, t.UpdatedAt = 1, b.now()
	for _, id := range t.BlockedBy {
		blocker := b.own(id)
		if blocker == nil {
			var err error
			if blocker, err = b.Task(id); err != nil {
				return err
			}
		}
		if !blocker.finished() {
			t.OpenBlockers++
		}
	}
	if t.Status != Pending && t.OpenBlockers > 0 && !t.has(FlagForced) && !t.has(FlagAccepted) {
		return refuse(RuleWaits, "the task is %s but what it waits for is not completed: leave its status out", t.Status)
	}
	if t.Status == InProgress && t.Owner == "" {
		t.Owner = b.me
	}
	b.draft.put(nil, t)
	for _, c := range b.lines[i].Comments {
		if err := checkText("comment", c.Content, MaxComment); err != nil {
			return err
		}
		author, at := b.me, b.now()
		if b.rights >= leads && c.Author != "" { // only a lead brings others' words along
			author, at = clip(c.Author, 64), c.At.UTC().Truncate(time.Millisecond)
		}
		b.draft.put(nil, &Comment{Task: t.ID, N: b.number(), Author: author, Content: c.Content, At: at})
	}
	for _, id := range b.refs[i] {
		r := newReference(t.ID, id)
		if have, err := b.Get(r.Ref()); err != nil || have != nil {
			if err != nil {
				return err
			}
			continue
		}
		b.draft.put(nil, r)
	}
	return nil
}

// tellOwners mails every owner once, however many tasks it got.
func (b *importBatch) tellOwners() error {
	given := map[string][]string{}
	for _, t := range b.tasks {
		if t.Owner != "" && t.Owner != b.me && t.Open() {
			given[t.Owner] = append(given[t.Owner], string(t.ID))
		}
	}
	for _, owner := range slices.Sorted(maps.Keys(given)) {
		ids := given[owner]
		if err := b.notice(owner, TaskID(ids[0]), "%d tasks are yours now, from %s to %s", len(ids), ids[0], ids[len(ids)-1]); err != nil {
			return err
		}
	}
	return nil
}

// own gives a task of this batch by its id.
func (b *importBatch) own(id TaskID) *Task {
	n, ok := id.number()
	if !ok || n < b.first || n >= b.first+uint64(len(b.tasks)) {
		return nil
	}
	return b.tasks[n-b.first]
}

// Imported is the answer to an import.
type Imported struct {
	IDs []TaskID `json:"ids"`
}

// Answer lists the new ids, in the order of the lines.
func (v *TaskImport) Answer(_ Snap, _ Command, r Receipt) (any, error) {
	out := &Imported{IDs: make([]TaskID, 0, len(v.Lines))}
	for _, e := range r.Events {
		if t, ok := e.After.(*Task); ok && e.Before == nil {
			out.IDs = append(out.IDs, t.ID)
		}
	}
	return out, nil
}
