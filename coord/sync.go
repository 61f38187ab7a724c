package coord

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"cadre"
)

// Cursor is a place in one scope's log, as a caller keeps it between two calls.
type Cursor struct {
	Scope cadre.Scope
	Epoch string
	N     uint64
}

func (c Cursor) String() string { return fmt.Sprintf("%s:%s:%d", c.Scope, c.Epoch, c.N) }

// ParseCursor reads a cursor that was given out for this session's scope. One of
// another scope is refused: it would mean something else there.
func (s *Session) ParseCursor(text string) (Cursor, error) {
	parts := strings.Split(text, ":")
	if len(parts) != 3 {
		return Cursor{}, cadre.Refuse(cadre.RuleValue, "", "%.60q is no cursor: give one of an earlier answer, or none", text)
	}
	n, err := strconv.ParseUint(parts[2], 10, 64)
	c := Cursor{cadre.Scope(parts[0]), parts[1], n}
	if err != nil || c.String() != text {
		return Cursor{}, cadre.Refuse(cadre.RuleValue, "", "%.60q is no cursor: give one of an earlier answer, or none", text)
	}
	if c.Scope != s.Scope {
		return Cursor{}, cadre.Refuse(cadre.RuleRead, "", "this cursor is of %.60s, and this is %s: leave it out", c.Scope, s.Scope)
	}
	return c, nil
}

// Sync tells a caller what changed for it since it last asked, and nothing else.
type Sync struct {
	Cursor string        `json:"cursor,omitempty" help:"the one of your last answer; everything that concerns you without"`
	Wait   time.Duration `json:"wait,omitempty" help:"wait so long for something, as in 30s"`
	Limit  int           `json:"limit,omitempty" help:"at most so many of each kind" default:"20"`
	Seen   uint64        `json:"seen,omitempty" door:"-" help:"messages up to this number were shown"`
}

// Synced is what changed, and where to go on from.
type Synced struct {
	*cadre.NewsView
	Full   bool   `json:"full"` // everything there is, and not only what changed
	Cursor string `json:"cursor"`
}

// mostSynced is how many events are looked through. Whoever was away for longer gets
// everything that concerns it, which is less.
const mostSynced = 2000

// Run gathers it, and waits where nothing happened yet.
func (v *Sync) Run(ctx context.Context, s *Session) (any, error) {
	if v.Limit <= 0 {
		return nil, cadre.Refuse(cadre.RuleValue, "", "%d of each kind cannot be shown", v.Limit)
	}
	var from cadre.Head
	if v.Cursor != "" {
		c, err := s.ParseCursor(v.Cursor)
		if err != nil {
			return nil, err
		}
		if c.Epoch == "" {
			return nil, cadre.Refuse(cadre.RuleValue, "", "%.60q is a cursor of mail: give one of an earlier sync, or none", v.Cursor)
		}
		from = cadre.Head{Epoch: c.Epoch, Seq: cadre.Seq(c.N)}
	}
	nothing := &cadre.Error{Code: cadre.CodeNotFound, Rule: cadre.RuleNothing}
	var last *Synced
	answer, err := s.retry(ctx, v.Wait, func(ctx context.Context) (_ any, err error) {
		if last, err = v.gather(ctx, s, from); err == nil && v.Wait > 0 && !last.Full && last.Empty() {
			return nil, cadre.Refuse(cadre.RuleNothing, "", "nothing changed for %s", last.You)
		}
		return last, err
	}, nothing, "nothing happened")
	if errors.Is(err, &cadre.Error{Code: cadre.CodeTimeout, Rule: cadre.RuleTime}) {
		return last, nil
	}
	return answer, err
}

// gather looks once: at the events since the cursor, or at everything.
func (v *Sync) gather(ctx context.Context, s *Session, from cadre.Head) (*Synced, error) {
	news := &cadre.News{All: from.Seq == 0, Most: v.Limit, Unseen: v.Seen}
	for e, err := range s.Store.Events(ctx, s.Scope, from, false) {
		if news.All {
			break
		}
		if _, ended := errors.AsType[*cadre.EpochError](err); ended || len(news.Since) == mostSynced {
			news.All, news.Since = true, nil
			break
		}
		if err != nil {
			return nil, err
		}
		if !e.SignOfLife() {
			news.Since = append(news.Since, e)
		}
	}
	answer, err := s.Do(ctx, "sync", news)
	if err != nil {
		return nil, err
	}
	view := answer.(*cadre.NewsView)
	to := view.Head
	if len(news.Since) > 0 {
		to.Seq = max(from.Seq, view.Until) // what came after it is told the next time
	} else if !news.All {
		to = from
	}
	return &Synced{view, news.All, Cursor{s.Scope, to.Epoch, uint64(to.Seq)}.String()}, nil
}
