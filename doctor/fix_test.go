package doctor_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"cadre"
	"cadre/doctor"
)

func (f folder) read(path string) string {
	f.t.Helper()
	data, err := os.ReadFile(filepath.Join(f.dir, filepath.FromSlash(path)))
	if err != nil {
		f.t.Fatal(err)
	}
	return string(data)
}

// TestFixWritesWhatTheClientWould shows one file of each kind after it was mended.
func TestFixWritesWhatTheClientWould(t *testing.T) {
	d, f := newDoctor(t)
	f.put("tasks/team/1.json", `{"id":1,"subject":"s","status":"open","blocks":[2],"owner":null,"x":[1.50]}`)
	f.put("tasks/team/2.json", `{"id":"2","subject":"s","description":"d","status":"in_progress","owner":"eve","blocks":[],"blockedBy":["9"],"y":1}`)
	f.put("tasks/team/.highwatermark", "?")
	f.team("team", "team", 1, member("ann", "in-process", ""))
	fix(t, d)
	for path, want := range map[string]string{
		"tasks/team/1.json":         "{\n  \"id\": \"1\",\n  \"subject\": \"s\",\n  \"status\": \"pending\",\n  \"blocks\": [\n    \"2\"\n  ],\n  \"x\": [\n    1.50\n  ],\n  \"description\": \"\",\n  \"blockedBy\": []\n}",
		"tasks/team/2.json":         "{\n  \"id\": \"2\",\n  \"subject\": \"s\",\n  \"description\": \"d\",\n  \"status\": \"pending\",\n  \"blocks\": [],\n  \"blockedBy\": [\n    \"1\"\n  ],\n  \"y\": 1\n}",
		"tasks/team/.highwatermark": "2",
	} {
		if diff := cmp.Diff(want, f.read(path)); diff != "" {
			t.Errorf("%s: %s", path, diff)
		}
	}
	if config := f.read("teams/team/config.json"); strings.Contains(config, "ann") || !strings.Contains(config, "team-lead") {
		t.Errorf("%s", config)
	}
}

// TestFixLeavesWhatChanged has somebody write between the examination and the
// mending: the doctor asks about processes in that time.
func TestFixLeavesWhatChanged(t *testing.T) {
	d, f := newDoctor(t)
	f.task("l", "1", "open", "", nil, nil)
	f.task("l", "2", "open", "", nil, nil)
	f.team("team", "team", 2)
	asked := 0
	d.Process = func(doctor.Process) (gone, known bool) {
		if asked++; asked == 1 {
			f.task("l", "1", "resolved", "", nil, nil)
		}
		return false, true
	}
	r := fix(t, d)
	if diff := cmp.Diff([]string{"task-invisible tasks/l/1.json"}, findings(r)); diff != "" || r.Healthy() {
		t.Error(diff)
	}
	if r.Changes[0].Done || r.Changes[0].Left == "" || !r.Changes[1].Done {
		t.Errorf("%+v", r.Changes)
	}
	if !strings.Contains(f.read("tasks/l/1.json"), "resolved") {
		t.Error("what somebody else wrote is gone")
	}
}

func TestRestoreLeavesWhatChanged(t *testing.T) {
	d, f := newDoctor(t)
	f.team("team", "team", 2)
	for _, id := range []string{"1", "2", "3"} {
		f.task("l", id, "open", "", nil, nil)
	}
	f.put("teams/team/inboxes/bob.json", mail(true))
	before, first, third := contents(t, d.Folder), f.read("tasks/l/1.json"), f.read("tasks/l/3.json")
	r := fix(t, d)
	f.task("l", "1", "completed", "", nil, nil)
	f.put("teams/team/inboxes/bob.json", mail(false))
	f.put("tasks/l/3.json", third)
	changed := contents(t, d.Folder)
	back, err := d.Restore(t.Context(), filepath.Base(r.Backup))
	if err != nil {
		t.Fatal(err)
	}
	left := map[string]bool{}
	for _, c := range back.Changes {
		left[c.Path] = c.Left != ""
	}
	want := map[string]bool{"tasks/l/1.json": true, "tasks/l/2.json": false, "tasks/l/3.json": false, "teams/team/inboxes/bob.json": true}
	if diff := cmp.Diff(want, left); diff != "" || back.Healthy() {
		t.Error(diff)
	}
	changed["/tasks/l/2.json"] = before["/tasks/l/2.json"]
	if diff := cmp.Diff(changed, contents(t, d.Folder)); diff != "" {
		t.Error(diff)
	}
	// it can be tried again, until all of it was put back
	if err := os.Remove(filepath.Join(d.Folder, "teams/team/inboxes/bob.json")); err != nil {
		t.Fatal(err)
	}
	f.put("tasks/l/1.json", first)
	if back, err = d.Restore(t.Context(), ""); err != nil || !back.Healthy() {
		t.Fatalf("%+v, %v", back, err)
	}
	if diff := cmp.Diff(before, contents(t, d.Folder)); diff != "" {
		t.Error(diff)
	}
	if _, err = d.Restore(t.Context(), ""); !errors.Is(err, cadre.ErrNotFound) {
		t.Errorf("all was put back, and again: %v", err)
	}
}

