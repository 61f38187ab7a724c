package soak_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"cadre"
	"cadre/claudedir"
	"cadre/claudefile"
	"cadre/internal/swapfile"
	"cadre/memstore"
)

// TestSoakThirdParty runs random commands while somebody else edits Claude Code's
// files: whole old copies, writes in place in two steps, new files, deleted and
// renamed ones, garbage, mail, members. One half of the runs takes turns, so that
// for every write it is known what must become of it; in the other half both work
// at the same time, and of what both did something to either may be so. After each step the invariants hold, the files say what the
// log says, looking again changes nothing, no change of theirs is lost and none of
// ours.
func TestSoakThirdParty(t *testing.T) {
	t.Parallel()
	const each = 100
	steps := count(t, "steps beside a third party", 600, 50_000)
	n := map[string]int{}
	for run := range steps / each {
		b, err := newBeside(t.TempDir(), uint64(run), run%2 == 1)
		for i := 0; err == nil && i < each; i++ {
			if err = b.step(); err != nil {
				err = fmt.Errorf("run %d, step %d: %w\n%s", run, i, err, b.story())
			}
		}
		if err != nil {
			t.Fatal(err)
		}
		for k, v := range b.n {
			n[k] += v
		}
		if err := b.store.Close(); err != nil {
			t.Fatal(err)
		}
	}
	for _, k := range slices.Sorted(maps.Keys(n)) {
		t.Logf("%6d %s", n[k], k)
	}
	for _, k := range theirMoves() {
		if n["they "+k.name] == 0 {
			t.Errorf("they never %s", k.name)
		}
	}
	if n["fields they wrote while we did"] <= n["writes that took too long to promise anything"] {
		t.Error("they wrote nothing while we did of which anything is promised")
	}
	for _, k := range []string{"old copies they wrote while we worked", "files they took away while we worked", "garbage they left while we worked"} {
		if full() && n[k] == 0 {
			t.Errorf("none: %s", k)
		}
	}
}

// beside is a list with a team that stands in Claude Code's files as well, and
// somebody else who writes there.
type beside struct {
	*rand.Rand
	inner  cadre.Store
	store  *claudedir.Store
	dir    string
	scope  cadre.Scope
	atOnce bool              // both work at the same time, by the real clock
	clock  time.Time         // what all clocks say, where they take turns
	pair   *pair             // what random commands are drawn from
	words  int               // how many words were made up
	copies [][]byte          // old copies of task files
	theirs map[string]string // what they wrote last, by file
	behind []string          // what the store warned about
	told   []string          // what was done
	n      map[string]int

	// Planted faults: something that is done before the files are looked at, the files
	// as they were before, and whether nobody looks at all.
	faulty func(*beside)
	past   map[string]string
	blind  bool
}

func newBeside(folder string, seed uint64, atOnce bool) (*beside, error) {
	b := &beside{
		Rand: rand.New(rand.NewPCG(seed, 1)), inner: memstore.New(), dir: filepath.Join(folder, "claude"), scope: "docs", atOnce: atOnce,
		clock: time.Now().Add(-12 * time.Hour), n: map[string]int{}, theirs: map[string]string{},
	}
	b.pair = &pair{scope: b.scope, refused: map[cadre.Rule]int{}}
	b.store = claudedir.New(b.inner, claudedir.Options{
		Dir: b.dir, Memory: filepath.Join(folder, "state", "claude"), Now: b.time,
		Warn: func(format string, args ...any) { b.behind = append(b.behind, fmt.Sprintf(format, args...)) },
	})
	begin := []call{
		{operator, &cadre.TeamCreate{Name: "docs"}},
		{operator, &cadre.TeamJoin{Name: "ann"}},
		{operator, &cadre.TeamJoin{Name: "ben"}},
	}
	for i := range 5 {
		begin = append(begin, call{operator, &cadre.TaskAdd{Subject: fmt.Sprint("task ", i)}})
	}
	for _, c := range begin {
		if _, err := b.do(c); err != nil {
			return nil, err
		}
	}
	return b, b.check()
}

func (b *beside) time() cadre.Time {
	at := b.clock
	if b.atOnce {
		at = time.Now()
	}
	return cadre.Time{Wall: at, Boot: "boot", Up: time.Duration(at.UnixNano())}
}

// word makes up a word that nobody has said before.
func (b *beside) word(who string) string {
	b.words++
	return fmt.Sprintf("%s-%d", who, b.words)
}

