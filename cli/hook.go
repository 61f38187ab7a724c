package cli

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"cadre"
	"cadre/coord"
	"cadre/hook"
	"cadre/internal/flock"
	"cadre/internal/proc"
)

// hookCommand is what Claude Code's hooks start.
func (p *program) hookCommand() *cobra.Command {
	var wait time.Duration
	cmd := &cobra.Command{
		Use: "hook", Short: "Tell a session of Claude Code what it should know; its hooks start this", Example: "cadre install claude --hooks", Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := noArgs(cmd, args); err != nil {
				return err
			}
			if err := p.hook(cmd.Context(), wait); err != nil && !errors.As(err, new(findings)) {
				p.warn("%s", err)
				return findings(1) // any other code would mean something to the client
			} else {
				return err
			}
		},
	}
	cmd.Flags().DurationVar(&wait, "wait", 0, "in a session that has stopped: wait so long for something to go on for")
	return cmd
}

// hook answers one hook.
func (p *program) hook(ctx context.Context, wait time.Duration) error {
	in, err := hook.Read(p.stdin)
	if err != nil {
		return err
	}
	if wait > 0 && (in.Event != "Stop" || !in.Waits(p.env["AI_AGENT"]) || p.env["CLAUDE_CODE_ENTRYPOINT"] != "cli") {
		return nil // a session without a terminal would not end before this does
	}
	if in.Agent != "" {
		return nil
	}
	dir, err := p.stateDir()
	if err != nil {
		return err
	}
	if emptyFolder(dir) {
		return nil // Cadre was never used here
	}
	place, err := p.hookPlace(dir, in.Session)
	if err != nil {
		return err
	}
	defer place.lock.Close()
	p.env["CADRE_SESSION"] = in.Session // whoever started the client may be somebody else
	s, err := p.session(ctx, &cadre.MsgAck{})
	if err != nil {
		return err
	}
	if wait > 0 {
		return p.waitForWork(ctx, s, place, wait)
	}
	return place.alone(ctx, func() error {
		if in.Event == "SessionEnd" {
			return place.remove()
		}
		return p.tell(ctx, s, place, in.Event)
	})
}

// tell tells a session what it should know at some moment.
func (p *program) tell(ctx context.Context, s *coord.Session, place hookPlace, event string) (err error) {
	var word hook.Word
	at := place.read()
	if event == "SessionStart" {
		word, err = hook.Brief(ctx, s)
	} else {
		word, err = hook.News(ctx, s, at.Cursor, 0, event == "Stop")
	}
	if err != nil {
		return err
	}
	text := word.Text
	if event != "SessionStart" && at.knows(word) {
		text = ""
	}
	if event == "Stop" && text == "" {
		return nil // and whoever waits beside it goes on waiting
	}
	return p.say(ctx, s, place, word, func() error {
		return errors.Join(hook.Write(p.out, event, text), p.out.Flush())
	})
}

// say tells a session a word, and notes it then. Where nothing can be noted nothing is
// told: a session that stops would be told the same for ever. An error after it was
// told would have the client throw the word away, so that it is told again at worst.
func (p *program) say(ctx context.Context, s *coord.Session, place hookPlace, w hook.Word, write func() error) error {
	if _, err := place.prepare(told{Cursor: w.Cursor, Said: sum(w)}); err != nil {
		return err
	}
	if err := write(); err != nil {
		return err
	}
	var err error
	if len(w.Mail) > 0 {
		_, err = s.Do(context.WithoutCancel(ctx), "msg ack", &cadre.MsgAck{IDs: w.Mail})
	}
	if err = errors.Join(err, place.commit()); err != nil {
		p.warn("%s", err)
	}
	return nil
}

// waitForWork waits in the background of a session that has stopped, until there is
// something to go on for: exit code 2 wakes it. Whatever else the session does ends
// the wait.
func (p *program) waitForWork(ctx context.Context, s *coord.Session, place hookPlace, wait time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	var at told
	err := place.alone(ctx, func() (err error) { // ends one that waits already
		if at, err = place.prepare(place.read()); err != nil {
			return err
		}
		return place.commit()
	})
	if err != nil {
		return err
	}
	go place.whileLast(ctx, cancel, at)
	pause(ctx, time.Second) // the session has another hook that may find something to go on for right now
	for cursor := at.Cursor; ; {
		word, err := hook.News(ctx, s, cursor, wait, true)
		if err == nil && word.Text != "" {
			err = place.alone(ctx, func() error {
				if place.read() != at { // another hook told it something meanwhile
					cancel()
					return nil
				}
				return p.wake(ctx, s, place, at)
			})
			if err == nil { // another's word, or one that it knows
				pause(ctx, time.Second)
			}
		}
		if ctx.Err() != nil && !errors.As(err, new(findings)) {
			return nil
		}
		if err != nil {
			return err
		}
		cursor = word.Cursor
	}
}

