package coord

import (
	"context"
	"errors"
	"iter"
	"slices"
	"strings"
	"time"

	"cadre"
)

// Stream is an answer that comes in pieces, one event at a time.
type Stream struct{ Events iter.Seq2[cadre.Event, error] }

// Watch follows the log.
type Watch struct {
	Until string `json:"until,omitempty" help:"stop when this is so: task:12=completed"`
	Since string `json:"since,omitempty" help:"begin at an event's number, a time or an age; now without"`
	Guard bool   `json:"guard,omitempty" help:"put back what a member wrote into Claude Code's files and may not"`

	Notify string `json:"notify,omitempty" help:"tell you when an ask waits for you: bell, osc, or a command, which reads it as JSON"`
}

// Guarded is a store that can put back what was written past the rules.
type Guarded interface{ GuardFiles() }

// Run gives the events as they happen.
func (v *Watch) Run(ctx context.Context, s *Session) (any, error) {
	if v.Guard {
		if err := s.guard(); err != nil {
			return nil, err
		}
	}
	head, err := s.head(ctx)
	if err != nil {
		return nil, err
	}
	until, err := parseUntil(v.Until)
	if err != nil {
		return nil, err
	}
	notices, err := s.notifier(v.Notify)
	if err != nil {
		return nil, err
	}
	follow := true
	if until != nil {
		met, err := s.holds(ctx, until)
		if err != nil {
			return nil, err
		}
		follow = !met
	}
	if v.Since != "" {
		seq, err := s.seqSince(ctx, v.Since)
		if err != nil {
			return nil, err
		}
		head = cadre.Head{Seq: seq}
	}
	if notices == nil {
		return Stream{s.follow(ctx, head, follow, until)}, nil
	}
	return Stream{func(yield func(cadre.Event, error) bool) {
		go notices.run(ctx)
		defer notices.end()
		for e, err := range s.follow(ctx, head, follow, until) {
			if err == nil {
				notices.saw(e)
			}
			if !yield(e, err) {
				return
			}
		}
	}}, nil
}

// follow gives events from a place on, until the one that was waited for. It goes along
// with a list that gets another name.
func (s *Session) follow(ctx context.Context, head cadre.Head, follow bool, until *condition) iter.Seq2[cadre.Event, error] {
	return func(yield func(cadre.Event, error) bool) {
		for scope, next := s.Scope, cadre.Scope(""); scope != ""; scope, next = next, "" {
			for e, err := range s.Store.Events(ctx, scope, head, follow) {
				if err == nil {
					head.Seq, head.Hash = e.Seq, e.Hash
				}
				if err == nil && e.SignOfLife() {
					continue
				}
				if end, ok := errors.AsType[*cadre.EpochError](err); ok && end.Head.Epoch == "" {
					if next, err = s.renamed(ctx, scope); err == nil {
						break
					}
				}
				if err == nil {
					err = s.stillValid(ctx)
				}
				if !yield(e, err) || err != nil || until != nil && until.met(e.After) {
					return
				}
			}
		}
	}
}

// renamed is the name that a client gave a list whose log is gone under its own.
func (s *Session) renamed(ctx context.Context, scope cadre.Scope) (cadre.Scope, error) {
	next, err := s.there(ctx, cadre.SessionTeam(string(scope)))
	if err == nil && next == "" {
		err = cadre.Refuse(cadre.RuleMissing, "cadre team list --all", "there is no %s any more", scope)
	}
	return next, err
}

// guard has the store put back from now on what members may not write. It is for
// the operator: it decides what happens to the work of others.
func (s *Session) guard() error {
	if s.Actor.Kind != cadre.ActorOperator {
		return cadre.Refuse(cadre.RuleOperator, askOperator("watch --guard"), "only the operator may guard the files")
	}
	store, ok := cadre.StoreAs[Guarded](s.Store)
	if !ok {
		return cadre.Refuse(cadre.RuleValue, "unset CADRE_CLAUDE", "Claude Code's files are left alone here, so there is nothing to guard")
	}
	store.GuardFiles()
	return nil
}

