package cli

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"cadre"
	"cadre/sqlitestore"
)

// TestAReadOnlyTokenWritesNothing goes through a whole day of a team with a token
// that may only look: after each command every log is where it was.
func TestAReadOnlyTokenWritesNothing(t *testing.T) {
	d := newDesk(t)
	if err := os.Mkdir(filepath.Join(d.dir, "cwd"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{
		`team create docs`, `team join docs --as bob`, `team join docs --as eve`, `task add one`, `task add two --blocked-by 1`,
		`msg send bob hello`, `team policy permission wait`, `ask for permission "may I?" --as bob`, `team create side`, `team use docs`,
	} {
		if out, code := d.run(shellWords(line)...); code != 0 {
			t.Fatalf("%s: exit code %d\n%s", line, code, out)
		}
	}
	ask := d.last("ASK", "ASK", "ask")
	_, token, _ := strings.Cut(d.token(t), "=")
	before := d.heads(t)
	looked := 0
	for _, s := range story() {
		d.env, d.stdin, d.limit = map[string]string{"CADRE_TOKEN": token}, s.in, time.Minute
		if s.verb == "watch" {
			d.limit = 300 * time.Millisecond
		}
		out, code := d.run(shellWords(strings.NewReplacer("ASK", ask, "TOKEN", "t2").Replace(s.line))...)
		if code == 0 {
			looked++
		}
		d.env = nil
		if after := d.heads(t); !maps.Equal(before, after) {
			t.Fatalf("%s wrote something: %v, then %v\n%s", s.line, before, after, out)
		}
	}
	if looked < 10 {
		t.Errorf("only %d commands could look", looked)
	}
}

// token issues a read-only token for everything.
func (d *desk) token(t *testing.T) string {
	d.raw = true
	out, code := d.run("token", "create", "--role", "read-only", "--everywhere")
	d.raw = false
	if code != 0 {
		t.Fatal(out)
	}
	return strings.Fields(out)[0]
}

// heads says where every log stands.
func (d *desk) heads(t *testing.T) map[cadre.Scope]cadre.Head {
	store, err := sqlitestore.Open(filepath.Join(d.dir, "state"))
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	out := map[cadre.Scope]cadre.Head{}
	for info, err := range store.Scopes(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		out[info.Scope] = info.Head
	}
	return out
}
