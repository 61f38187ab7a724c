package coord_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"cadre"
	"cadre/coord"
)

// team is a desk with a team that the operator leads, and its member ann.
func team(t *testing.T) (d *desk, lead, ann *coord.Session) {
	d = newDesk(t)
	lead = d.at("/work", nil)
	must[*cadre.TeamView](t, lead, &coord.TeamCreate{TeamCreate: cadre.TeamCreate{Name: "docs"}})
	lead = d.at("/work", nil)
	must[*coord.Joined](t, lead, &coord.TeamJoin{TeamJoin: cadre.TeamJoin{Name: "ann"}})
	return d, lead, d.at("/work", nil, "as=ann")
}

func syncOf(t *testing.T, s *coord.Session, cursor string) *coord.Synced {
	t.Helper()
	return must[*coord.Synced](t, s, &coord.Sync{Cursor: cursor, Limit: 20})
}

func TestSyncTellsOnlyWhatChanged(t *testing.T) {
	_, lead, ann := team(t)
	must[*cadre.Added](t, lead, &cadre.TaskAdd{Subject: "one", Owner: "ann"})
	must[*cadre.Added](t, lead, &cadre.TaskAdd{Subject: "two"})
	v := syncOf(t, ann, "")
	if !v.Full || v.You != "ann" || len(v.Tasks) != 1 || len(v.Ready) != 1 || len(v.Messages) != 1 {
		t.Fatalf("at first: %+v", v.NewsView)
	}
	if v = syncOf(t, ann, v.Cursor); v.Full || !v.Empty() {
		t.Fatalf("nothing happened: %+v", v.NewsView)
	}
	must[*cadre.TaskView](t, ann, &cadre.TaskStart{ID: "1"}) // its own doing is no news to it
	must[*cadre.MessageView](t, lead, &cadre.MsgSend{To: "ann", Text: "hello"})
	must[*cadre.Added](t, lead, &cadre.TaskAdd{Subject: "three", BlockedBy: []cadre.TaskID{"1"}})
	if v = syncOf(t, ann, v.Cursor); len(v.Messages) != 1 || len(v.Tasks)+len(v.Ready)+len(v.Lost) != 0 {
		t.Fatalf("a message came: %+v", v.NewsView)
	}
	must[*cadre.Ask](t, ann, &cadre.AskFor{Kind: cadre.AskQuestion, Text: "which?"})
	leads := syncOf(t, lead, "")
	if len(leads.Asks) != 1 || !leads.Leads {
		t.Fatalf("the lead is asked: %+v", leads.NewsView)
	}
	must[*cadre.Ask](t, lead, &cadre.AskAnswer{ID: leads.Asks[0].ID, Text: "that one"})
	must[*cadre.TaskView](t, lead, &cadre.TaskUpdate{ID: "1", Owner: new("")})
	v = syncOf(t, ann, v.Cursor)
	if len(v.Answers) != 1 || len(v.Ready) != 1 || len(v.Tasks) != 0 {
		t.Fatalf("answered and taken away: %+v", v.NewsView)
	}
	must[*cadre.TaskView](t, lead, &cadre.TaskUpdate{ID: "1", Owner: new("ann")})
	must[*cadre.TaskView](t, lead, &cadre.TaskUpdate{ID: "1", Owner: new("team-lead")})
	if v = syncOf(t, ann, v.Cursor); len(v.Lost) != 1 || v.Lost[0] != "1" {
		t.Fatalf("given to another: %+v", v.NewsView)
	}
}

