package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/fsnotify/fsnotify"
	"github.com/spf13/cobra"

	"cadre"
	"cadre/coord"
	"cadre/hook"
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
	p.env["CADRE_SESSION"] = in.Session // whoever started the client may be somebody else
	s, err := p.session(ctx, &cadre.MsgAck{})
	if err != nil {
		return err
	}
	cursor := place.read()
	var word hook.Word
	switch {
	case in.Event == "SessionStart":
		word, err = hook.Brief(ctx, s)
	case in.Event == "SessionEnd":
		return place.remove()
	case wait > 0:
		return p.waitForWork(ctx, s, place, cursor, wait)
	default:
		word, err = hook.News(ctx, s, cursor, 0, in.Event == "Stop")
	}
	if err != nil {
		return err
	}
	if err := hook.Write(p.out, in.Event, word.Text); err != nil {
		return err
	}
	if err := p.out.Flush(); err != nil {
		return err
	}
	if in.Event == "Stop" && word.Text == "" {
		return nil // else whoever waits beside it would end
	}
	return p.wasTold(ctx, s, place, word)
}

// wasTold notes that a session was told something.
func (p *program) wasTold(ctx context.Context, s *coord.Session, place hookPlace, w hook.Word) error {
	if len(w.Mail) > 0 {
		if _, err := s.Do(ctx, "msg ack", &cadre.MsgAck{IDs: w.Mail}); err != nil {
			return err
		}
	}
	return place.write(w.Cursor)
}

// waitForWork waits in the background of a session that has stopped, until there is
// something to go on for: exit code 2 wakes it. Whatever else the session does ends
// the wait.
func (p *program) waitForWork(ctx context.Context, s *coord.Session, place hookPlace, cursor string, wait time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	if err := place.write(cursor); err != nil { // ends one that waits already
		return err
	}
	if err := place.untilWritten(ctx, cancel); err != nil {
		return err
	}
	go whileAlive(ctx, cancel)
	select { // the session has another hook that may find something to go on for right now
	case <-ctx.Done():
		return nil
	case <-time.After(time.Second):
	}
	for {
		word, err := hook.News(ctx, s, cursor, wait, true)
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			return err
		case word.Text != "":
			fmt.Fprintln(p.stderr, word.Text)
			if err := p.wasTold(context.WithoutCancel(ctx), s, place, word); err != nil {
				return err
			}
			return findings(2)
		}
		cursor = word.Cursor
	}
}

// whileAlive calls end when the client is gone that started this process, or the shell
// between them. A client that is killed takes its hooks with it only where it can.
func whileAlive(ctx context.Context, end func()) {
	above := proc.Ancestors()
	above = above[:min(2, len(above))]
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(2 * time.Second):
		}
		if slices.ContainsFunc(above, func(id proc.Ancestor) bool { return !id.Alive() }) {
			end()
			return
		}
	}
}

// hookPlace is the file in which it stands what a session was told. It is a cache:
// without it a session is told what waits for it, and nothing of what changed.
type hookPlace struct{ path string }

func (p *program) hookPlace(state, session string) (hookPlace, error) {
	cache, err := p.cacheDir()
	if err != nil {
		return hookPlace{}, err
	}
	h := fnv.New64a()
	_, _ = fmt.Fprintf(h, "%s\x00%s", state, session) // a hash takes everything
	dir := filepath.Join(cache, "hooks")
	return hookPlace{filepath.Join(dir, fmt.Sprintf("%016x.json", h.Sum64()))}, os.MkdirAll(dir, 0o700)
}

func (h hookPlace) read() (cursor string) {
	if data, err := os.ReadFile(h.path); err == nil && json.Unmarshal(data, &cursor) != nil {
		return ""
	}
	return cursor
}

func (h hookPlace) write(cursor string) error {
	data, err := json.Marshal(cursor)
	if err != nil {
		return err
	}
	return os.WriteFile(h.path, data, 0o600)
}

func (h hookPlace) remove() error {
	if err := os.Remove(h.path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

// untilWritten calls end when another hook of the session was answered.
func (h hookPlace) untilWritten(ctx context.Context, end func()) error {
	w, err := fsnotify.NewWatcher()
	if err != nil {
		return err
	}
	if err := w.Add(filepath.Dir(h.path)); err != nil {
		return errors.Join(err, w.Close())
	}
	go func() {
		defer w.Close()
		for {
			select {
			case <-ctx.Done():
				return
			case e := <-w.Events:
				if e.Name == h.path {
					end()
					return
				}
			}
		}
	}()
	return nil
}
