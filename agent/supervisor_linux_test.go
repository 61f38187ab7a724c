package agent_test

import (
	"context"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"cadre"
	"cadre/agent"
	"cadre/agent/shell"
	"cadre/coord"
	"cadre/internal/bootclock"
	"cadre/internal/proc"
	"cadre/sqlitestore"
)

func TestMain(m *testing.M) {
	proc.KeepIfAsked()
	os.Exit(m.Run())
}

var keepers = sync.OnceValues(proc.NewKeepers)

// team is a team with a supervisor, in a folder of its own.
type team struct {
	*testing.T
	*coord.Session
	dir     string
	options agent.Options
	stop    context.CancelFunc
	over    chan error
}

func now() cadre.Time {
	b := bootclock.Now()
	return cadre.Time{Wall: time.Now(), Boot: b.Boot, Up: b.Up}
}

// newTeam makes a team and starts its supervisor, with short times.
func newTeam(t *testing.T, set ...func(*agent.Options)) *team {
	t.Helper()
	k, err := keepers()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	store, err := sqlitestore.Open(filepath.Join(dir, "state"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	w := &team{T: t, dir: dir, Session: &coord.Session{
		Coord: &coord.Coord{Store: store, Now: now, Warn: t.Logf},
		Actor: cadre.Actor{Kind: cadre.ActorOperator, Name: "operator", Proof: cadre.ProofTerminal}, Door: "test", Scope: "docs", CWD: dir,
	}}
	w.options = agent.Options{
		Backends: map[cadre.Backend]agent.Backend{cadre.BackendShell: shell.Backend{Keepers: k}}, Dir: filepath.Join(dir, "output"),
		Env: []string{"PATH=" + os.Getenv("PATH"), "TEST_MARK=" + t.Name()}, Heartbeat: 20 * time.Millisecond, Lease: 2 * time.Second, Grace: 100 * time.Millisecond,
	}
	for _, f := range set {
		f(&w.options)
	}
	w.must("team create", &cadre.TeamCreate{Name: "docs"})
	w.supervise()
	return w
}

// supervise starts a supervisor that ends with the test.
func (w *team) supervise() {
	ctx, stop := context.WithCancel(context.Background())
	w.stop, w.over = stop, make(chan error, 1)
	ready := make(chan struct{})
	go func() { w.over <- agent.NewSupervisor(w.Session, w.options).Run(ctx, func() { close(ready) }) }()
	<-ready
	w.Cleanup(w.end)
}

// end stops the supervisor and looks whether anything is left.
func (w *team) end() {
	if w.over == nil {
		return
	}
	w.stop()
	if err := <-w.over; err != nil {
		w.Error(err)
	}
	w.over = nil
	for _, id := range proc.Marked("TEST_MARK=" + w.Name()) {
		w.Errorf("process %s is left", id)
	}
	w.view(func(snap cadre.Snap) error {
		for m, err := range snap.Members() {
			if err != nil || m.Process != nil {
				w.Errorf("%s still has process %v, %v", m.Name, m.Process, err)
			}
		}
		return nil
	})
}

func (w *team) must(name string, v any) any {
	w.Helper()
	answer, err := w.Do(context.Background(), name, v)
	if err != nil {
		w.Fatalf("%s: %v", name, err)
	}
	return answer
}

func (w *team) spawn(names ...string) {
	w.Helper()
	for _, name := range names {
		w.must("member spawn", &cadre.MemberSpawn{Name: name, Backend: cadre.BackendShell, Folder: w.dir})
	}
}

func (w *team) add(run string, blockers ...cadre.TaskID) cadre.TaskID {
	w.Helper()
	return w.must("task add", &cadre.TaskAdd{Subject: "run " + run[:min(len(run), 40)], Run: run, BlockedBy: blockers}).(*cadre.Added).ID
}

func (w *team) view(look func(cadre.Snap) error) {
	w.Helper()
	if err := w.Store.View(context.Background(), "docs", look); err != nil {
		w.Error(err)
	}
}

func (w *team) member(name string) (m *cadre.Member) {
	w.view(func(snap cadre.Snap) (err error) { m, err = snap.Member(name); return err })
	return m
}

func (w *team) task(id cadre.TaskID) (t *cadre.Task) {
	w.view(func(snap cadre.Snap) (err error) { t, err = snap.Task(id); return err })
	return t
}

// until waits until something is so.
func (w *team) until(what string, so func() bool) {
	w.Helper()
	for end := time.Now().Add(30 * time.Second); !so(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			w.Fatalf("waited in vain until %s", what)
		}
	}
}

func (w *team) untilState(name string, s cadre.MemberState) {
	w.Helper()
	w.until(name+" is "+string(s), func() bool { m := w.member(name); return m != nil && m.State == s })
}

func (w *team) untilDone(ids ...cadre.TaskID) {
	w.Helper()
	for _, id := range ids {
		w.until("task "+string(id)+" is done", func() bool { return w.task(id).Status == cadre.Completed })
	}
}

// told counts what the lead was told that has a text in it.
func (w *team) told(text string) (n int) {
	w.view(func(snap cadre.Snap) error {
		for m, err := range snap.Inbox(cadre.LeadName, 0) {
			if err != nil {
				return err
			}
			if strings.Contains(m.Text, text) {
				n++
			}
		}
		return nil
	})
	return n
}

// lines reads a file that commands wrote to.
func (w *team) lines(name string) []string {
	data, err := os.ReadFile(filepath.Join(w.dir, name))
	if err != nil {
		return nil
	}
	return strings.Fields(string(data))
}

func (w *team) kill(name string, sig syscall.Signal) cadre.Process {
	w.Helper()
	p := *w.member(name).Process
	if err := syscall.Kill(p.PID, sig); err != nil {
		w.Fatal(err)
	}
	return p
}

func TestMembersDoWhatBecomesReady(t *testing.T) {
	w := newTeam(t)
	one := w.add("echo one >> order; echo hello")
	two := w.add("echo two >> order", one)
	w.spawn("ann", "ben")
	three := w.add("echo three >> order", two)
	w.untilDone(three)
	w.untilState("ann", cadre.StateIdle)
	w.untilState("ben", cadre.StateIdle)
	if got := w.lines("order"); !slices.Equal(got, []string{"one", "two", "three"}) {
		t.Errorf("done in the order %v", got)
	}
	if r := w.task(one).Result; r == nil || !strings.HasSuffix(r.Summary, "hello") || w.task(one).Leased {
		t.Errorf("%+v with the result %+v", w.task(one), r)
	}
	if n := w.told("completed task"); n != 3 {
		t.Errorf("the lead was told %d times", n)
	}
	later := w.add("echo later >> order") // both wait by now
	w.untilDone(later)
	mine := w.must("task add", &cadre.TaskAdd{Subject: "x", Run: "true", Owner: "ben"}).(*cadre.Added).ID
	w.untilDone(mine)
	if got := w.task(mine).Owner; got != "ben" {
		t.Errorf("ben's task was done by %s", got)
	}
}

func TestEveryTaskIsRunOnce(t *testing.T) {
	w := newTeam(t)
	names := []string{}
	for i := range 8 {
		names = append(names, fmt.Sprintf("m%d", i))
	}
	w.spawn(names...)
	var ids []cadre.TaskID
	for range 60 {
		ids = append(ids, w.add(`echo "$CADRE_TASK" >> ran`))
	}
	w.untilDone(ids...)
	got := w.lines("ran")
	slices.Sort(got)
	if len(got) != 60 || len(slices.Compact(got)) != 60 {
		t.Errorf("%d runs of 60 tasks", len(got))
	}
}

func TestAKilledMemberLosesNothing(t *testing.T) {
	w := newTeam(t)
	w.spawn("ann")
	id := w.add("echo run >> ran; [ $(wc -l < ran) -ge 2 ] || sleep 1000")
	w.until("it runs", func() bool { return len(w.lines("ran")) == 1 })
	before := w.task(id)
	w.kill("ann", syscall.SIGKILL)
	begun := time.Now()
	w.untilState("ann", cadre.StateDead)
	t.Logf("noticed after %s", time.Since(begun))
	got := w.task(id)
	if got.Status != cadre.Pending || got.Attempts != 1 || got.Fence <= before.Fence {
		t.Errorf("%+v", got)
	}
	w.spawn("ben")
	w.untilDone(id)
	if n := w.told("ann died"); n != 1 || w.task(id).Owner != "ben" {
		t.Errorf("the lead was told %d times; it was done by %s", n, w.task(id).Owner)
	}
	w.must("member resume", &cadre.MemberResume{Name: "ann"})
	w.untilState("ann", cadre.StateIdle)
}

func TestASilentMemberLosesItsTaskAndLives(t *testing.T) {
	w := newTeam(t, func(o *agent.Options) { o.Lease = 200 * time.Millisecond })
	w.spawn("ann")
	id := w.add("echo run >> ran; [ $(wc -l < ran) -ge 2 ] || sleep 1000")
	w.until("it runs", func() bool { return len(w.lines("ran")) == 1 })
	p := w.kill("ann", syscall.SIGSTOP)
	w.until("the task is given back", func() bool { return w.task(id).Attempts == 1 })
	w.untilState("ann", cadre.StateUnreachable)
	if got := w.member("ann").Process; got == nil || *got != p {
		t.Errorf("its process is %v now", got)
	}
	w.kill("ann", syscall.SIGCONT)
	w.untilDone(id)
	w.untilState("ann", cadre.StateIdle)
	if got := w.member("ann").Process; got == nil || *got != p {
		t.Errorf("its process is %v now", got)
	}
}

func TestAFailingTaskNeedsAPersonInTheEnd(t *testing.T) {
	w := newTeam(t)
	w.spawn("ann")
	id := w.add("echo run >> ran; echo broken; exit 7")
	w.until("it needs a person", func() bool { return slices.Contains(w.task(id).Flags, cadre.FlagPerson) })
	w.untilState("ann", cadre.StateIdle)
	if got := w.lines("ran"); len(got) != cadre.DefaultAttempts {
		t.Errorf("it ran %d times", len(got))
	}
	if r := w.task(id).Result; !strings.Contains(r.Summary, "exit code 7") || !strings.Contains(r.Summary, "broken") {
		t.Errorf("the result is %+v", r)
	}
}

func TestAHookThatRefusesEndsInAPerson(t *testing.T) {
	w := newTeam(t)
	w.end() // the next supervisor begins with the hook
	w.Hooks = &coord.Hooks{Commands: map[coord.HookEvent][]coord.HookCommand{coord.TaskCompleted: {{Command: "echo not good >&2; exit 2", Timeout: time.Minute}}}, Env: w.options.Env}
	w.supervise()
	w.spawn("ann")
	id := w.add("echo run >> ran")
	w.until("it needs a person", func() bool {
		return slices.Contains(w.task(id).Flags, cadre.FlagPerson) && w.task(id).Status == cadre.Pending
	})
	w.untilState("ann", cadre.StateIdle)
	if got := w.lines("ran"); len(got) != cadre.DefaultAttempts {
		t.Errorf("it ran %d times", len(got))
	}
}

func TestKillEndsWhateverItDoes(t *testing.T) {
	w := newTeam(t)
	w.spawn("ann")
	id := w.add(`touch begun; trap "" TERM; while :; do sleep 1; done`)
	w.until("it runs", func() bool { _, err := os.Stat(filepath.Join(w.dir, "begun")); return err == nil })
	w.must("member kill", &cadre.MemberKill{Name: "ann"})
	w.until("its process is gone", func() bool { return w.member("ann").Process == nil })
	if got := w.task(id); got.Owner != "" || got.Attempts != 0 {
		t.Errorf("%+v", got)
	}
	w.must("task rm", &cadre.TaskRemove{ID: id})
	w.must("member resume", &cadre.MemberResume{Name: "ann"})
	w.untilDone(w.add("true"))
}

func TestATaskThatIsTakenAwayEndsItsWork(t *testing.T) {
	w := newTeam(t)
	w.spawn("ann")
	id := w.add("touch begun; sleep 1000")
	w.until("it runs", func() bool { _, err := os.Stat(filepath.Join(w.dir, "begun")); return err == nil })
	owner := "somebody-else"
	w.must("task update", &cadre.TaskUpdate{ID: id, Owner: &owner})
	next := w.add("true")
	w.untilDone(next)
	if got := w.task(id); got.Owner != owner {
		t.Errorf("%+v", got)
	}
}

func TestMailIsHandedOver(t *testing.T) {
	w := newTeam(t)
	w.spawn("ann")
	sent := w.must("msg send", &cadre.MsgSend{To: "ann", Text: "look at this"}).(*cadre.MessageView)
	var got *cadre.Message
	w.until("it is delivered", func() bool {
		w.view(func(snap cadre.Snap) (err error) { got, err = snap.Message(sent.ID); return err })
		return got.DeliveredAt != nil
	})
	id := w.add(`grep -c "look at this" "$CADRE_MAIL"`)
	w.untilDone(id)
	if r := w.task(id).Result.Summary; !strings.HasSuffix(r, "\n1") {
		t.Errorf("its mail has it %q times", r)
	}
}

func TestAMemberThatCannotBeStartedIsNone(t *testing.T) {
	w := newTeam(t)
	id := w.add("true")
	w.must("member spawn", &cadre.MemberSpawn{Name: "ann", Backend: "brain", Tasks: []cadre.TaskID{id}})
	w.untilState("ann", cadre.StateDeparted)
	if m := w.member("ann"); !strings.Contains(m.Evidence, `no backend "brain"`) || w.task(id).Owner != "" {
		t.Errorf("%s; its task belongs to %q", m.Evidence, w.task(id).Owner)
	}
}

func TestStartsAreApart(t *testing.T) {
	w := newTeam(t, func(o *agent.Options) { o.Stagger = time.Hour })
	w.spawn("ann", "ben")
	w.untilState("ann", cadre.StateIdle)
	for range 5 {
		w.untilDone(w.add("true"))
	}
	if m := w.member("ben"); m.State != cadre.StateStarting || m.Process != nil {
		t.Errorf("ben is %s within the hour after ann was started", m.State)
	}
}

func TestLimitAndStagger(t *testing.T) {
	w := newTeam(t, func(o *agent.Options) { o.Limit, o.Stagger = 2, 100*time.Millisecond })
	w.spawn("ann", "ben", "eve")
	w.untilState("ben", cadre.StateIdle) // its turn comes
	w.untilDone(w.add("true"))
	if m := w.member("eve"); m.State != cadre.StateStarting {
		t.Errorf("eve is %s, the third of two", m.State)
	}
	w.must("member kill", &cadre.MemberKill{Name: "ann"})
	w.untilState("eve", cadre.StateIdle)
}

func TestAStoppedSupervisorIsFollowedByAnother(t *testing.T) {
	w := newTeam(t)
	w.spawn("ann")
	id := w.add("echo run >> ran; [ $(wc -l < ran) -ge 2 ] || sleep 1000")
	w.until("it runs", func() bool { return len(w.lines("ran")) == 1 })
	w.end()
	if got, m := w.task(id), w.member("ann"); got.Status != cadre.Pending || got.Attempts != 0 || m.State != cadre.StateStarting {
		t.Errorf("%+v of %+v", got, m)
	}
	w.supervise()
	w.untilDone(id)
}

func TestOneThatIsStoppedBeforeItBeginsDidNothingWrong(t *testing.T) {
	w := newTeam(t)
	w.end()
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if err := agent.NewSupervisor(w.Session, w.options).Run(ctx, func() {}); err != nil {
		t.Error(err)
	}
}

// slowEnd is a store whose followers take a while to end.
type slowEnd struct {
	cadre.Store
	following *atomic.Int32
}

func (s slowEnd) Events(ctx context.Context, of cadre.Scope, from cadre.Head, follow bool) iter.Seq2[cadre.Event, error] {
	return func(yield func(cadre.Event, error) bool) {
		s.following.Add(1)
		s.Store.Events(ctx, of, from, follow)(yield)
		time.Sleep(50 * time.Millisecond)
		s.following.Add(-1)
	}
}

// TestNobodyFollowsAfterTheEnd is about a store that is closed once a supervisor has
// returned.
func TestNobodyFollowsAfterTheEnd(t *testing.T) {
	w := newTeam(t)
	w.end()
	var following atomic.Int32
	w.Store = slowEnd{w.Store, &following}
	w.supervise()
	w.until("it follows", func() bool { return following.Load() > 0 })
	w.end()
	if n := following.Load(); n != 0 {
		t.Errorf("%d still follow", n)
	}
}

func TestItLeavesWithTheLastMember(t *testing.T) {
	w := newTeam(t)
	w.end()
	w.spawn("ann")
	w.options.Leave = true
	w.supervise()
	w.untilDone(w.add("true"))
	w.must("member kill", &cadre.MemberKill{Name: "ann"})
	if err := <-w.over; err != nil {
		t.Error(err)
	}
	w.over = nil
}

func TestItEndsWithItsTeam(t *testing.T) {
	w := newTeam(t)
	w.spawn("ann")
	w.untilState("ann", cadre.StateIdle)
	w.must("team delete", &coord.TeamDelete{Force: true})
	if err := <-w.over; err != nil {
		t.Error(err)
	}
	w.over = nil
	for _, p := range proc.Marked("TEST_MARK=" + t.Name()) {
		t.Errorf("process %s is left", p)
	}
}
