package cadre

import (
	"bytes"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// Level is a priority as people and files write it: a name or a number.
type Level string

// UnmarshalJSON takes a number as well as a name.
func (l *Level) UnmarshalJSON(data []byte) error {
	var s string
	if json.Unmarshal(data, &s) == nil {
		*l = Level(s)
		return nil
	}
	*l = Level(bytes.TrimSpace(data))
	return nil
}

// MarshalJSON writes a number where it is one.
func (l Level) MarshalJSON() ([]byte, error) {
	if n, err := strconv.Atoi(string(l)); err == nil {
		return []byte(strconv.Itoa(n)), nil
	}
	return json.Marshal(string(l))
}

// TaskAdd creates a task.
type TaskAdd struct {
	Subject     string                     `json:"subject" arg:"SUBJECT" help:"what is to be done, in one line"`
	Description string                     `json:"description,omitempty" short:"d" help:"everything another agent must know to do it"`
	ActiveForm  string                     `json:"activeForm,omitempty" help:"what to show while it runs, as in \"Running tests\""`
	BlockedBy   []TaskID                   `json:"blockedBy,omitempty" help:"ids of tasks that must be completed first"`
	Owner       string                     `json:"owner,omitempty" help:"who is to do it; may join later"`
	Priority    Level                      `json:"priority,omitempty" values:"low,normal,high,urgent" help:"low, normal, high, urgent or a number"`
	Labels      []string                   `json:"labels,omitempty" help:"words to find it by"`
	Parent      TaskID                     `json:"parent,omitempty" help:"the task this is a part of"`
	Paths       []string                   `json:"paths,omitempty" help:"files it will touch"`
	Run         string                     `json:"run,omitempty" help:"a command that does it, for shell members"`
	MaxAttempts int                        `json:"maxAttempts,omitempty" help:"how often it is tried before it needs a person; 3 without"`
	Plan        bool                       `json:"plan,omitempty" help:"it may start only once its plan is approved"`
	Approvers   []string                   `json:"approvers,omitempty" help:"who may approve its plan; the lead without"`
	Metadata    map[string]json.RawMessage `json:"metadata,omitempty" help:"key=value, repeated"`
	Key         string                     `json:"key,omitempty" help:"the same key again creates nothing and answers the same"`
}

// CommandKey makes a repeated call with the same key one command.
func (v *TaskAdd) CommandKey() string { return v.Key }

// Decide creates the task with the next id of the scope.
func (v *TaskAdd) Decide(s Snap, c Command) ([]Event, error) {
	d, err := begin(s, c)
	if err != nil {
		return nil, err
	}
	t, err := v.check(d)
	if err != nil {
		return nil, err
	}
	if err := d.room(1); err != nil {
		return nil, err
	}
	if err := d.setParent(t, v.Parent); err != nil {
		return nil, err
	}
	for _, by := range v.BlockedBy {
		if err := d.addEdge(t, by); err != nil {
			return nil, err
		}
	}
	if err := firstRefusal(d.mayCreate(), d.mayRun(v.Run)); err != nil {
		return nil, err
	}
	if err := d.putTask(nil, t); err != nil {
		return nil, err
	}
	if err := d.assigned(t); err != nil {
		return nil, err
	}
	return d.finish()
}

// check makes the task of the fields, without its edges and its parent.
func (v *TaskAdd) check(d *draft) (*Task, error) {
	t := &Task{
		ID: d.NextID(), Subject: strings.TrimSpace(v.Subject), Description: v.Description, ActiveForm: v.ActiveForm,
		Status: Pending, Run: v.Run, MaxAttempts: v.MaxAttempts, Author: d.me, CreatedAt: d.now(),
	}
	if err := checkSubject(t.Subject); err != nil {
		return nil, err
	}
	if err := checkText("description", v.Description, MaxDescription); err != nil {
		return nil, err
	}
	if err := checkText("active form", v.ActiveForm, MaxMetadata); err != nil {
		return nil, err
	}
	if err := firstRefusal(checkRun(v.Run), checkAttempts(v.MaxAttempts), d.mayMark(v.Metadata)); err != nil {
		return nil, err
	}
	var err error
	if v.Plan || len(v.Approvers) > 0 {
		t.Plan = &PlanGate{}
		if t.Plan.Approvers, err = d.memberNames(v.Approvers); err != nil {
			return nil, err
		}
	}
	if t.Priority, err = ParsePriority(string(v.Priority)); err != nil {
		return nil, err
	}
	if t.Labels, err = checkLabels(v.Labels); err != nil {
		return nil, err
	}
	if t.Paths, err = checkWords("path", v.Paths); err != nil {
		return nil, err
	}
	if err := t.setMetadata(v.Metadata); err != nil {
		return nil, err
	}
	if v.Owner != "" {
		if t.Owner, err = d.ownerName(v.Owner); err != nil {
			return nil, err
		}
	}
	return t, nil
}

// mayMark keeps the mark of a client's own records from callers: what carries it
// is hidden from lists and passes no gate.
func (d *draft) mayMark(metadata map[string]json.RawMessage) error {
	if _, marked := metadata[internalMark]; marked && d.cmd.Actor.Kind != ActorExternal {
		return refuse(RuleValue, "the metadata key %s is for a client's own records", internalMark)
	}
	return nil
}

// memberNames checks names that may be those of members to come.
func (d *draft) memberNames(names []string) ([]string, error) {
	var out []string
	for _, n := range names {
		name, err := d.ownerName(n)
		if err != nil {
			return nil, err
		}
		if !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	if len(out) > MaxLabels {
		return nil, refuse(RuleLimit, "%d approvers were named, %d are allowed", len(out), MaxLabels)
	}
	return out, nil
}

// room refuses to create past the scope's limit.
func (d *draft) room(n int) error {
	if d.Head().Next+uint64(n)-1 <= MaxTasks {
		return nil
	}
	all, err := d.Count(Index(KindTask), "")
	if err != nil {
		return err
	}
	removed, err := d.Count(IndexStatus, prefixKey(string(Deleted)))
	if err != nil {
		return err
	}
	if all-removed+n > MaxTasks {
		return refuse(RuleLimit, "a list holds %d tasks at most; %s has %d", MaxTasks, d.Scope(), all-removed).hint("cadre task rm ID, or cadre team create")
	}
	return nil
}

// setParent puts a task under another. What a teammate creates while it works on
// a task is that task's own tracking, and never part of the plan.
func (d *draft) setParent(t *Task, parent TaskID) error {
	if parent != "" {
		p, err := d.task(parent)
		if err != nil {
			return err
		}
		t.Parent = p.ID
	}
	working, err := d.worksOn()
	if err != nil || working == nil {
		return err
	}
	t.Kind = KindTrack
	if t.Parent == "" {
		t.Parent = working.ID
	}
	return nil
}

// worksOn is the task that a teammate has in progress; what a lead does is the
// plan, whatever else it works on.
func (d *draft) worksOn() (*Task, error) {
	if d.rights >= leads {
		return nil, nil
	}
	for own, err := range d.Tasks(TaskQuery{Index: IndexOwner, Key: d.me}) {
		if err != nil {
			return nil, err
		}
		if own.Status != InProgress {
			return nil, nil // those in progress come first
		}
		return own, nil
	}
	return nil, nil
}

// mayCreate: any member may, unless the team says only its lead.
func (d *draft) mayCreate() error {
	if err := d.needMember(); err != nil {
		return err
	}
	team, err := d.Team()
	if err != nil {
		return err
	}
	if team != nil && team.Settings.LeadCreates {
		return d.needLead("create tasks in this team")
	}
	return nil
}

// assigned tells a new owner about its task. Someone who has not joined yet is
// told on joining.
func (d *draft) assigned(t *Task) error {
	if t.Owner == "" || t.Owner == d.me {
		return nil
	}
	m, err := d.Member(t.Owner)
	if err != nil || m == nil || m.State == StateDeparted {
		return err
	}
	return d.assign(t, d.me)
}

// assign mails a task to its owner.
func (d *draft) assign(t *Task, from string) error {
	return d.post(&Message{From: from, To: t.Owner, Kind: MessageAssignment, Task: t.ID, Summary: "task " + string(t.ID) + ": " + clip(t.Subject, 80), Text: t.Subject + "\n\n" + t.Description})
}

// Added is the answer to a creation.
type Added struct {
	TaskView
	Similar []TaskID `json:"similar,omitempty"` // open tasks with the same subject, the first few
}

// maxSimilar is how many tasks with the same subject are told of.
const maxSimilar = 5

// viewAdded shows a task that a receipt says was created. Nobody knew its id
// before, so nothing belongs to it yet: only what it waits for is looked up.
func (s Snap) viewAdded(r Receipt, c Command) (*TaskView, error) {
	for _, e := range r.Events {
		t, ok := e.After.(*Task)
		if !ok || e.Before != nil || r.Replayed {
			continue
		}
		v := newView(t)
		v.State = stateOf(t, nil, false)
		open, err := s.openBlockers(t)
		for _, b := range open {
			v.WaitingOn = append(v.WaitingOn, b.ID)
		}
		return v, err
	}
	return s.viewTask(changedTask(r, ""))
}

// Answer gives the task, and open tasks with the same subject.
func (v *TaskAdd) Answer(s Snap, c Command, r Receipt) (any, error) {
	view, err := s.viewAdded(r, c)
	if err != nil {
		return nil, err
	}
	out := &Added{TaskView: *view}
	for t, err := range s.Tasks(TaskQuery{Index: IndexSubject, Key: foldSubject(view.Subject)}) {
		if err != nil {
			return nil, err
		}
		if t.ID == view.ID {
			continue
		}
		if out.Similar = append(out.Similar, t.ID); len(out.Similar) == maxSimilar {
			break
		}
	}
	return out, nil
}

func checkLabels(labels []string) ([]string, error) {
	out, err := checkWords("label", labels)
	if err == nil && len(out) > MaxLabels {
		err = refuse(RuleLimit, "%d labels were given, %d are allowed", len(out), MaxLabels)
	}
	return out, err
}

// checkWords trims a list of short texts and leaves out repetitions.
func checkWords(what string, words []string) ([]string, error) {
	if len(words) > maxWords {
		return nil, refuse(RuleLimit, "%d entries of %s were given, %d are allowed", len(words), what, maxWords)
	}
	var out []string
	for _, w := range words {
		w = strings.TrimSpace(w)
		if w == "" || slices.Contains(out, w) {
			continue
		}
		if err := checkText(what, w, 4096); err != nil {
			return nil, err
		}
		out = append(out, w)
	}
	return out, nil
}

// setMetadata merges keys into a task's metadata; null removes one. What a client
// can only say through metadata (priority, labels, result) sets the fields.
func (t *Task) setMetadata(keys map[string]json.RawMessage) error {
	for _, k := range slices.Sorted(maps.Keys(keys)) { // in one order, so that deciding twice gives the same
		raw := keys[k]
		if k == "" || checkText("metadata key", k, 200) != nil {
			return refuse(RuleValue, "%q cannot be a metadata key", clip(k, 40))
		}
		if !json.Valid(raw) {
			return refuse(RuleValue, "the metadata value of %s is not JSON", clip(k, 40))
		}
		if jsonDepth(raw) > maxDepth {
			return refuse(RuleLimit, "the metadata value of %s is nested more than %d deep", clip(k, 40), maxDepth)
		}
		if string(bytes.TrimSpace(raw)) == "null" {
			t.unmirror(k)
			continue
		}
		if t.Metadata == nil {
			t.Metadata = map[string]json.RawMessage{}
		}
		t.Metadata[k] = raw
		if err := t.mirror(k, raw); err != nil {
			return err
		}
	}
	size := 0
	for k, raw := range t.Metadata {
		size += len(k) + len(raw)
	}
	if size > MaxMetadata {
		return refuse(RuleLimit, "the metadata is %d bytes long, %d are allowed", size, MaxMetadata)
	}
	return nil
}

// internalMark is the metadata key under which clients keep their own records.
const internalMark = "_internal"

// maxDepth bounds how deep a value from outside may be nested: whatever is stored
// must also be read again, as a part of something larger.
const maxDepth = 32

// jsonDepth says how deep a valid JSON text is nested.
func jsonDepth(raw []byte) int {
	depth, deepest, quoted := 0, 0, false
	for i := 0; i < len(raw); i++ {
		switch c := raw[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			depth++
			deepest = max(deepest, depth)
		case c == '}' || c == ']':
			depth--
		}
	}
	return deepest
}

// mirror sets the field that a metadata key stands for.
func (t *Task) mirror(key string, raw json.RawMessage) error {
	switch key {
	case "priority":
		var level Level
		if err := level.UnmarshalJSON(raw); err != nil {
			return err
		}
		p, err := ParsePriority(string(level))
		if err != nil {
			return err
		}
		t.Priority = p
	case "labels", "tags":
		var labels []string
		if json.Unmarshal(raw, &labels) != nil {
			return refuse(RuleValue, "metadata.%s must be a list of words", key)
		}
		out, err := checkLabels(labels)
		if err != nil {
			return err
		}
		t.Labels = out
	case "result":
		t.Result = parseResult(raw)
	case internalMark:
		if string(bytes.TrimSpace(raw)) == "true" {
			t.Kind = KindInternal
		}
	}
	return nil
}

// unmirror takes a metadata key away, and what it stood for.
func (t *Task) unmirror(key string) {
	delete(t.Metadata, key)
	switch key {
	case "priority":
		t.Priority = Normal
	case "labels", "tags":
		t.Labels = nil
	case "result":
		t.Result = nil
	case internalMark:
		if t.Kind == KindInternal {
			t.Kind = KindPlan
		}
	}
}

// FileMetadata is the metadata that a client is shown: the task's own, with what
// the fields say where a key that stands for one says something else.
func (t *Task) FileMetadata() map[string]json.RawMessage {
	says := &Task{}
	for k, raw := range t.Metadata {
		_ = says.mirror(k, raw) // a value that means nothing to Cadre stays metadata
	}
	set := map[string]any{}
	if says.Priority != t.Priority {
		set["priority"] = t.Priority
	}
	if !slices.Equal(says.Labels, t.Labels) {
		set["labels"] = orEmpty(t.Labels)
	}
	if t.Result != nil && (says.Result == nil || !reflect.DeepEqual(says.Result, t.Result)) {
		set["result"] = t.Result
	}
	if len(set) == 0 {
		return t.Metadata
	}
	out := maps.Clone(t.Metadata)
	if out == nil {
		out = map[string]json.RawMessage{}
	}
	if _, ok := set["labels"]; ok {
		delete(out, "tags")
	}
	for k, v := range set {
		out[k], _ = json.Marshal(v) // numbers and texts
	}
	return out
}

// parseResult takes a result as an object or as plain text.
func parseResult(raw json.RawMessage) *Result {
	var r Result
	if json.Unmarshal(raw, &r) == nil && r.Summary != "" {
		return &r
	}
	var text string
	if json.Unmarshal(raw, &text) != nil {
		text = string(raw)
	}
	return &Result{Summary: text}
}