// pause waits for a time, or until the context ends.
func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// wake tells a session that stopped what it should go on for.
func (p *program) wake(ctx context.Context, s *coord.Session, place hookPlace, at told) error {
	word, err := hook.News(ctx, s, at.Cursor, 0, true)
	if err != nil || word.Text == "" || at.knows(word) {
		return err
	}
	err = p.say(ctx, s, place, word, func() error {
		_, err := fmt.Fprintln(p.stderr, word.Text)
		return err
	})
	return cmp.Or[error](err, findings(2))
}

// hookPlace is the file in which it stands what a session was told. It is a cache:
// without it a session is told again who it is and what waits for it. The hooks of a
// session run beside each other, so it is read, used and written under a lock.
type hookPlace struct {
	path string
	lock *flock.Lock
}

// told is how far a session was told, and which hook was the last to do so.
type told struct {
	Cursor string `json:"cursor"`
	Said   string `json:"said"` // the sum of its last word
	Turn   string `json:"turn"`
}

// knows says whether a word was the last one too: the mail in it could not be marked as
// read. One without mail has the same words because the same happened again.
func (t told) knows(w hook.Word) bool { return len(w.Mail) > 0 && t.Said == sum(w) }

// sum tells words apart.
func sum(w hook.Word) string {
	h := fnv.New64a()
	_, _ = fmt.Fprintln(h, w.Text, w.Mail) // a hash takes everything
	return fmt.Sprintf("%016x", h.Sum64())
}

// lockPatience is how long a hook waits for the others of its session. The client would
// wait for it longer.
const lockPatience = 10 * time.Second

// locks is how many lock files there are. They stay, because a lock file must not be
// removed, and sessions are many.
const locks = 64

func (p *program) hookPlace(state, session string) (hookPlace, error) {
	cache, err := p.cacheDir()
	if err != nil {
		return hookPlace{}, err
	}
	h := fnv.New64a()
	_, _ = fmt.Fprintf(h, "%s\x00%s", state, session) // a hash takes everything
	dir := filepath.Join(cache, "hooks")
	lock := filepath.Join(dir, fmt.Sprintf("%02d.lock", h.Sum64()%locks))
	return hookPlace{
		filepath.Join(dir, fmt.Sprintf("%016x.json", h.Sum64())),
		flock.New(func() (*os.File, error) { return os.OpenFile(lock, os.O_RDWR|os.O_CREATE, 0o600) }),
	}, os.MkdirAll(dir, 0o700)
}

// alone does something while no other hook of the session tells it anything.
func (h hookPlace) alone(ctx context.Context, do func() error) error {
	waiting, cancel := context.WithTimeout(ctx, lockPatience)
	defer cancel()
	if err := h.lock.Acquire(waiting); err != nil {
		return fmt.Errorf("other hooks of this session are still at work: %w", err)
	}
	return errors.Join(do(), h.lock.Release())
}

// read gives what was told; nothing where that is not known.
func (h hookPlace) read() (at told) {
	if data, err := os.ReadFile(h.path); err == nil && json.Unmarshal(data, &at) != nil {
		return told{}
	}
	return at
}

// prepare writes what is to be noted, as a new turn, beside the note. commit makes it
// the note: at every moment there is the old one or the new.
func (h hookPlace) prepare(at told) (told, error) {
	at.Turn = rand.Text()
	data, err := json.Marshal(at)
	if err == nil {
		err = os.WriteFile(h.path+".new", data, 0o600)
	}
	if info, errNow := os.Lstat(h.path); err == nil && errNow == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is in the way", h.path)
	}
	return at, err
}

func (h hookPlace) commit() error { return os.Rename(h.path+".new", h.path) }

func (h hookPlace) remove() error {
	for _, path := range []string{h.path, h.path + ".new"} {
		if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	return nil
}

// whileLast calls end when another hook of the session was answered, or when the client
// is gone that started this process, or the shell between them. A client that is killed
// takes its hooks with it only where it can.
func (h hookPlace) whileLast(ctx context.Context, end func(), at told) {
	above := proc.Ancestors()
	above = above[:min(2, len(above))]
	for {
		pause(ctx, time.Second)
		if ctx.Err() != nil {
			return
		}
		if h.read() != at || slices.ContainsFunc(above, func(id proc.Ancestor) bool { return !id.Alive() }) {
			end()
			return
		}
	}
}