// condition is a task's status to wait for.
type condition struct {
	task   cadre.TaskID
	status cadre.Status
}

func parseUntil(text string) (*condition, error) {
	if text == "" {
		return nil, nil
	}
	rest, ok := strings.CutPrefix(text, "task:")
	id, status, ok2 := strings.Cut(rest, "=")
	st, err := cadre.ParseStatus(status)
	if !ok || !ok2 || id == "" || err != nil {
		return nil, cadre.Refuse(cadre.RuleValue, "cadre watch --until task:12=completed", "%q is no condition", text)
	}
	return &condition{cadre.TaskID(id), st}, nil
}

func (c *condition) met(o cadre.Object) bool {
	t, ok := o.(*cadre.Task)
	return ok && t.ID == c.task && t.Status == c.status
}

func (s *Session) holds(ctx context.Context, c *condition) (met bool, err error) {
	err = s.Store.View(ctx, s.Scope, func(snap cadre.Snap) error {
		t, err := snap.Task(c.task)
		if t == nil && err == nil {
			s.warn("there is no task %s in %s yet", c.task, s.Scope)
		}
		met = t != nil && c.met(t)
		return err
	})
	return met, err
}

// TaskNext chooses the caller's next task, and can wait for one.
type TaskNext struct {
	cadre.TaskNext
	Wait time.Duration `json:"wait,omitempty" help:"wait so long for one, as in 30s"`
}

// Run tries, and tries again at each change that could make a difference.
func (v *TaskNext) Run(ctx context.Context, s *Session) (any, error) {
	return s.retry(ctx, v.Wait, func(ctx context.Context) (any, error) {
		_, answer, err := s.change(ctx, "task next", &v.TaskNext)
		return answer, err
	}, &cadre.Error{Code: cadre.CodeNotFound, Rule: cadre.RuleNothing}, "nothing became ready")
}

// nextEnd is how long it takes until the next lease or the next ask's time runs
// out, which is no event of the log; at most the time given. One that was over when
// the call was made wakes nobody: it knew, and somebody else may never end it.
func (s *Session) nextEnd(ctx context.Context, called cadre.Time, most time.Duration) (time.Duration, error) {
	now := s.Now()
	err := s.Store.View(ctx, s.Scope, func(snap cadre.Snap) error {
		lease, ask, err := snap.NextEnd(called)
		if lease != nil {
			most = min(most, max(0, *lease-now.Up)+time.Millisecond)
		}
		if ask != nil {
			most = min(most, max(0, ask.Sub(now.Wall))+time.Millisecond)
		}
		return err
	})
	return most, err
}