// TestSyncLosesNothing: what there is no room for comes with the cursor, the oldest first,
// and of everything that concerns somebody it is said how much was left out.
func TestSyncLosesNothing(t *testing.T) {
	_, lead, ann := team(t)
	cursor := syncOf(t, ann, "").Cursor
	const n = 20
	for i := range n {
		owner := ""
		if i%2 == 0 {
			owner = "ann"
		}
		must[*cadre.Added](t, lead, &cadre.TaskAdd{Subject: fmt.Sprint("task ", i+1), Owner: owner})
		must[*cadre.MessageView](t, lead, &cadre.MsgSend{To: "ann", Text: fmt.Sprint("message ", i+1)})
		must[*cadre.TaskView](t, lead, &cadre.TaskUpdate{ID: cadre.TaskID(fmt.Sprint(i + 1)), Priority: new(cadre.Level("high"))})
	}
	var tasks, mail []string
	for calls := 1; ; calls++ {
		v := must[*coord.Synced](t, ann, &coord.Sync{Cursor: cursor, Limit: 3})
		if len(v.Tasks) > 3 || len(v.Ready) > 3 || len(v.Messages) > 3 || v.Full {
			t.Fatalf("too much: %+v", v.NewsView)
		}
		for _, one := range slices.Concat(v.Tasks, v.Ready) {
			if !slices.Contains(tasks, one.Subject) {
				tasks = append(tasks, one.Subject)
			}
		}
		for _, m := range v.Messages {
			if m.Kind == cadre.MessagePlain {
				mail = append(mail, m.Text)
			}
		}
		if !v.More {
			break
		}
		if v.Cursor == cursor || calls > 10*n {
			t.Fatalf("it does not go on: %+v", v.NewsView)
		}
		cursor = v.Cursor
	}
	if len(tasks) != n || len(mail) != n || mail[0] != "message 1" || mail[n-1] != fmt.Sprint("message ", n) {
		t.Errorf("of %d each it was told %d tasks and the messages %v", n, len(tasks), mail)
	}
	v := must[*coord.Synced](t, ann, &coord.Sync{Limit: 3})
	if want := (cadre.Left{Tasks: n/2 - 3, Ready: n/2 - 3, Messages: n + n/2 - 3}); v.Left != want || !v.More || len(v.Tasks) != 3 {
		t.Errorf("%+v was left out, want %+v", v.Left, want)
	}
	if v := must[*coord.Synced](t, ann, &coord.Sync{Limit: 100}); v.Left != (cadre.Left{}) || v.More {
		t.Errorf("%+v was left out", v.Left)
	}
}

func TestACursorBelongsToOneList(t *testing.T) {
	_, lead, ann := team(t)
	v := syncOf(t, ann, "")
	other := *lead
	other.Scope = "web"
	for cursor, rule := range map[string]cadre.Rule{v.Cursor: cadre.RuleRead, "rubbish": cadre.RuleValue, "web:x:-1": cadre.RuleValue, "web:x:01": cadre.RuleValue, "web::1": cadre.RuleValue} {
		_, err := other.Do(context.Background(), "sync", &coord.Sync{Cursor: cursor, Limit: 20})
		if e := cadre.AsError(err); e == nil || e.Rule != rule {
			t.Errorf("%s: %v, want %s", cursor, err, rule)
		}
	}
	if v := syncOf(t, ann, "docs:anotherepoch:2"); !v.Full {
		t.Error("a cursor of another epoch gave no fresh start")
	}
}

func TestSyncWaits(t *testing.T) {
	_, lead, ann := team(t)
	v := syncOf(t, ann, "")
	type result struct {
		v   any
		err error
	}
	came := make(chan result)
	go func() {
		answer, err := ann.Do(context.Background(), "sync", &coord.Sync{Cursor: v.Cursor, Limit: 20, Wait: time.Minute})
		came <- result{answer, err}
	}()
	must[*cadre.Added](t, lead, &cadre.TaskAdd{Subject: "not hers", Owner: "ben"})
	must[*cadre.MessageView](t, lead, &cadre.MsgSend{To: "ann", Text: "hello"})
	if r := <-came; r.err != nil || len(r.v.(*coord.Synced).Messages) != 1 {
		t.Fatalf("%v, %v", r.v, r.err)
	}
	answer, err := ann.Do(context.Background(), "sync", &coord.Sync{Cursor: syncOf(t, ann, "").Cursor, Limit: 20, Wait: time.Millisecond})
	if err != nil || !answer.(*coord.Synced).Empty() {
		t.Errorf("nothing came: %v, %v", answer, err)
	}
}

