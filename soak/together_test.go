package soak_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"time"

	"cadre"
	"cadre/claudefile"
)

// burst is what somebody else wrote while we did.
type burst struct {
	fields   said
	subjects []string       // of tasks they made
	mail     []string       // what they sent to ann
	members  []string       // who they put into the team
	gone     []cadre.TaskID // whose files they took away
	copies   int            // how many old copies they wrote back
	slow     []cadre.TaskID // where they stood still while they wrote
	garbage  int            // how much garbage they left
}

// standstill is how long somebody may take from reading a file to having written it. Who
// takes a second longer has left half of a file for good, or wants an old value back, as
// far as anybody can tell.
const standstill = 500 * time.Millisecond

// together lets both sides work at the same time, and says what must be there after.
func (b *beside) together() error {
	before, err := b.tasks()
	if err != nil {
		return err
	}
	head := b.head()
	ann := b.lives("ann")
	them := *b // with dice of their own
	them.Rand = rand.New(rand.NewPCG(b.Uint64(), 2))
	them.words, them.told = b.words+1_000_000, nil
	var theirs burst
	ended := make(chan error, 1)
	go func() {
		var err error
		theirs, err = them.burst(before)
		ended <- err
	}()
	var errs []error
	for range 1 + b.IntN(3) {
		_, err := b.do(b.draw())
		errs = append(errs, err)
	}
	errs = append(errs, <-ended)
	b.told = append(b.told, them.told...)
	b.words = max(b.words, them.words-1_000_000)
	if err := errors.Join(errs...); err != nil {
		return err
	}
	return b.checked(func(after map[cadre.TaskID]*cadre.Task) error {
		ours, all, err := b.since(head)
		if err != nil {
			return err
		}
		b.n["fields they wrote while we did"] += len(theirs.fields)
		b.n["old copies they wrote while we worked"] += theirs.copies
		b.n["files they took away while we worked"] += len(theirs.gone)
		b.n["garbage they left while we worked"] += theirs.garbage
		b.n["writes that took too long to promise anything"] += len(theirs.slow)
		prompt := maps.Clone(before)
		maps.DeleteFunc(prompt, func(id cadre.TaskID, _ *cadre.Task) bool { return slices.Contains(theirs.slow, id) })
		if err := bothKept(prompt, after, theirs.fields, ours, all); err != nil {
			return err
		}
		return b.kept(before, after, all, theirs, ann)
	})
}

