package doctor_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestCaptured examines what was left of runs of the real client (old is 2.1.50, new
// is 2.1.325). Each finding is true of it: those runs made a circle, wrote to names
// that nobody has, and put files before the client that it does not see.
func TestCaptured(t *testing.T) {
	odd := []string{
		"edge-dangling tasks/Shared-List-1/10.json",
		"inbox-orphan teams/Shared-List-1/inboxes/bob.json",
		"task-broken tasks/Shared-List-1/6.json",
		"task-id tasks/Shared-List-1/5.json",
		"task-invisible tasks/Shared-List-1/2.json",
		"task-invisible tasks/Shared-List-1/3.json",
		"task-invisible tasks/Shared-List-1/4.json",
		"task-invisible tasks/Shared-List-1/7.json",
		"task-invisible tasks/Shared-List-1/8.json",
	}
	want := map[string][]string{
		"new-lifecycle": {
			"cycle tasks/session-734472a4/1.json",
			"inbox-orphan teams/session-734472a4/inboxes/worker-1-2.json",
			"inbox-orphan teams/session-734472a4/inboxes/worker-1.json",
		},
		"new-odd-files-and-locks": odd,
		"new-panes":               nil,
		"old-lifecycle":           nil,
		"old-odd-files-and-locks": odd,
		"old-panes-odd-team-name": {"team-split teams/my-team-x/config.json"},
		"old-plan-mode":           nil,
	}
	for run, want := range want {
		d, _ := newDoctor(t)
		if err := os.CopyFS(d.Folder, os.DirFS(filepath.Join("testdata", "captured", run))); err != nil {
			t.Fatal(err)
		}
		r := examine(t, d)
		if diff := cmp.Diff(want, findings(r)); diff != "" {
			t.Errorf("%s: %s", run, diff)
		}
		if r.Tasks == 0 {
			t.Errorf("%s: no task was examined", run)
		}
		var hard []string // what needs a person
		for _, f := range r.Findings {
			if f.Repair == "" {
				hard = append(hard, f.Code+" "+f.Place)
			}
		}
		slices.Sort(hard)
		if diff := cmp.Diff(hard, findings(fix(t, d))); diff != "" {
			t.Errorf("%s: after mending: %s", run, diff)
		}
	}
}