func TestATokenThatIsRevokedEndsWhatWaits(t *testing.T) {
	d, lead, _ := team(t)
	lead.Actor.Proof = cadre.ProofTerminal
	for name, end := range map[string]func(id string){
		"revoked": func(id string) {
			must[*coord.TokenView](t, lead, &coord.TokenRevoke{TokenRevoke: cadre.TokenRevoke{ID: id}})
		},
		"expired": func(string) {},
	} {
		t.Run(name, func(t *testing.T) {
			create := &coord.TokenCreate{Role: cadre.RoleMember, Name: "ann"}
			if name == "expired" {
				create.Expires = 20 * time.Millisecond
			}
			issued := must[*coord.Issued](t, lead, create)
			s := &coord.Session{Coord: &coord.Coord{Store: d.Store, Now: d.Now}, Scope: "docs"}
			var err error
			if s.Actor, err = s.Bearer(context.Background(), issued.Token); err != nil {
				t.Fatal(err)
			}
			s.Now = func() cadre.Time { return cadre.Time{Wall: time.Now()} }
			if name == "expired" {
				s.Now = func() cadre.Time { return cadre.Time{Wall: d.now.Wall.Add(time.Since(begun))} }
			}
			ctx, stop := s.WhileValid(context.Background())
			defer stop()
			end(issued.ID)
			<-ctx.Done()
			if e := cadre.AsError(context.Cause(ctx)); e.Code != cadre.CodeForbidden {
				t.Errorf("it ended with %v", context.Cause(ctx))
			}
			if _, err := s.Do(context.Background(), "team show", &cadre.TeamShow{}); !errors.Is(err, cadre.ErrForbidden) {
				t.Errorf("it may still look: %v", err)
			}
		})
	}
}

var begun = time.Now()

func TestAPipeIsNeverTheOperator(t *testing.T) {
	d, _, _ := team(t)
	for name, tt := range map[string]struct {
		env  map[string]string
		kind cadre.ActorKind
	}{
		"nothing":   {nil, cadre.ActorGuest},
		"a session": {map[string]string{"CADRE_SESSION": "s-1"}, cadre.ActorSession},
	} {
		place := coord.Place{Env: tt.env, CWD: "/work", Pipe: true, Terminal: true}
		a, err := d.Identify(context.Background(), place, "")
		if err != nil || a.Kind != tt.kind || a.Session == "" {
			t.Errorf("%s: %+v, %v", name, a, err)
		}
		if _, err := d.Identify(context.Background(), place, "ann"); !errors.Is(err, cadre.ErrForbidden) {
			t.Errorf("%s acts as another: %v", name, err)
		}
	}
	scope, err := d.ChooseScope(context.Background(), coord.Place{CWD: "/work/src", Pipe: true}, cadre.Actor{Kind: cadre.ActorGuest, Session: "x"}, "")
	if err != nil || scope != "docs" {
		t.Errorf("a guest works on %s, %v", scope, err)
	}
}

// fullDisk is a store that takes no more.
type fullDisk struct{ cadre.Store }

func (fullDisk) Update(context.Context, cadre.Scope, cadre.Command, cadre.Decide) (cadre.Receipt, error) {
	return cadre.Receipt{}, errors.New("the disk is full")
}

// TestLookingNeedsNoRoom: what is overdue is settled by whoever looks, who sees the list
// also where that fails.
func TestLookingNeedsNoRoom(t *testing.T) {
	d, lead, _ := team(t)
	must[*cadre.Added](t, lead, &cadre.TaskAdd{Subject: "one"})
	guest := *lead
	guest.Actor = cadre.Actor{Kind: cadre.ActorGuest, Name: "codex", Session: "c1", Scope: "docs", Proof: cadre.ProofEnv}
	must[*cadre.TaskView](t, &guest, &cadre.TaskClaim{ID: "1"})
	must[*cadre.Ask](t, &guest, &cadre.AskFor{Kind: cadre.AskQuestion, Text: "which font?"})
	d.now.Up, d.now.Wall = d.now.Up+24*time.Hour, d.now.Wall.Add(24*time.Hour)
	warned, disk := "", d.Store
	d.Warn = func(format string, args ...any) { warned += fmt.Sprintf(format, args...) }
	d.Store = fullDisk{disk}
	if tasks := must[[]*cadre.TaskView](t, lead, &cadre.TaskList{}); len(tasks) != 1 || tasks[0].Owner != "codex" || !strings.Contains(warned, "the disk is full") {
		t.Errorf("%+v, and %q is said", tasks, warned)
	}
	d.Store = disk
	if tasks := must[[]*cadre.TaskView](t, lead, &cadre.TaskList{}); len(tasks) != 1 || tasks[0].Owner != "" {
		t.Errorf("with room again: %+v", tasks[0])
	}
}
