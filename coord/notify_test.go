package coord_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"cadre"
	"cadre/coord"
)

// screen is a terminal that keeps what was written to it.
type screen struct {
	mu   sync.Mutex
	text strings.Builder
}

func (s *screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(p)
}

// taken gives what was written since it was last asked.
func (s *screen) taken() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer s.text.Reset()
	return s.text.String()
}

func TestNotices(t *testing.T) {
	for how, signs := range map[string]struct{ one, many string }{
		"bell": {"\a", "\a"},
		"osc": {
			"\x1b]9;docs: bob asks (permission): may I?\\x07\a\x1b]777;notify;cadre;docs: bob asks (permission): may I?\\x07\a",
			"\x1b]9;docs: 3 asks wait for you\a\x1b]777;notify;cadre;docs: 3 asks wait for you\a",
		},
	} {
		t.Run(how, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := newDesk(t)
				tty := &screen{}
				d.Terminal = tty
				boss := d.person("/p")
				must[*cadre.TeamView](t, boss, &coord.TeamCreate{TeamCreate: cadre.TeamCreate{Name: "docs"}})
				boss, bob := d.person("/p"), d.at("/p", nil, "as=bob")
				ask := func(text string) *cadre.Ask {
					return must[*cadre.Ask](t, bob, &cadre.AskFor{Kind: cadre.AskPermission, Text: text})
				}
				must[*cadre.Added](t, bob, &cadre.TaskAdd{Subject: "x"})
				ctx, cancel := context.WithCancel(t.Context())
				answer, err := boss.Do(ctx, "watch", &coord.Watch{Notify: how})
				if err != nil {
					t.Fatal(err)
				}
				ended := make(chan struct{})
				go func() {
					defer close(ended)
					for range answer.(coord.Stream).Events {
					}
				}()
				after := func(wait time.Duration, want string) {
					t.Helper()
					time.Sleep(wait)
					synctest.Wait()
					if got := tty.taken(); got != want {
						t.Errorf("the terminal got %q, want %q", got, want)
					}
				}
				first := ask("may I?\a")
				after(900*time.Millisecond, "")
				after(200*time.Millisecond, signs.one)
				for _, text := range []string{"a", "b", "c"} {
					ask(text)
				}
				after(1100*time.Millisecond, signs.many)
				must[*cadre.Ask](t, boss, &cadre.AskReject{ID: first.ID})
				must[*cadre.TeamView](t, boss, &cadre.TeamPolicy{Kind: cadre.AskPermission, Then: cadre.PolicyWait})
				must[*cadre.Ask](t, boss, &cadre.AskShutdownOf{Name: "bob"})
				after(1100*time.Millisecond, "") // none of that needs anybody
				quick := ask("quick")
				must[*cadre.Ask](t, boss, &cadre.AskReject{ID: quick.ID})
				after(1100*time.Millisecond, "")
				ask("last")
				synctest.Wait()
				cancel()
				<-ended
				if tty.taken() == "" {
					t.Error("what came just before the end was told to nobody")
				}
			})
		})
	}
}

// TestNoticesByCommand: the command reads the notice, and gets no token.
func TestNoticesByCommand(t *testing.T) {
	d := newDesk(t)
	dir := t.TempDir()
	d.Env = []string{"PATH=" + os.Getenv("PATH"), "CADRE_TOKEN=secret"}
	boss := d.person(dir)
	must[*cadre.TeamView](t, boss, &coord.TeamCreate{TeamCreate: cadre.TeamCreate{Name: "docs"}})
	boss = d.person(dir)
	bob := d.at(dir, nil, "as=bob")
	ask := must[*cadre.Ask](t, bob, &cadre.AskFor{Kind: cadre.AskPermission, Text: "may I?"})
	must[*cadre.Added](t, bob, &cadre.TaskAdd{Subject: "x"})
	must[*cadre.Done](t, bob, &cadre.TaskDone{ID: "1"})
	watch := func(command string) {
		t.Helper()
		stream := must[coord.Stream](t, boss, &coord.Watch{Since: "1", Until: "task:1=completed", Notify: command})
		for _, err := range stream.Events {
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	watch(`cat > notice.json; echo "token: $CADRE_TOKEN" > env`)
	data, err := os.ReadFile(filepath.Join(dir, "notice.json"))
	if err != nil {
		t.Fatal(err)
	}
	var notice coord.Notice
	if err := json.Unmarshal(data, &notice); err != nil || notice.Team != "docs" || len(notice.Asks) != 1 || notice.Asks[0].ID != ask.ID || notice.Next != "cadre ask show "+string(ask.ID) {
		t.Errorf("%v: it was told %s", err, data)
	}
	if env, err := os.ReadFile(filepath.Join(dir, "env")); err != nil || string(env) != "token: \n" {
		t.Errorf("%v: it has %s", err, env)
	}
	warned := ""
	d.Warn = func(format string, args ...any) { warned += format }
	watch("exit 3")
	if !strings.Contains(warned, "nobody could be told") {
		t.Errorf("a command that fails is not told: %q", warned)
	}
	refused(t, cadre.RuleValue, boss, &coord.Watch{Notify: "bell"}) // without a terminal
}
