package claudedir_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"cadre"
)

// All of Claude Code's folder is away, which no client does: no list was deleted, and
// whoever was in a team is when it is there again.
func TestTheWholeFolderIsAway(t *testing.T) {
	w := newWorld(t)
	w.must(&cadre.TeamCreate{Name: string(list)})
	id := w.add("one")
	w.clientJoins("pane")
	w.must(&cadre.TeamShow{})
	if err := os.Rename(w.dir, w.dir+".away"); err != nil {
		t.Fatal(err)
	}
	w.open()
	w.must(&cadre.TaskUpdate{ID: id, Subject: new("new")})
	if got := scopes(w); got != "docs live" {
		t.Errorf("while the folder is away there are: %s", got)
	}
	if err := errors.Join(os.RemoveAll(w.dir), os.Rename(w.dir+".away", w.dir)); err != nil {
		t.Fatal(err)
	}
	w.open()
	if got := w.task(id); got.Subject != "new" || w.file(id).Subject != "new" {
		t.Errorf("task %s is %q, and in the file %q", id, got.Subject, w.file(id).Subject)
	}
	if got := w.inConfig(); !slices.Contains(got, "pane") {
		t.Errorf("in the team's file are %q", got)
	}
	w.check()
}

// An editor takes the team's file away and puts another in its place.
func TestTheTeamsFileIsAwayForAMoment(t *testing.T) {
	w := newWorld(t)
	w.must(&cadre.TeamCreate{Name: string(list)})
	w.add("one")
	data := w.read(w.configPath())
	if err := os.Remove(w.configPath()); err != nil {
		t.Fatal(err)
	}
	written := make(chan error)
	go func() {
		time.Sleep(10 * time.Millisecond)
		written <- os.WriteFile(w.configPath(), data, 0o600)
	}()
	w.must(&cadre.TeamShow{})
	if err := <-written; err != nil {
		t.Fatal(err)
	}
	w.check()
}

// A team that vanished and is there again has those in it that its file says.
func TestATeamThatComesBackHasItsMembers(t *testing.T) {
	w := newWorld(t)
	w.must(&cadre.TeamCreate{Name: string(list)})
	w.clientJoins("pane")
	w.clientJoins("other")
	id := w.add("one")
	w.must(&cadre.TaskUpdate{ID: id, Owner: new("pane")})
	away := w.dir + ".away"
	if err := os.Rename(w.path("teams", string(list)), away); err != nil {
		t.Fatal(err)
	}
	if got := scopes(w); got != "docs archive" {
		t.Fatalf("after the team was deleted there are: %s", got)
	}
	if err := os.Rename(away, w.path("teams", string(list))); err != nil {
		t.Fatal(err)
	}
	w.clientDrops("other")
	if got := scopes(w); got != "docs live" {
		t.Fatalf("after the team came back there are: %s", got)
	}
	if m := w.must(&cadre.MemberShow{Name: "pane"}).(*cadre.MemberView); m.State != cadre.StateIdle {
		t.Errorf("pane is %s", m.State)
	}
	if m := w.must(&cadre.MemberShow{Name: "other"}).(*cadre.MemberView); m.State != cadre.StateDeparted {
		t.Errorf("other is %s", m.State)
	}
	if got := w.inConfig(); !slices.Equal(got, []string{"team-lead", "pane"}) {
		t.Errorf("in the team's file are %q", got)
	}
	if got := w.task(id); got.Owner != "pane" {
		t.Errorf("task %s belongs to %q", id, got.Owner)
	}
}

// A list is deleted right after its first command; another whose name only begins
// like that of a session's list is not the same under another name.
func TestAListThatIsDeletedAtOnce(t *testing.T) {
	w := newWorld(t)
	w.scope = "checkout-rewrite"
	w.add("one")
	if err := os.RemoveAll(w.path("tasks", "checkout-rewrite")); err != nil {
		t.Fatal(err)
	}
	w.write(w.path("tasks", "session-checkout", "1.json"), `{"id":"1","subject":"another","description":"","status":"pending","blocks":[],"blockedBy":[]}`)
	if got := scopes(w); got != "checkout-rewrite archive, session-checkout live" {
		t.Errorf("there are: %s", got)
	}
}

// A folder that is reached through a link is the same before and after it is made.
func TestAFolderThatIsMadeThroughALink(t *testing.T) {
	w := newWorld(t)
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(t.TempDir(), link); err != nil {
		t.Fatal(err)
	}
	w.dir = filepath.Join(link, "claude")
	w.open()
	id := w.add("one")
	if err := os.Remove(w.taskPath(id)); err != nil {
		t.Fatal(err)
	}
	w.open()
	if got := w.ids(); len(got) != 0 {
		t.Errorf("the client deleted the task, and there are %q", got)
	}
}

// A team's file that lost who leads gets it back.
func TestATeamsFileWithNothingInIt(t *testing.T) {
	w := newWorld(t)
	w.must(&cadre.TeamCreate{Name: string(list)})
	w.write(w.configPath(), "{}")
	w.age(w.configPath())
	w.must(&cadre.TeamJoin{Name: "ann"})
	if c := w.config(); c.LeadAgentID != "team-lead@docs" || c.LeadSessionID == "" || len(c.Members) != 2 {
		t.Errorf("the team's file is %+v", c)
	}
}

// Where no id can be reserved, the one who wanted a task is told what to do.
func TestAListThatCannotBeLocked(t *testing.T) {
	w := newWorld(t)
	if err := errors.Join(os.MkdirAll(w.dir, 0o700), os.Symlink(t.TempDir(), w.path("tasks"))); err != nil {
		t.Fatal(err)
	}
	_, err := w.do(&cadre.TaskAdd{Subject: "one"})
	if e := cadre.AsError(err); e == nil || !strings.Contains(e.Hint, "CADRE_CLAUDE=off") {
		t.Errorf("the error is %v", err)
	}
}

// A file that goes between the look at it and its reading is gone, and nothing is
// wrong with it.
func TestAFileThatGoesWhileItIsLookedAt(t *testing.T) {
	w := newWorld(t)
	w.add("one")
	text := w.read(w.taskPath("1"))
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			_ = os.WriteFile(w.taskPath("7"), text, 0o600) // the folder is there
			_ = os.Remove(w.taskPath("7"))
			select {
			case <-stop:
				return
			default:
			}
		}
	}()
	for range 300 {
		if err := w.store.Refresh(t.Context(), list); err != nil {
			t.Error(err)
			break
		}
	}
	close(stop)
	<-stopped
}
