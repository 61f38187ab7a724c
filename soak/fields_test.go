package soak_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"cadre"
	"cadre/claudefile"
)

// values are the fields of a task's file, each by its name.
func values(f *claudefile.Task) map[string]string {
	owner, _, _ := strings.Cut(f.Owner, "@")
	out := map[string]string{"subject": f.Subject, "description": f.Description, "activeForm": f.ActiveForm, "owner": owner, "status": f.Status}
	if s, err := cadre.ParseStatus(f.Status); err == nil {
		out["status"] = string(s)
	}
	for k, raw := range f.Metadata {
		out["metadata "+k] = compact(raw)
	}
	return out
}

// valuesOf are the same of a task in the log.
func valuesOf(t *cadre.Task) map[string]string {
	return values(&claudefile.Task{
		Subject: t.Subject, Description: t.Description, ActiveForm: t.ActiveForm, Owner: t.Owner, Status: string(t.Status), Metadata: t.FileMetadata(),
	})
}

func compact(raw json.RawMessage) string {
	var v any
	if json.Unmarshal(raw, &v) != nil {
		return string(raw)
	}
	data, err := json.Marshal(v)
	if err != nil {
		return string(raw)
	}
	return string(data)
}

// said is what somebody wrote into the fields of tasks in one step, in order.
type said map[cadre.TaskID]map[string][]string

func (s said) add(id cadre.TaskID, field, value string) {
	if s[id] == nil {
		s[id] = map[string][]string{}
	}
	s[id][field] = append(s[id][field], value)
}

// last is what was said last about a field.
func (s said) last(id cadre.TaskID, field string) (string, bool) {
	list := s[id][field]
	if len(list) == 0 {
		return "", false
	}
	return list[len(list)-1], true
}

// changes are what events say about the fields of tasks.
func changes(events []cadre.Event) said {
	out := said{}
	for _, e := range events {
		after, ok := e.After.(*cadre.Task)
		if !ok {
			continue
		}
		was := map[string]string{}
		if before, ok := e.Before.(*cadre.Task); ok {
			was = valuesOf(before)
		}
		is := valuesOf(after)
		for _, field := range fieldsOf(was, is) {
			if was[field] != is[field] {
				out.add(after.ID, field, is[field])
			}
		}
	}
	return out
}

// fieldsOf are the names that stand in either.
func fieldsOf(maps ...map[string]string) []string {
	var out []string
	for _, m := range maps {
		for field := range m {
			if !slices.Contains(out, field) {
				out = append(out, field)
			}
		}
	}
	slices.Sort(out)
	return out
}

// onlyOurs says whether every field is what we made it, and all others are what
// they were.
func onlyOurs(before, after map[cadre.TaskID]*cadre.Task, ours said) error {
	for id, t := range after {
		was := map[string]string{}
		if before[id] != nil {
			was = valuesOf(before[id])
		}
		is := valuesOf(t)
		for _, field := range fieldsOf(was, is) {
			if before[id] != nil && before[id].Leased && (field == "owner" || field == "status") {
				continue // it may have run out, and a task is not taken away from somebody at work
			}
			want := was[field]
			if w, ok := ours.last(id, field); ok {
				want = w
			}
			if is[field] != want {
				return fmt.Errorf("the %s of task %s is %q and should be %q", field, id, is[field], want)
			}
		}
	}
	return nil
}