func (b *beside) tell(format string, args ...any) {
	b.told = append(b.told, fmt.Sprintf(format, args...))
}

// story is what was done last.
func (b *beside) story() string {
	return strings.Join(b.told[max(0, len(b.told)-12):], "\n")
}

// do carries out one command of ours.
func (b *beside) do(c call) (cadre.Receipt, error) {
	b.words++
	command := cadre.Command{ID: cadre.CommandID(fmt.Sprint("c", b.words)), Actor: c.actor, Door: "test", Verb: fmt.Sprintf("%T", c.verb), Now: b.time()}
	r, err := b.store.Update(context.Background(), b.scope, command, func(s cadre.Snap) ([]cadre.Event, error) { return c.verb.Decide(s, command) })
	b.tell("%s by %s: %v: %v", command.Verb, c.actor, verbText(c.verb), err)
	if err != nil {
		if cadre.AsError(err).Code == cadre.CodeInternal {
			return r, err
		}
		b.n["our commands refused"]++
		return r, nil
	}
	b.n["our commands done"]++
	if len(r.Events) > 0 {
		b.pair.receipts = append(b.pair.receipts, r)
	}
	return r, nil
}

func verbText(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(data[:min(len(data), 200)])
}

// draw makes up a command of ours: one of all there are, or one that says a new
// word.
func (b *beside) draw() call {
	d := drawn{b.Rand, b.pair}
	if d.one(2) {
		return d.call()
	}
	word := b.word("we")
	v := &cadre.TaskUpdate{ID: d.id()}
	switch d.n(3) {
	case 0:
		v.Subject = &word
	case 1:
		v.Description = &word
	case 2:
		v.ActiveForm = &word
	default:
		v.Metadata = map[string]json.RawMessage{"word": json.RawMessage(`"` + word + `"`)}
	}
	return call{operator, v}
}

// step is one move of somebody, or of both, and everything checked after it.
func (b *beside) step() error {
	if b.atOnce {
		return b.together()
	}
	b.clock = b.clock.Add(time.Millisecond)
	switch b.IntN(12) {
	case 0:
		b.clock = b.clock.Add(time.Duration(b.IntN(15_000)) * time.Millisecond)
	case 1:
		b.clock = b.clock.Add(11 * time.Minute)
	}
	before, err := b.tasks()
	if err != nil {
		return err
	}
	if b.IntN(3) == 0 {
		r, err := b.do(b.draw())
		if err != nil {
			return err
		}
		ours := changes(r.Events)
		return b.checked(func(after map[cadre.TaskID]*cadre.Task) error { return onlyOurs(before, after, ours) })
	}
	must, err := b.theirMove(before)
	if err != nil {
		return err
	}
	return b.checked(must)
}

// checked looks at the files and then at everything.
func (b *beside) checked(must func(after map[cadre.TaskID]*cadre.Task) error) error {
	if b.faulty != nil {
		b.faulty(b)
	}
	if err := b.check(); err != nil {
		return err
	}
	after, err := b.tasks()
	if err != nil {
		return err
	}
	return must(after)
}

// check has the files looked at, and holds everything against everything.
func (b *beside) check() error {
	ctx := context.Background()
	if b.blind {
		return b.sound()
	}
	if err := b.store.Refresh(ctx, b.scope); err != nil {
		return fmt.Errorf("looking at the files: %w", err)
	}
	if err := b.sound(); err != nil {
		return err
	}
	head, files := b.head(), b.contents()
	for path, data := range b.theirs {
		if files[path] != data {
			delete(b.theirs, path) // we have written it since
		}
	}
	if err := b.store.Refresh(ctx, b.scope); err != nil {
		return fmt.Errorf("looking at the files again: %w", err)
	}
	if again := b.head(); again != head {
		return fmt.Errorf("looking again changed the log: %+v became %+v", head, again)
	}
	if again := b.contents(); !maps.Equal(files, again) {
		return fmt.Errorf("looking again changed the files: %v became %v", files, again)
	}
	return nil
}

// sound says whether the invariants hold and the files say what the log says.
func (b *beside) sound() error {
	if len(b.behind) > 0 {
		return errors.New(b.behind[0])
	}
	return b.inner.View(context.Background(), b.scope, func(s cadre.Snap) error {
		if err := cadre.CheckInvariants(s); err != nil {
			return err
		}
		for t, err := range s.Tasks(cadre.TaskQuery{}) {
			if err != nil {
				return err
			}
			if err := b.sameTask(s, t); err != nil {
				return err
			}
		}
		return b.sameMail(s)
	})
}

