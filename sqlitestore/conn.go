package sqlitestore

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net/url"
	"path/filepath"
	"strings"

	"modernc.org/sqlite"
)

// conn is one connection to the database, for one goroutine at a time. It talks
// to the driver itself: a process that does one thing and ends has no use for a
// pool that starts goroutines, and every statement is prepared once.
type conn struct {
	c     driver.Conn
	stmts map[string][]driver.Stmt // prepared and not in use, by their text
}

// dial opens a database file. Options are those of SQLite's URI names.
func dial(path, options string) (*conn, error) {
	slashed := filepath.ToSlash(path)
	if !strings.HasPrefix(slashed, "/") {
		slashed = "/" + slashed // a drive letter
	}
	name := (&url.URL{Scheme: "file", Path: slashed, RawQuery: options}).String()
	c, err := (&sqlite.Driver{}).Open(name)
	if err != nil {
		return nil, err
	}
	return &conn{c: c, stmts: map[string][]driver.Stmt{}}, nil
}

func (c *conn) close() error {
	var first error
	for _, list := range c.stmts {
		for _, st := range list {
			if err := st.Close(); err != nil && first == nil {
				first = err
			}
		}
	}
	c.stmts = nil
	if err := c.c.Close(); err != nil && first == nil {
		first = err
	}
	return first
}

// script runs statements without preparing them for later.
func (c *conn) script(ctx context.Context, text string) error {
	run, ok := c.c.(driver.ExecerContext)
	if !ok {
		return errors.New("the driver cannot run scripts")
	}
	_, err := run.ExecContext(ctx, text, nil)
	return err
}

// take gives a prepared statement that nobody else uses.
func (c *conn) take(text string) (driver.Stmt, error) {
	if free := c.stmts[text]; len(free) > 0 {
		st := free[len(free)-1]
		c.stmts[text] = free[:len(free)-1]
		return st, nil
	}
	return c.c.Prepare(text)
}

func (c *conn) give(text string, st driver.Stmt) { c.stmts[text] = append(c.stmts[text], st) }

func named(args []driver.Value) []driver.NamedValue {
	out := make([]driver.NamedValue, len(args))
	for i, v := range args {
		out[i] = driver.NamedValue{Ordinal: i + 1, Value: v}
	}
	return out
}

// exec runs one statement that answers nothing.
func (c *conn) exec(text string, args ...driver.Value) error {
	_, err := c.change(text, args...)
	return err
}

// change runs one statement and tells what it did.
func (c *conn) change(text string, args ...driver.Value) (driver.Result, error) {
	st, err := c.take(text)
	if err != nil {
		return nil, err
	}
	defer c.give(text, st)
	run, ok := st.(driver.StmtExecContext)
	if !ok {
		return nil, errors.New("the driver cannot run statements")
	}
	return run.ExecContext(context.Background(), named(args))
}

// rows is a statement's answer. The values of a row are valid until the next.
type rows struct {
	c    *conn
	text string
	st   driver.Stmt
	r    driver.Rows
	val  []driver.Value
}

// query runs one statement. The answer must be closed.
func (c *conn) query(ctx context.Context, text string, args ...driver.Value) (*rows, error) {
	st, err := c.take(text)
	if err != nil {
		return nil, err
	}
	run, ok := st.(driver.StmtQueryContext)
	if !ok {
		return nil, errors.New("the driver cannot query")
	}
	r, err := run.QueryContext(ctx, named(args))
	if err != nil {
		c.give(text, st)
		return nil, err
	}
	return &rows{c: c, text: text, st: st, r: r, val: make([]driver.Value, len(r.Columns()))}, nil
}

// next reads a row, and says whether there was one.
func (r *rows) next() (bool, error) {
	err := r.r.Next(r.val)
	if errors.Is(err, io.EOF) {
		return false, nil
	}
	return err == nil, err
}

func (r *rows) close() {
	_ = r.r.Close() // repeats the error that next gave
	r.c.give(r.text, r.st)
}

// row runs a statement and gives its first row, or nil where there is none.
func (c *conn) row(text string, args ...driver.Value) ([]driver.Value, error) {
	r, err := c.query(context.Background(), text, args...)
	if err != nil {
		return nil, err
	}
	defer r.close()
	ok, err := r.next()
	if !ok || err != nil {
		return nil, err
	}
	return r.val, nil
}

// number reads a column that must be a whole number.
func number(v driver.Value) (int64, error) {
	n, ok := v.(int64)
	if !ok {
		return 0, fmt.Errorf("a number was expected, not %T", v)
	}
	return n, nil
}

// text reads a column that holds text, in whichever way it was stored.
func text(v driver.Value) string {
	switch v := v.(type) {
	case string:
		return v
	case []byte:
		return string(v)
	case int64, float64:
		return fmt.Sprint(v)
	}
	return ""
}

// data reads a column that holds bytes.
func data(v driver.Value) []byte {
	switch v := v.(type) {
	case []byte:
		return v
	case string:
		return []byte(v)
	}
	return nil
}
