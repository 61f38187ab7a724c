package cadre

import (
	"encoding/json"
	"fmt"
	"time"
)

// TaskState is what a task looks like to someone who watches: derived here, once,
// and shown the same everywhere.
type TaskState string

const (
	TaskReadyState TaskState = "ready"
	TaskBlocked    TaskState = "blocked"
	TaskRunning    TaskState = "running"
	TaskWaiting    TaskState = "waiting" // for a person
	TaskStalled    TaskState = "stalled"
	TaskDoneState  TaskState = "done"
	TaskGone       TaskState = "deleted"
	TaskUnknown    TaskState = "unknown" // a file gives it a status that nobody knows
)

// TaskView is a task as everyone is shown it: the names of the file, and what the
// log knows besides.
type TaskView struct {
	ID          TaskID                     `json:"id"`
	Key         string                     `json:"key,omitempty"`
	Subject     string                     `json:"subject"`
	Description string                     `json:"description"`
	ActiveForm  string                     `json:"activeForm,omitempty"`
	Owner       string                     `json:"owner,omitempty"`
	Status      Status                     `json:"status"`
	State       TaskState                  `json:"state"`
	Blocks      []TaskID                   `json:"blocks"`
	BlockedBy   []TaskID                   `json:"blockedBy"`
	WaitingOn   []TaskID                   `json:"waitingOn"`
	Metadata    map[string]json.RawMessage `json:"metadata,omitempty"`
	Kind        TaskKind                   `json:"kind,omitempty"`
	Priority    int                        `json:"priority"`
	Labels      []string                   `json:"labels"`
	Parent      TaskID                     `json:"parent,omitempty"`
	Paths       []string                   `json:"paths,omitempty"`
	Run         string                     `json:"run,omitempty"`
	Attempts    int                        `json:"attempts"`
	MaxAttempts int                        `json:"maxAttempts,omitempty"`
	Refusals    int                        `json:"refusals,omitempty"`
	Result      *Result                    `json:"result,omitempty"`
	Plan        *PlanGate                  `json:"plan,omitempty"`
	Flags       []Flag                     `json:"flags"`
	Fence       uint64                     `json:"fence,omitempty"`
	References  []TaskID                   `json:"references"`
	Comments    []CommentView              `json:"comments"`
	Version     uint64                     `json:"version"`
	CreatedAt   time.Time                  `json:"createdAt"`
	UpdatedAt   time.Time                  `json:"updatedAt"`
	StartedAt   *time.Time                 `json:"startedAt,omitempty"`
	CompletedAt *time.Time                 `json:"completedAt,omitempty"`
	Author      string                     `json:"author"`
}

// CommentView is a comment as it is shown with its task.
type CommentView struct {
	Author  string    `json:"author"`
	Content string    `json:"content"`
	At      time.Time `json:"at"`
}

// newView copies what the task itself says. Lists are never null.
func newView(t *Task) *TaskView {
	return &TaskView{
		ID: t.ID, Key: t.Key, Subject: t.Subject, Description: t.Description, ActiveForm: t.ActiveForm, Owner: t.Owner, Status: t.Status,
		Blocks: []TaskID{}, BlockedBy: orEmpty(t.BlockedBy), WaitingOn: []TaskID{}, Metadata: t.Metadata, Kind: t.Kind,
		Priority: t.Priority, Labels: orEmpty(t.Labels), Parent: t.Parent, Paths: t.Paths, Run: t.Run, Attempts: t.Attempts, MaxAttempts: t.MaxAttempts, Refusals: t.Refusals,
		Result: t.Result, Plan: t.Plan, Flags: orEmpty(t.Flags), Fence: t.Fence, References: []TaskID{}, Comments: []CommentView{},
		Version: t.Version, CreatedAt: t.CreatedAt, UpdatedAt: t.UpdatedAt, StartedAt: t.StartedAt, CompletedAt: t.CompletedAt, Author: t.Author,
	}
}

func orEmpty[T any](s []T) []T {
	if s == nil {
		return []T{}
	}
	return s
}

// stateOf derives a task's state from the task, its owner, and whether something
// about it waits for an answer.
func stateOf(t *Task, owner *Member, asked bool) TaskState {
	switch {
	case t.Status == Deleted:
		return TaskGone
	case !t.Status.Known():
		return TaskUnknown
	case t.Status == Completed:
		return TaskDoneState
	case asked || t.has(FlagPerson):
		return TaskWaiting
	case t.Status == InProgress:
		if owner != nil && (owner.State == StateStalled || owner.State == StateUnreachable || owner.State == StateDead) {
			return TaskStalled
		}
		return TaskRunning
	case t.OpenBlockers > 0:
		return TaskBlocked
	}
	return TaskReadyState
}

