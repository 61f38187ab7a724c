package claudedir

import (
	"strings"

	"cadre"
	"cadre/claudefile"
)

// projected is the projection: a task as a client's file has it. A nil answer
// means that there is to be no file.
func projected(s cadre.Snap, t *cadre.Task) (*claudefile.Task, error) {
	if t == nil || t.Status == cadre.Deleted {
		return nil, nil
	}
	var blocks []string
	for w, err := range s.Blocks(t.ID) {
		if err != nil {
			return nil, err
		}
		blocks = append(blocks, string(w.ID))
	}
	return &claudefile.Task{
		ID: string(t.ID), Subject: t.Subject, Description: t.Description, ActiveForm: t.ActiveForm, Owner: t.Owner, Status: string(t.Status),
		Blocks: blocks, BlockedBy: words(t.BlockedBy), Metadata: t.FileMetadata(),
	}, nil
}

// fitted is a projected task for a file that is there: words that mean the same
// stay as they are.
func fitted(task, file *claudefile.Task) *claudefile.Task {
	out := *task
	out.Blocks, out.BlockedBy = inOrder(file.Blocks, out.Blocks), inOrder(file.BlockedBy, out.BlockedBy)
	if name, _, _ := strings.Cut(file.Owner, "@"); name == out.Owner {
		out.Owner = file.Owner
	}
	if !cadre.Status(task.Status).Known() {
		out.Invisible = file.Invisible // a status that nobody knows is shown as it is
	}
	return &out
}

func words[T ~string](ids []T) []string {
	out := make([]string, len(ids))
	for i, id := range ids {
		out[i] = string(id)
	}
	return out
}

// inOrder gives a set in the order in which a file already has it; what is new
// comes last. A file that says one of them twice is left saying so.
func inOrder(file, set []string) []string {
	in, placed := map[string]bool{}, map[string]bool{}
	for _, id := range set {
		in[id] = true
	}
	out, foreign := make([]string, 0, len(set)), false
	for _, id := range file {
		if in[id] && !placed[id] {
			placed[id] = true
			out = append(out, id)
		}
		foreign = foreign || !in[id]
	}
	if len(placed) == len(in) && !foreign {
		return file
	}
	for _, id := range set {
		if !placed[id] {
			out = append(out, id)
		}
	}
	return out
}
