package cli

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"time"

	"cadre"
	"cadre/coord"
	"cadre/transcript"
)

// transcripts is what Claude Code's transcripts tell, read when it is first asked for.
// Lists are looked at side by side, and each look may ask.
type transcripts struct {
	*program
	dir   string // Claude Code's folder, where it is not the one that is used here
	state string // a folder for the index; empty keeps none

	mu    sync.Mutex // whoever has it reads
	index *transcript.Index
	fresh time.Time // when it was last read
}

// folder is the Claude Code folder whose transcripts these are.
func (t *transcripts) folder() (string, error) {
	if t.dir != "" {
		return t.dir, nil
	}
	return t.claudeDir()
}

// read brings the index up to date. With a context that ends soon it reads as far
// as it gets, and goes on from there the next time.
func (t *transcripts) read(ctx context.Context) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.readNow(ctx)
}

func (t *transcripts) readNow(ctx context.Context) error {
	if t.index == nil {
		dir, err := t.folder()
		if err != nil {
			return err
		}
		t.index = transcript.Open(filepath.Join(dir, "projects"), t.state)
	}
	bar := t.progress("reading transcripts")
	defer bar.clear()
	err := t.index.Update(ctx, func(done, total int64) { bar.report(int(done>>10), int(total>>10)) })
	t.fresh = time.Now()
	return err
}

// Erased gives the teams that transcripts tell of.
func (t *transcripts) Erased(ctx context.Context) ([]*coord.Erased, error) {
	err := t.read(ctx)
	if t.index == nil {
		return nil, err
	}
	var out []*coord.Erased
	for _, team := range t.index.Teams() {
		out = append(out, &coord.Erased{
			TeamRebuild: cadre.TeamRebuild{
				Name: team.Name, Solo: team.Solo, Description: team.Description, CreatedAt: team.Created,
				Members: team.Members, Tasks: team.Tasks, Messages: team.Messages, Gaps: team.Gaps,
			},
			Scope: team.Scope, Deleted: team.Deleted, Last: team.Last,
		})
	}
	return out, err
}

// Spent gives what the members of a team used.
func (t *transcripts) Spent(ctx context.Context, scope cadre.Scope) (map[string]cadre.Spent, error) {
	err := t.read(ctx)
	return t.spent(scope), err
}

// Heard says when each member of a team last wrote to its transcript.
func (t *transcripts) Heard(scope cadre.Scope) map[string]time.Time {
	t.glance()
	out := map[string]time.Time{}
	for name, sp := range t.spent(scope) {
		out[name] = sp.Last
	}
	return out
}

func (t *transcripts) spent(scope cadre.Scope) map[string]cadre.Spent {
	if t.index == nil {
		return nil
	}
	out := map[string]cadre.Spent{}
	for _, a := range t.index.Agents() {
		if team, nameErr := cadre.ParseScope(a.Team); nameErr != nil || team != scope && cadre.TeamOf(team) != scope || a.Member == "" {
			continue
		}
		sum := out[a.Member]
		sum.Input += a.Own.Input
		sum.Output += a.Own.Output
		sum.CacheWrite += a.Own.CacheWrite
		sum.CacheRead += a.Own.CacheRead
		if a.Last.After(sum.Last) {
			sum.Last = a.Last
		}
		out[a.Member] = sum
	}
	return out
}

// How long a command that takes in a file looks for who wrote it, and for how long
// what it read then is good enough.
const (
	askFor     = 150 * time.Millisecond
	goodEnough = 20 * time.Millisecond
)

// Who says who is behind a change of a task: the one whose tool calls explain all
// of it.
func (t *transcripts) Who(scope cadre.Scope, f cadre.ForeignTask, at int64) (cadre.Actor, bool) {
	t.glance()
	who, when := "", time.Unix(0, at)
	if t.index == nil {
		return cadre.Actor{}, false
	}
	for _, c := range changesOf(f) {
		by, _, ok := t.index.Who(scope, f.ID, c[0], c[1], when)
		if !ok || who != "" && by != who {
			return cadre.Actor{}, false
		}
		who = by
	}
	if who == "" {
		return cadre.Actor{}, false
	}
	if own := cadre.SessionTeam(who); own != "" { // a session without a team
		return cadre.Actor{Kind: cadre.ActorSession, Name: string(own), Session: who, Proof: cadre.ProofTalk}, true
	}
	return cadre.Actor{Kind: cadre.ActorMember, Name: who, Scope: scope, Proof: cadre.ProofTalk}, true
}

// Live says whether a session is about whose next lines may still be to come: one
// wrote to its transcript a moment ago, or to anything else of its own. A session
// that has just begun has no transcript yet.
func (t *transcripts) Live() bool {
	t.glance()
	if t.index == nil {
		return false
	}
	if time.Since(t.index.Last()) < quiet {
		return true
	}
	dir, err := t.folder()
	if err != nil {
		return false
	}
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		switch e.Name() {
		case "tasks", "teams", "settings.json", besideName: // what others write as well
			continue
		}
		if info, err := e.Info(); err == nil && time.Since(info.ModTime()) < quiet {
			return true
		}
	}
	return false
}

// quiet is how long a session that says nothing is thought to be still there.
const quiet = time.Minute

// glance reads what there is to read quickly.
func (t *transcripts) glance() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if time.Since(t.fresh) > goodEnough {
		ctx, cancel := context.WithTimeout(context.Background(), askFor)
		defer cancel()
		_ = t.readNow(ctx) // what could not be read tells nothing
	}
}

// Shown says when a message was shown to the one it is for.
func (t *transcripts) Shown(scope cadre.Scope, m *cadre.Message) (time.Time, bool) {
	t.glance()
	if t.index == nil {
		return time.Time{}, false
	}
	at, _, ok := t.index.Delivered(scope, m.To, m.From, m.Text, m.SentAt)
	return at, ok
}

// changesOf gives what changed as pairs of field and value.
func changesOf(f cadre.ForeignTask) [][2]string {
	if f.Gone {
		return [][2]string{{"deleted", ""}}
	}
	var out [][2]string
	for name, value := range map[string]*string{
		"subject": f.Subject, "description": f.Description, "activeForm": f.ActiveForm, "owner": f.Owner, "status": f.Status,
	} {
		if value != nil {
			out = append(out, [2]string{name, *value})
		}
	}
	for key, raw := range f.Metadata {
		value := string(raw)
		if value == "null" {
			value = ""
		}
		out = append(out, [2]string{"metadata." + key, value})
	}
	for name, ids := range map[string][]cadre.TaskID{
		"blocks": f.AddBlocks, "blockedBy": f.AddBlockedBy, "-blocks": f.DropBlocks, "-blockedBy": f.DropBlockedBy,
	} {
		for _, id := range ids {
			out = append(out, [2]string{name, string(id)})
		}
	}
	return out
}
