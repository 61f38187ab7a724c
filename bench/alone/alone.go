// Package alone commits what adding a task commits, to the tables of a store, with
// SQLite and nothing of Cadre's own: no rules, no checks, no hashes. It is what a
// store in SQLite cannot be faster than.
package alone

import (
	"fmt"
	"strings"

	"cadre/internal/sqlite"
)

// Sizes are how many bytes an added task has.
type Sizes struct{ Event, Task int }

// Measure takes the sizes of the task that was added last.
func Measure(c *sqlite.Conn) (Sizes, error) {
	v, err := c.Row("SELECT length(line),(SELECT length(data) FROM object WHERE kind='task' ORDER BY id DESC LIMIT 1) FROM event WHERE kind='task' ORDER BY id DESC LIMIT 1")
	if err != nil {
		return Sizes{}, err
	}
	if v == nil {
		return Sizes{}, fmt.Errorf("there is no task to measure")
	}
	return Sizes{int(v[0].(int64)), int(v[1].(int64))}, nil
}

// Add makes one durable transaction: it reads the row of a list and writes an event,
// a task, its three entries, and the row.
func Add(c *sqlite.Conn, list string, size Sizes) error {
	if err := c.Exec("BEGIN IMMEDIATE"); err != nil {
		return err
	}
	v, err := c.Row("SELECT id,seq FROM scope WHERE name=?", list)
	if err == nil && v == nil {
		err = fmt.Errorf("there is no list %s", list)
	}
	if err == nil {
		err = write(c, v[0].(int64), v[1].(int64)+1, size)
	}
	if err != nil {
		_ = c.Exec("ROLLBACK") // what went wrong before is what is told
		return err
	}
	return c.Exec("COMMIT")
}

func write(c *sqlite.Conn, scope, seq int64, size Sizes) error {
	id, hash := fmt.Sprint("alone-", seq), strings.Repeat("0", 64)
	if err := c.Exec("INSERT INTO event(id,scope,kind,object,command,hash,line) VALUES(?,?,?,?,?,?,?)", scope<<40|seq, scope, "task", id, "~alone", hash, make([]byte, size.Event)); err != nil {
		return err
	}
	if err := c.Exec("INSERT INTO object(scope,kind,name,data) VALUES(?,?,?,?)", scope, "task", id, make([]byte, size.Task)); err != nil {
		return err
	}
	args, row := []any{}, c.Inserted()
	for _, index := range []string{"status", "subject", "ready"} {
		args = append(args, scope, index, []byte("of a task "+id), row)
	}
	if err := c.Exec("INSERT INTO entry(scope,list,key,object) VALUES(?,?,?,?),(?,?,?,?),(?,?,?,?)", args...); err != nil {
		return err
	}
	return c.Exec("UPDATE scope SET seq=?,hash=?,next=? WHERE id=?", seq, hash, seq, scope)
}
