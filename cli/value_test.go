package cli

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"cadre"
	"cadre/coord"
)

// every has a field of every kind that verbs use.
type every struct {
	Embedded
	ID       cadre.TaskID               `json:"id" arg:"ID" help:"the task"`
	Text     string                     `json:"text,omitempty" short:"t"`
	On       bool                       `json:"on,omitempty"`
	N        int                        `json:"n,omitempty" default:"7"`
	Version  uint64                     `json:"ifVersion,omitempty"`
	List     []cadre.TaskID             `json:"addBlockedBy,omitempty"`
	Maybe    *string                    `json:"maybe,omitempty"`
	Words    *[]string                  `json:"words,omitempty"`
	Wait     time.Duration              `json:"wait,omitempty"`
	Metadata map[string]json.RawMessage `json:"metadata,omitempty"`
	Rest     []string                   `json:"rest,omitempty" arg:"[WORD...]"`
	Secret   string                     `json:"secret" door:"-"`
	Skipped  string                     `json:"-"`
}

// Embedded is flattened.
type Embedded struct {
	Claim bool `json:"claim,omitempty"`
}

func TestFieldsComeFromTags(t *testing.T) {
	var names []string
	for _, f := range fieldsOf(&every{}) {
		if f.place != "" {
			names = append(names, f.usage())
		} else {
			names = append(names, "--"+f.name)
		}
	}
	want := "--claim ID --text --on --n --if-version --add-blocked-by --maybe --words --wait --metadata [WORD...]"
	if got := strings.Join(names, " "); got != want {
		t.Errorf("fields are %s, want %s", got, want)
	}
}

func TestSetValue(t *testing.T) {
	v := &every{}
	fields := map[string]reflect.Value{}
	for _, f := range fieldsOf(v) {
		fields[f.name] = f.value
	}
	for _, set := range [][2]string{
		{"claim", "true"},
		{"id", "3"},
		{"n", "-4"},
		{"if-version", "9"},
		{"add-blocked-by", "1, 2,"},
		{"add-blocked-by", "3"},
		{"maybe", ""},
		{"words", ""},
		{"wait", "1m30s"},
		{"metadata", "a=1"},
		{"metadata", "b=x=y"},
		{"metadata", `c={"d":null}`},
		{"metadata", "e="},
	} {
		if err := setValue(fields[set[0]], set[1]); err != nil {
			t.Errorf("--%s %s: %v", set[0], set[1], err)
		}
	}
	empty := ""
	want := &every{
		Embedded: Embedded{true}, ID: "3", N: -4, Version: 9, List: []cadre.TaskID{"1", "2", "3"}, Maybe: &empty, Words: &[]string{}, Wait: 90 * time.Second,
		Metadata: map[string]json.RawMessage{"a": []byte("1"), "b": []byte(`"x=y"`), "c": []byte(`{"d":null}`), "e": []byte(`""`)},
	}
	if !reflect.DeepEqual(v, want) {
		t.Errorf("got %+v, want %+v", v, want)
	}
	for _, bad := range [][2]string{
		{"claim", "perhaps"}, {"n", "many"}, {"n", "99999999999999999999"}, {"if-version", "-1"}, {"wait", "soon"}, {"wait", "-3s"}, {"wait", "30"}, {"metadata", "novalue"}, {"metadata", "=x"},
	} {
		if setValue(fields[bad[0]], bad[1]) == nil {
			t.Errorf("--%s %s was taken", bad[0], bad[1])
		}
	}
}

func TestParseDurationKnowsDaysAndWeeks(t *testing.T) {
	for text, want := range map[string]time.Duration{"2d": 48 * time.Hour, "1w": 168 * time.Hour} {
		if d, err := coord.ParseDuration(text); err != nil || d != want {
			t.Errorf("ParseDuration(%s) = %v, %v", text, d, err)
		}
	}
	if d, err := coord.ParseDuration("99999999999w"); err == nil {
		t.Errorf("a length past all time is %v", d)
	}
}

func TestNearest(t *testing.T) {
	for path, want := range map[string]string{
		"tsk": "task", "task lst": "task list", "task next2": "task next", "next": "task next", "create": "task add", "task delete": "task rm",
		"tsak list": "task list", "mgs send": "msg send", "histroy": "", "history": "log", "xyzzy": "", "task xyzzy": "",
	} {
		if got := nearestCommand(path); got != want {
			t.Errorf("nearestCommand(%q) = %q, want %q", path, got, want)
		}
	}
}