// sameTask says in what a task's file differs from the log.
func (b *beside) sameTask(s cadre.Snap, t *cadre.Task) error {
	data, err := os.ReadFile(b.file(t.ID))
	if errors.Is(err, os.ErrNotExist) {
		if t.Status == cadre.Deleted || t.Status == cadre.Completed { // finished ones may be cleared away
			return nil
		}
		return fmt.Errorf("open task %s has no file", t.ID)
	}
	if err != nil {
		return err
	}
	if t.Status == cadre.Deleted {
		return fmt.Errorf("task %s is removed and has a file", t.ID)
	}
	v := &cadre.TaskView{ID: t.ID, Subject: t.Subject, Description: t.Description, ActiveForm: t.ActiveForm, Owner: t.Owner, Status: t.Status, BlockedBy: t.BlockedBy}
	for w, err := range s.Blocks(t.ID) {
		if err != nil {
			return err
		}
		v.Blocks = append(v.Blocks, w.ID)
	}
	if diff := taskDiffers(v, data); diff != "" {
		return errors.New(diff)
	}
	file, err := claudefile.ReadTask(data)
	if err != nil {
		return err
	}
	if says, is := values(file), valuesOf(t); !maps.Equal(says, is) {
		return fmt.Errorf("%s.json says %v, the log says %v", t.ID, says, is)
	}
	return nil
}

// sameMail says what a team's files lack: a member or a message that waits.
func (b *beside) sameMail(s cadre.Snap) error {
	data, err := os.ReadFile(b.team("config.json"))
	if err != nil {
		return err
	}
	config, err := claudefile.ReadConfig(data)
	if err != nil {
		return err
	}
	for m, err := range s.Members() {
		if err != nil {
			return err
		}
		if m.State == cadre.StateDeparted {
			continue
		}
		if !slices.ContainsFunc(config.Members, func(c claudefile.Member) bool { return c.Name == m.Name }) {
			return fmt.Errorf("config.json lacks %s", m.Name)
		}
		there := map[string]int{}
		for _, e := range b.inbox(m.Name) {
			there[e.Text]++
		}
		for msg, err := range s.Unread(m.Name) {
			if err != nil {
				return err
			}
			if msg.Kind == cadre.MessagePlain && there[msg.Text] == 0 {
				return fmt.Errorf("the inbox of %s lacks %q", m.Name, msg.Text)
			}
		}
	}
	return nil
}

func (b *beside) file(id cadre.TaskID) string {
	return filepath.Join(b.dir, "tasks", string(b.scope), string(id)+".json")
}

func (b *beside) team(parts ...string) string {
	return filepath.Join(append([]string{b.dir, "teams", string(b.scope)}, parts...)...)
}

func (b *beside) inbox(name string) []claudefile.Entry {
	data, _ := os.ReadFile(b.team("inboxes", name+".json")) // where there is none there is no mail
	entries, _ := claudefile.ReadInbox(data)
	return entries
}

// contents are all JSON files, and what else is there, but for what somebody may still
// be at work on: it is swept away after a while.
func (b *beside) contents() map[string]string {
	out := map[string]string{}
	for _, pattern := range []string{"tasks/docs/*", "teams/docs/*.json", "teams/docs/inboxes/*"} {
		names, _ := filepath.Glob(filepath.Join(b.dir, pattern)) // the pattern is good
		for _, name := range names {
			if swapfile.Leftover(filepath.Base(name)) {
				continue
			}
			data, _ := os.ReadFile(name) // a folder has nothing to say
			out[name] = string(data)
		}
	}
	return out
}

func (b *beside) head() (h cadre.Head) {
	_ = b.inner.View(context.Background(), b.scope, func(s cadre.Snap) error { h = s.Head(); return nil }) // memory does not fail
	return h
}

// tasks is the log now.
func (b *beside) tasks() (map[cadre.TaskID]*cadre.Task, error) {
	out := map[cadre.TaskID]*cadre.Task{}
	err := b.inner.View(context.Background(), b.scope, func(s cadre.Snap) error {
		for t, err := range s.Tasks(cadre.TaskQuery{}) {
			if err != nil {
				return err
			}
			out[t.ID] = t.Clone()
		}
		return nil
	})
	return out, err
}
