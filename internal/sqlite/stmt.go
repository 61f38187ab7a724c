package sqlite

import (
	"bytes"
	"context"
	"fmt"

	lib "modernc.org/sqlite/lib"
)

// stmt is a prepared statement, with room for what is bound to it.
type stmt struct {
	p      uintptr
	params int
	room   room
}

// take gives a prepared statement that nobody else uses.
func (c *Conn) take(text string) (*stmt, error) {
	if free := c.stmts[text]; len(free) > 0 {
		st := free[len(free)-1]
		c.stmts[text] = free[:len(free)-1]
		return st, nil
	}
	out := c.tls.Alloc(pointerSize)
	defer c.tls.Free(pointerSize)
	if rc := lib.Xsqlite3_prepare_v3(c.tls, c.db, c.text.put(c.tls, text), int32(len(text)+1), 0, out, 0); rc != lib.SQLITE_OK {
		return nil, c.error(rc)
	}
	p := *at[uintptr](out)
	return &stmt{p: p, params: int(lib.Xsqlite3_bind_parameter_count(c.tls, p))}, nil
}

// give takes a statement back for the next who needs it.
func (c *Conn) give(text string, st *stmt) {
	lib.Xsqlite3_reset(c.tls, st.p) // repeats the error that the last step gave
	c.stmts[text] = append(c.stmts[text], st)
}

// bind sets a statement's parameters: whole numbers, texts and bytes.
func (c *Conn) bind(st *stmt, args []any) error {
	if len(args) != st.params {
		return fmt.Errorf("%d parameters are bound to %d", len(args), st.params)
	}
	need := 1 // what has no length still needs a place, or it would be NULL
	for _, v := range args {
		switch v := v.(type) {
		case string:
			need += len(v)
		case []byte:
			need += len(v)
		}
	}
	st.room.fit(c.tls, need)
	to, used := span(st.room.p, need), 0
	for i, v := range args {
		var rc int32
		place := st.room.p + uintptr(used)
		switch v := v.(type) {
		case int64:
			rc = lib.Xsqlite3_bind_int64(c.tls, st.p, int32(i+1), v)
		case string:
			used += copy(to[used:], v)
			rc = lib.Xsqlite3_bind_text(c.tls, st.p, int32(i+1), place, int32(len(v)), lib.SQLITE_STATIC)
		case []byte:
			used += copy(to[used:], v)
			rc = lib.Xsqlite3_bind_blob(c.tls, st.p, int32(i+1), place, int32(len(v)), lib.SQLITE_STATIC)
		default:
			return fmt.Errorf("%T cannot be bound", v)
		}
		if rc != lib.SQLITE_OK {
			return c.error(rc)
		}
	}
	return nil
}

// Exec runs one statement and passes over what it answers.
func (c *Conn) Exec(text string, args ...any) error {
	st, err := c.take(text)
	if err != nil {
		return err
	}
	defer c.give(text, st)
	if err := c.bind(st, args); err != nil {
		return err
	}
	if rc := lib.Xsqlite3_step(c.tls, st.p); rc != lib.SQLITE_DONE && rc != lib.SQLITE_ROW {
		return c.error(rc)
	}
	return nil
}

// Inserted is the number of the row that was inserted last.
func (c *Conn) Inserted() int64 { return lib.Xsqlite3_last_insert_rowid(c.tls, c.db) }

// Version is a number that every commit changes, this connection's and what it has
// seen of those of others.
func (c *Conn) Version() (uint32, error) {
	out := c.tls.Alloc(pointerSize)
	defer c.tls.Free(pointerSize)
	if rc := lib.Xsqlite3_file_control(c.tls, c.db, 0, lib.SQLITE_FCNTL_DATA_VERSION, out); rc != lib.SQLITE_OK {
		return 0, c.error(rc)
	}
	return *at[uint32](out), nil
}

// Rows is a statement's answer. It must be closed.
type Rows struct {
	Val []any // of this row: nil, int64, float64, string or []byte

	c    *Conn
	text string
	st   *stmt
	ctx  context.Context
	stop func()
}

// Query runs one statement. Where the context ends, so does the answer.
func (c *Conn) Query(ctx context.Context, text string, args ...any) (*Rows, error) {
	st, err := c.take(text)
	if err != nil {
		return nil, err
	}
	if err := c.bind(st, args); err != nil {
		c.give(text, st)
		return nil, err
	}
	n := lib.Xsqlite3_column_count(c.tls, st.p)
	return &Rows{Val: make([]any, n), c: c, text: text, st: st, ctx: ctx, stop: c.until(ctx)}, nil
}

// Next reads a row, and says whether there was one.
func (r *Rows) Next() (bool, error) {
	switch rc := lib.Xsqlite3_step(r.c.tls, r.st.p); rc {
	case lib.SQLITE_ROW:
	case lib.SQLITE_DONE:
		return false, nil
	default:
		if err := r.ctx.Err(); err != nil && rc&0xff == lib.SQLITE_INTERRUPT {
			return false, err
		}
		return false, r.c.error(rc)
	}
	for i := range r.Val {
		r.Val[i] = r.column(int32(i))
	}
	return true, nil
}

func (r *Rows) column(i int32) any {
	tls, p := r.c.tls, r.st.p
	switch lib.Xsqlite3_column_type(tls, p, i) {
	case lib.SQLITE_INTEGER:
		return lib.Xsqlite3_column_int64(tls, p, i)
	case lib.SQLITE_FLOAT:
		return lib.Xsqlite3_column_double(tls, p, i)
	case lib.SQLITE_TEXT:
		from := lib.Xsqlite3_column_text(tls, p, i)
		return string(span(from, int(lib.Xsqlite3_column_bytes(tls, p, i))))
	case lib.SQLITE_BLOB:
		from := lib.Xsqlite3_column_blob(tls, p, i)
		return bytes.Clone(span(from, int(lib.Xsqlite3_column_bytes(tls, p, i))))
	}
	return nil
}

// Close ends the answer.
func (r *Rows) Close() {
	r.stop()
	r.c.give(r.text, r.st)
}

// Row runs a statement and gives its first row, or nil where there is none.
func (c *Conn) Row(text string, args ...any) ([]any, error) {
	r, err := c.Query(context.Background(), text, args...)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	ok, err := r.Next()
	if !ok || err != nil {
		return nil, err
	}
	return r.Val, nil
}
