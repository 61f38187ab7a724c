package sqlite

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"modernc.org/libc"

	lib "modernc.org/sqlite/lib"
)

func open(t *testing.T) *Conn {
	t.Helper()
	c, err := Open(filepath.Join(t.TempDir(), "a #?% b.db"), "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

func TestValuesComeBackAsTheyWent(t *testing.T) {
	c := open(t)
	if err := c.Script(t.Context(), "CREATE TABLE t(id INTEGER PRIMARY KEY, v); CREATE TABLE other(v)"); err != nil {
		t.Fatal(err)
	}
	long := strings.Repeat("long ", 10_000)
	for i, v := range []any{int64(-5), int64(1) << 60, "", "text\x00with zero", long, []byte{}, []byte{0, 255}, []byte(long)} {
		if err := c.Exec("INSERT INTO t(v) VALUES(?)", v); err != nil {
			t.Fatal(err)
		}
		if n := c.Inserted(); n != int64(i+1) {
			t.Fatalf("row %d has number %d", i+1, n)
		}
		got, err := c.Row("SELECT v,typeof(v),NULL,0.5 FROM t WHERE id=?", c.Inserted())
		if err != nil {
			t.Fatal(err)
		}
		kind := map[reflect.Kind]string{reflect.Int64: "integer", reflect.String: "text", reflect.Slice: "blob"}[reflect.TypeOf(v).Kind()]
		var same bool
		if b, ok := v.([]byte); ok {
			have, _ := got[0].([]byte)
			same = bytes.Equal(have, b)
		} else {
			same = got[0] == v
		}
		if !same || got[1] != kind || got[2] != nil || got[3] != 0.5 {
			t.Fatalf("%.20q came back as %.80q", v, got)
		}
	}
}

// The same statement runs inside its own answer, each with its own parameters.
func TestStatementInsideItself(t *testing.T) {
	c := open(t)
	const numbers = "WITH n(i) AS (SELECT ? UNION ALL SELECT i+1 FROM n WHERE i<?) SELECT i,? FROM n"
	var got []any
	for range 2 {
		outer, err := c.Query(t.Context(), numbers, int64(1), int64(2), "outer")
		if err != nil {
			t.Fatal(err)
		}
		for {
			ok, err := outer.Next()
			if err != nil {
				t.Fatal(err)
			}
			if !ok {
				break
			}
			inner, err := c.Row(numbers, int64(7), int64(7), "inner")
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, outer.Val[0], outer.Val[1], inner[0], inner[1])
		}
		outer.Close()
	}
	round := []any{int64(1), "outer", int64(7), "inner", int64(2), "outer", int64(7), "inner"}
	if want := append(round, round...); !reflect.DeepEqual(got, want) {
		t.Fatalf("got %v", got)
	}
	if n := len(c.stmts[numbers]); n != 2 {
		t.Fatalf("%d statements were kept", n)
	}
}

func TestErrors(t *testing.T) {
	c := open(t)
	if err := c.Script(t.Context(), "CREATE TABLE t(v TEXT UNIQUE); INSERT INTO t VALUES('a')"); err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		err  error
		code int
	}{
		"constraint": {c.Exec("INSERT INTO t VALUES(?)", "a"), lib.SQLITE_CONSTRAINT},
		"syntax":     {c.Exec("INSERT INTO"), lib.SQLITE_ERROR},
		"script":     {c.Script(t.Context(), "SELECT 1; nonsense"), lib.SQLITE_ERROR},
	} {
		e, ok := errors.AsType[*Error](tt.err)
		if !ok || e.Code != tt.code || e.Text == "" {
			t.Errorf("%s: %v", name, tt.err)
		}
	}
	if err := c.Exec("INSERT INTO t VALUES(?)"); err == nil {
		t.Error("a parameter was left out, and nobody said so")
	}
	if err := c.Exec("INSERT INTO t VALUES(?)", 1.5); err == nil {
		t.Error("a fraction was bound")
	}
	if err := c.Exec("INSERT INTO t VALUES(?)", "b"); err != nil {
		t.Errorf("after an error: %v", err)
	}
	if _, err := Open(filepath.Join(t.TempDir(), "no", "such", "folder"), ""); err == nil {
		t.Error("a database without a folder was opened")
	}
}

func TestContextEndsAStatement(t *testing.T) {
	c := open(t)
	const endless = "WITH n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n) SELECT count(*) FROM n"
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	r, err := c.Query(ctx, endless)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Next(); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Next() error = %v", err)
	}
	r.Close()
	if err := c.Script(ctx, endless); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Script() error = %v", err)
	}
	if v, err := c.Row("SELECT 1"); err != nil || v[0] != int64(1) {
		t.Errorf("the next statement answers %v, %v", v, err)
	}
}

// TestPiecesOfMemory takes and gives back pieces of every size: none may lie in
// another, all keep what is in them, and what was freed is used again.
func TestPiecesOfMemory(t *testing.T) {
	tls := libc.NewTLS()
	defer tls.Close()
	random := rand.New(rand.NewPCG(1, 2))
	type piece struct {
		p    uintptr
		n    int32
		mark byte
	}
	var held []piece
	check := func(x piece) {
		t.Helper()
		if got := sizeOf(tls, x.p); got < x.n {
			t.Fatalf("a piece for %d bytes has %d", x.n, got)
		}
		if want := bytes.Repeat([]byte{x.mark}, int(x.n)); !bytes.Equal(span(x.p, int(x.n)), want) {
			t.Fatalf("the %d bytes at %x were overwritten", x.n, x.p)
		}
	}
	fill := func(x piece, from int32) {
		copy(span(x.p, int(x.n))[from:], bytes.Repeat([]byte{x.mark}, int(x.n-from)))
	}
	for step := range 10_000 {
		n := int32(1) << random.IntN(18)
		n += random.Int32N(n)
		switch i := random.IntN(max(1, len(held))); {
		case len(held) < 100 || random.IntN(3) == 0 && len(held) < 300:
			x := piece{allocate(tls, n), n, byte(step)}
			if x.p%8 != 0 || x.p == 0 {
				t.Fatalf("%d bytes at %x", n, x.p)
			}
			fill(x, 0)
			held = append(held, x)
		case random.IntN(2) == 0:
			check(held[i])
			x := &held[i]
			old := x.n
			x.p, x.n = resize(tls, x.p, n), max(n, 1)
			fill(*x, min(old, x.n))
		default:
			check(held[i])
			release(tls, held[i].p)
			held[i] = held[len(held)-1]
			held = held[:len(held)-1]
		}
	}
	for _, x := range held {
		check(x)
		release(tls, x.p)
	}
	p := allocate(tls, 100)
	release(tls, p)
	if again := allocate(tls, 100); again != p {
		t.Errorf("what was freed at %x is not used again: %x", p, again)
	}
	release(tls, p)
}