// viewTask shows one task with everything that belongs to it.
func (s Snap) viewTask(id TaskID) (*TaskView, error) {
	id, err := parseTaskID(id)
	if err != nil {
		return nil, err
	}
	t, err := s.Task(id)
	if err != nil {
		return nil, err
	}
	if t == nil {
		return nil, refuse(RuleTaskMissing, "there is no task %s in %s", id, s.Scope()).hint("cadre task list --scope %s", s.Scope())
	}
	v := newView(t)
	open, err := s.openBlockers(t)
	if err != nil {
		return nil, err
	}
	for _, b := range open {
		v.WaitingOn = append(v.WaitingOn, b.ID)
	}
	if err := s.fillOne(v); err != nil {
		return nil, err
	}
	asked, err := s.Count(IndexTaskAsk, prefixKey(string(id)))
	if err != nil {
		return nil, err
	}
	var owner *Member
	if t.Owner != "" {
		if owner, err = s.Member(t.Owner); err != nil {
			return nil, err
		}
	}
	v.State = stateOf(t, owner, asked > 0)
	return v, nil
}

// fillOne adds to a view what stands on other objects: the tasks that wait for
// it, its comments and its references.
func (s Snap) fillOne(v *TaskView) error {
	for w, err := range s.Blocks(v.ID) {
		if err != nil {
			return err
		}
		v.Blocks = append(v.Blocks, w.ID)
	}
	for c, err := range s.Comments(v.ID) {
		if err != nil {
			return err
		}
		v.Comments = append(v.Comments, CommentView{c.Author, c.Content, c.At})
	}
	for r, err := range s.References(v.ID) {
		if err != nil {
			return err
		}
		v.References = append(v.References, r.other(v.ID))
	}
	return nil
}

func (r *Reference) other(id TaskID) TaskID {
	if r.A == id {
		return r.B
	}
	return r.A
}

// MessageView is a message with its state spelled out.
type MessageView struct {
	*Message
	State string `json:"state"`
}

func viewMessage(m *Message) *MessageView { return &MessageView{m, m.State()} }

// MemberView is a member with what it has to do with tasks and mail.
type MemberView struct {
	*Member
	AgentID string   `json:"agentId"`
	Tasks   []TaskID `json:"tasks"` // what it works on, or is to do
	Unread  int      `json:"unread"`
	Deaf    bool     `json:"deaf,omitempty"`  // its client reads no mail now
	Spent   *Spent   `json:"spent,omitempty"` // where its client's transcripts tell
}

// Spent is how many tokens a member used.
type Spent struct {
	Input      int64     `json:"input"`
	Output     int64     `json:"output"`
	CacheWrite int64     `json:"cacheWrite"`
	CacheRead  int64     `json:"cacheRead"`
	Last       time.Time `json:"last"` // when it last did something
}

func (s Snap) viewMember(m *Member) (*MemberView, error) {
	v := &MemberView{Member: m, AgentID: m.Name + "@" + string(s.Scope()), Tasks: []TaskID{}}
	var running *Task
	for t, err := range s.Tasks(TaskQuery{Index: IndexOwner, Key: m.Name}) {
		if err != nil {
			return nil, err
		}
		v.Tasks = append(v.Tasks, t.ID)
		if running == nil && t.Status == InProgress {
			running = t
		}
	}
	if m.State == StateIdle && running != nil { // a hand-driven member works while it has a task in progress
		working := m.Clone()
		working.State, working.Since, working.Evidence = StateWorking, running.UpdatedAt, "has task "+string(running.ID)+" in progress"
		if running.StartedAt != nil {
			working.Since = *running.StartedAt
		}
		v.Member = working
	}
	var err error
	if v.Deaf, err = s.deaf(m); err != nil {
		return nil, err
	}
	if v.Deaf {
		alone := v.Clone()
		alone.Evidence += "; its client reads no mail before it has started a teammate"
		v.Member = alone
	}
	v.Unread, err = s.Count(IndexUnread, prefixKey(m.Name))
	return v, err
}

// archived says where the scope is. In the archive nobody is at work, and what was seen
// of a member is over: it is shown as what it was when the scope got there.
func (s Snap) archived(members ...*MemberView) (Where, error) {
	log, err := get[Log](s, (*Log)(nil).Ref())
	if err != nil || log == nil || log.Where != Archive {
		return Live, err
	}
	for _, v := range members {
		if v.State == StateDeparted {
			continue
		}
		was := v.Clone()
		was.State, was.Since, was.Evidence = StateIdle, log.Since, fmt.Sprintf("was %s when the team was archived", v.State)
		v.Member, v.Deaf = was, false
	}
	return Archive, nil
}

// deaf says whether the client of a team's lead reads no mail now. Newer clients, which
// make a team for each session, do so only while they have a teammate of their own.
func (s Snap) deaf(lead *Member) (bool, error) {
	if lead.Role != RoleLead || lead.Backend != BackendClient || SessionTeam(lead.Session) != s.Scope() {
		return false, nil
	}
	for m, err := range s.Members() {
		if err != nil || m.Role != RoleLead && m.Backend == BackendClient && m.State != StateDeparted {
			return false, err
		}
	}
	return true, nil
}