func TestRestoreRefuses(t *testing.T) {
	d, f := newDoctor(t)
	if _, err := d.Restore(t.Context(), ""); !errors.Is(err, cadre.ErrNotFound) {
		t.Errorf("there is no backup: %v", err)
	}
	if _, err := d.Restore(t.Context(), "../x"); !errors.Is(err, cadre.ErrNotFound) {
		t.Errorf("there is no such backup: %v", err)
	}
	f.task("l", "1", "open", "", nil, nil)
	r := fix(t, d)
	other := *d
	other.Folder = t.TempDir()
	if _, err := other.Restore(t.Context(), filepath.Base(r.Backup)); !errors.Is(err, cadre.ErrUsage) {
		t.Errorf("it is of another folder: %v", err)
	}
	fixed := contents(t, d.Folder)
	if err := os.WriteFile(filepath.Join(r.Backup, "files/tasks/l/1.json"), []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	if back, err := d.Restore(t.Context(), ""); err != nil || back.Healthy() {
		t.Errorf("a damaged copy was put back: %+v, %v", back, err)
	}
	if diff := cmp.Diff(fixed, contents(t, d.Folder)); diff != "" {
		t.Error(diff)
	}
}

// TestNothingOutsideIsTouched has links out of the folder at every place.
func TestNothingOutsideIsTouched(t *testing.T) {
	d, f := newDoctor(t)
	outside := folder{t, t.TempDir()}
	outside.task("l", "1", "open", "", []string{"1"}, nil)
	outside.put("teams/x/inboxes/bob.json", mail(true))
	outside.put("teams/x.deleted-1/config.json", "{}")
	before := contents(t, outside.dir)
	f.task("real", "1", "open", "", nil, nil)
	f.put("teams/real/inboxes/ann.json", "[]")
	for from, to := range map[string]string{
		"tasks/l": "tasks/l", "tasks/real/2.json": "tasks/l/1.json", "teams/x": "teams/x",
		"teams/y.deleted-1": "teams/x.deleted-1", "teams/real/inboxes/bob.json": "teams/x/inboxes/bob.json",
	} {
		if err := os.Symlink(filepath.Join(outside.dir, to), filepath.Join(d.Folder, from)); err != nil {
			t.Fatal(err)
		}
	}
	r := fix(t, d)
	if len(r.Findings) != 5 || len(r.Changes) != 2 {
		t.Errorf("%+v", r)
	}
	if diff := cmp.Diff(before, contents(t, outside.dir)); diff != "" {
		t.Error(diff)
	}
}

// TestHalfWrittenFilesAreReadAgain has a writer that finishes in time.
func TestHalfWrittenFilesAreReadAgain(t *testing.T) {
	d, f := newDoctor(t)
	d.Now = nil
	f.put("tasks/l/1.json", "")
	done := make(chan struct{})
	go func() {
		defer close(done)
		f.task("l", "1", "pending", "", nil, nil)
	}()
	if r := examine(t, d); !r.Healthy() {
		t.Error(findings(r))
	}
	<-done
	f.put("tasks/l/1.json", "{")
	if r := examine(t, d); r.Healthy() {
		t.Error("half a file, and nothing was found")
	}
}