// burst is what they do while we work.
func (b *beside) burst(before map[cadre.TaskID]*cadre.Task) (burst, error) {
	out := burst{fields: said{}}
	copied, copy := b.withFile(before) // read now, and written back some time later
	read := time.Now()
	for range 1 + b.IntN(3) {
		began := time.Now()
		word := b.word("they")
		var err error
		switch k := b.IntN(12); k {
		case 0:
			id := b.newID()
			b.tell("they make task %s, %s", id, word)
			f, err2 := os.OpenFile(b.file(id), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
			if errors.Is(err2, os.ErrExist) {
				continue // we were faster
			}
			_, err = f.Write(newTask(id, word))
			err = errors.Join(err, err2, f.Close())
			if time.Since(began) < standstill {
				out.subjects = append(out.subjects, word)
			}
		case 1:
			b.tell("they send %s to ann", word)
			path := b.team("inboxes", "ann.json")
			err = b.locked(path, func() error {
				data, err := os.ReadFile(path)
				if err != nil {
					return err
				}
				entries, err := claudefile.ReadInbox(data)
				if err != nil {
					return err
				}
				entries = append(entries, claudefile.Entry{From: "eve", Text: word, Timestamp: claudefile.Timestamp(b.time().Wall)})
				return b.inPlace(path, claudefile.WriteInbox(entries))
			})
			out.mail = append(out.mail, word)
		case 2:
			b.tell("they put %s into config.json", word)
			err = b.locked(b.team("config.json"), func() error { return b.putInTeam(word, false) })
			out.members = append(out.members, word)
		case 3:
			if b.touched(out, copied) {
				continue
			}
			err = b.writesBack(copied, copy, word)
			out.fields.add(copied, "activeForm", word)
			out.copies++
			if time.Since(read) > standstill {
				out.slow = append(out.slow, copied)
			}
		case 4, 5:
			id, _ := b.withFile(before)
			if b.touched(out, id) {
				continue
			}
			if k == 4 {
				b.tell("they delete task %s", id)
				err = os.Remove(b.file(id))
			} else {
				var subject string
				if subject, err = b.renamesTo(id, b.newID()); subject != "" {
					out.subjects = append(out.subjects, subject)
				}
			}
			if errors.Is(err, os.ErrNotExist) {
				continue // we were faster
			}
			out.gone = append(out.gone, id)
		case 6:
			id, _ := b.withFile(before)
			if b.IntN(20) > 0 || b.touched(out, id) {
				continue // each costs a second: it may be half of something
			}
			b.tell("they leave garbage in task %s", id)
			err = b.inPlace(b.file(id), []byte("{\"id\": "))
			out.garbage++
		default:
			id, err2 := b.edits(before, word, []func(string, []byte) error{b.inPlace, b.inTwoSteps, b.byRename}[k%3], out.fields)
			if err = err2; time.Since(began) > standstill {
				out.slow = append(out.slow, id)
			}
		}
		if err != nil {
			return out, err
		}
	}
	return out, nil
}

// touched says whether somebody did something to a task's file in a burst: what came
// of that is not known any more if something else is done to it.
func (b *beside) touched(by burst, id cadre.TaskID) bool {
	_, err := os.Lstat(b.file(id))
	return id == "" || err != nil || by.fields[id] != nil || slices.Contains(by.gone, id)
}

// writesBack writes a copy that was read before we did anything, with one new word.
func (b *beside) writesBack(id cadre.TaskID, copy []byte, word string) error {
	o, err := claudefile.Parse(copy)
	if err != nil {
		return err
	}
	o.Set("activeForm", word)
	b.tell("they write back an old copy of task %s, with %s", id, word)
	return b.inPlace(b.file(id), o.Bytes())
}

// renamesTo gives a task's file another name, and says what is its subject there: we
// may have written it in the last moment.
func (b *beside) renamesTo(from, to cadre.TaskID) (subject string, err error) {
	if _, err := os.Lstat(b.file(to)); err == nil {
		return "", os.ErrNotExist // we have a task there
	}
	b.tell("they rename task %s to %s", from, to)
	if err := os.Rename(b.file(from), b.file(to)); err != nil {
		return "", err
	}
	data, err := os.ReadFile(b.file(to))
	if err != nil {
		return "", err
	}
	file, err := claudefile.ReadTask(data)
	if err != nil {
		return "", nil // garbage has none
	}
	return file.Subject, nil
}

// edits reads a task's file, changes one field and writes all of it back, asking
// nobody. It gives whose it was.
func (b *beside) edits(before map[cadre.TaskID]*cadre.Task, word string, write func(string, []byte) error, fields said) (cadre.TaskID, error) {
	id, data := b.withFile(before)
	o, err := claudefile.Parse(data)
	if id == "" || err != nil {
		return id, nil // it is being removed
	}
	field := []string{"subject", "description", "activeForm"}[b.IntN(3)]
	o.Set(field, word)
	b.tell("they make %s the %s of task %s", word, field, id)
	if _, err := os.Lstat(b.file(id)); err != nil {
		return id, nil
	}
	fields.add(id, field, word)
	return id, write(b.file(id), o.Bytes())
}

// since gives what the log says was changed after a head: by us, and by anybody.
func (b *beside) since(head cadre.Head) (ours, all said, err error) {
	var own, every []cadre.Event
	for e, err := range b.inner.Events(context.Background(), b.scope, head, false) {
		if err != nil {
			return nil, nil, err
		}
		every = append(every, e)
		if e.Door == "test" {
			own = append(own, e)
		}
	}
	return changes(own), changes(every), nil
}

// bothKept says whether every field is what was said about it: by the only one who
// said something, or by one of both if both did; and that what they said is in the
// log in any case.
func bothKept(before, after map[cadre.TaskID]*cadre.Task, theirs, ours, all said) error {
	for id, t := range after {
		if before[id] == nil || t.Status == cadre.Deleted || len(all[id]["status"]) > 0 && slices.Contains(all[id]["status"], string(cadre.Deleted)) {
			continue // what is said about a removed task says nothing
		}
		was, is := valuesOf(before[id]), valuesOf(t)
		for _, field := range fieldsOf(was, is) {
			if field == "owner" || field == "status" {
				continue // they follow from more than what was said
			}
			them, theyDid := theirs.last(id, field)
			us, weDid := ours.last(id, field)
			allowed := []string{was[field]}
			switch {
			case theyDid && weDid:
				allowed = []string{them, us}
			case theyDid:
				allowed = []string{them}
			case weDid:
				allowed = []string{us}
			}
			if !slices.Contains(allowed, is[field]) {
				return fmt.Errorf("the %s of task %s is %q; they said %q, we said %q, it was %q", field, id, is[field], theirs[id][field], ours[id][field], was[field])
			}
			if theyDid && !slices.Contains(all[id][field], them) {
				return fmt.Errorf("they made the %s of task %s %q, and the log never had it", field, id, them)
			}
		}
	}
	return nil
}

// kept says whether the tasks, the mail and the members are there that they made.
func (b *beside) kept(before, after map[cadre.TaskID]*cadre.Task, all said, theirs burst, ann bool) error {
	for _, subject := range theirs.subjects {
		found := false
		for _, fields := range all {
			found = found || slices.Contains(fields["subject"], subject)
		}
		if !found {
			return fmt.Errorf("they made a task %s, and it is not there", subject)
		}
	}
	for _, id := range theirs.gone { // a finished one was only cleared away
		was := append([]string{string(before[id].Status), string(after[id].Status)}, all[id]["status"]...)
		if !slices.Contains(was, string(cadre.Deleted)) && !slices.Contains(was, string(cadre.Completed)) {
			return fmt.Errorf("they took away the file of task %s, and it is %s", id, after[id].Status)
		}
	}
	waiting, err := b.unread("ann")
	if err != nil {
		return err
	}
	var texts []string
	for _, text := range waiting {
		texts = append(texts, text)
	}
	for _, text := range theirs.mail {
		if ann && b.lives("ann") && !slices.Contains(texts, text) && !b.wasRead(text) {
			return fmt.Errorf("they sent %s to ann, and waiting is %s", text, strings.Join(texts, ", "))
		}
	}
	for _, name := range theirs.members {
		if err := b.inTeam(name, false); err != nil && !b.weEnded(name) {
			return err
		}
	}
	return nil
}

// weEnded says whether a command of ours had a member depart: one that deletes the team
// does that with all that were taken in before it.
func (b *beside) weEnded(name string) (ended bool) {
	for e, err := range b.inner.Events(context.Background(), b.scope, cadre.Head{}, false) {
		before, ok := e.Before.(*cadre.Member)
		after, ok2 := e.After.(*cadre.Member)
		if err == nil && ok && ok2 && e.Door == "test" && after.Name == name && before.State != cadre.StateDeparted && after.State == cadre.StateDeparted {
			ended = true
		}
	}
	return ended
}

// wasRead says whether the log knows a text that ann has read: we may have
// acknowledged it for her.
func (b *beside) wasRead(text string) (read bool) {
	for e, err := range b.inner.Events(context.Background(), b.scope, cadre.Head{}, false) {
		if m, ok := e.After.(*cadre.Message); err == nil && ok && m.Text == text && m.ReadAt != nil {
			read = true
		}
	}
	return read
}