// retry repeats a call after every change of the scope for as long as it is
// refused by one rule and there is time.
func (s *Session) retry(ctx context.Context, wait time.Duration, call func(context.Context) (any, error), while *cadre.Error, what string) (any, error) {
	answer, err := call(ctx)
	if wait <= 0 || !errors.Is(err, while) {
		return answer, err
	}
	limited, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	head, herr := s.head(ctx)
	if herr != nil {
		return nil, herr
	}
	// Once more: what happened before the head was read woke nobody.
	called := s.Now()
	if answer, err = call(ctx); !errors.Is(err, while) {
		return answer, err
	}
	for limited.Err() == nil {
		if head, err = s.nextChange(limited, head, called, wait); err != nil {
			return nil, err
		}
		if err := s.stillValid(ctx); err != nil {
			return nil, err
		}
		called = s.Now()
		if answer, err = call(ctx); !errors.Is(err, while) {
			return answer, err
		}
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	e := cadre.AsError(err)
	return nil, cadre.Refuse(cadre.RuleTime, e.Hint, "%s within %s: %s", what, wait, e.Message)
}

// nextChange waits for the next event, the end of a lease, of an ask, or of the time, and
// gives the place to go on from.
func (s *Session) nextChange(ctx context.Context, from cadre.Head, called cadre.Time, most time.Duration) (cadre.Head, error) {
	most, err := s.nextEnd(ctx, called, most)
	if err != nil && ctx.Err() == nil {
		return from, err
	}
	limited, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	for e, err := range s.Store.Events(limited, s.Scope, from, true) {
		if epoch, ok := errors.AsType[*cadre.EpochError](err); ok {
			return epoch.Head, nil
		}
		if err != nil && limited.Err() == nil {
			return from, err
		}
		if err == nil {
			return cadre.Head{Epoch: from.Epoch, Seq: e.Seq}, nil
		}
	}
	return from, nil
}

// TaskWait waits until tasks have a status.
type TaskWait struct {
	IDs     []cadre.TaskID `json:"ids" arg:"ID..." help:"the tasks"`
	Status  string         `json:"status,omitempty" values:"pending,in_progress,completed" help:"the status to wait for" default:"completed"`
	Timeout time.Duration  `json:"timeout,omitempty" help:"give up after so long, as in 10m"`
}

// Run waits. A task that is removed meanwhile ends the wait with an error.
func (v *TaskWait) Run(ctx context.Context, s *Session) (any, error) {
	status, err := cadre.ParseStatus(v.Status)
	if err != nil {
		return nil, err
	}
	if len(v.IDs) == 0 {
		return nil, cadre.Refuse(cadre.RuleValue, "cadre task wait ID", "which task?")
	}
	wait := v.Timeout
	if wait <= 0 {
		wait = 1000 * time.Hour
	}
	pending := &cadre.Error{Code: cadre.CodeBlocked, Rule: cadre.RuleWaits}
	return s.retry(ctx, wait, func(ctx context.Context) (any, error) {
		views := []*cadre.TaskView{}
		for _, id := range v.IDs {
			answer, err := s.Do(ctx, "task show", &cadre.TaskShow{ID: id})
			if err != nil {
				return nil, err
			}
			views = append(views, answer.(*cadre.TaskView))
		}
		i := slices.IndexFunc(views, func(t *cadre.TaskView) bool { return t.Status != status })
		if i < 0 {
			return views, nil
		}
		t := views[i]
		if t.Status == cadre.Deleted {
			return nil, cadre.Refuse(cadre.RuleTaskMissing, "cadre task restore "+string(t.ID), "task %s was removed", t.ID)
		}
		return nil, cadre.Refuse(cadre.RuleWaits, "cadre task why "+string(t.ID), "task %s is %s", t.ID, t.Status)
	}, pending, "not "+string(status))
}

// MsgWait waits for mail.
type MsgWait struct {
	Timeout time.Duration `json:"timeout,omitempty" help:"give up after so long, as in 10m"`
	After   uint64        `json:"after,omitempty" door:"-" help:"those up to this number were shown"`
}

// Run gives the unread messages as soon as there are any.
func (v *MsgWait) Run(ctx context.Context, s *Session) (any, error) {
	wait := v.Timeout
	if wait <= 0 {
		wait = 1000 * time.Hour
	}
	none := &cadre.Error{Code: cadre.CodeNotFound, Rule: cadre.RuleNothing}
	return s.retry(ctx, wait, func(ctx context.Context) (any, error) {
		answer, err := s.Do(ctx, "msg inbox", &cadre.MsgInbox{Mail: true, After: v.After, Limit: 1})
		if err != nil {
			return nil, err
		}
		if len(answer.([]*cadre.MessageView)) == 0 {
			return nil, cadre.Refuse(cadre.RuleNothing, "cadre msg inbox --all", "the inbox is empty")
		}
		return s.Do(ctx, "msg inbox", &cadre.MsgInbox{After: v.After})
	}, none, "no message came")
}
