package sqlitestore

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"cadre"
	"cadre/internal/sqlite"
)

// maxFindings keeps a report about a wrecked database readable.
const maxFindings = 200

// audit is one audit under way.
type audit struct {
	ctx     context.Context
	s       *Store
	c       *sqlite.Conn
	report  *cadre.AuditReport
	anchors []cadre.Anchor
}

// Audit holds the whole database against itself, against the head records beside
// it, and against anchors kept elsewhere. It has a read-only connection of its
// own. Damage of any kind is a finding, never an error.
//
// The head records are read before the database, so that a commit in between
// does no harm. One that erased or renamed a scope would: where something was
// found and a record has changed meanwhile, all is looked at once more.
func (s *Store) Audit(ctx context.Context, anchors []cadre.Anchor) (*cadre.AuditReport, error) {
	report, before, err := s.auditOnce(ctx, anchors)
	if err != nil || len(report.Findings) == 0 {
		return report, err
	}
	if after, err := s.anchors(); err == nil && !slices.Equal(before, after) {
		report, _, err = s.auditOnce(ctx, anchors)
		return report, err
	}
	return report, nil
}

// anchors gives the head records beside the database and elsewhere.
func (s *Store) anchors() ([]cadre.Anchor, error) {
	own, err := s.heads.anchors()
	more, also := s.beside.anchors()
	return append(own, more...), errors.Join(err, also)
}

func (s *Store) auditOnce(ctx context.Context, anchors []cadre.Anchor) (*cadre.AuditReport, []cadre.Anchor, error) {
	if err := ctx.Err(); err != nil {
		return nil, nil, err
	}
	a := &audit{ctx: ctx, s: s, report: &cadre.AuditReport{}}
	records, err := s.anchors()
	if err != nil {
		a.find("", "head records", "cannot be read: %v", err)
	}
	a.anchors = slices.Concat(anchors, records)
	a.report.Anchors = len(a.anchors)
	c, err := sqlite.Open(filepath.Join(s.dir, dbName), "mode=ro")
	if err != nil {
		a.find("", "database", "cannot be opened: %v", err)
		return a.report, records, nil
	}
	a.c = c
	a.all()
	if err := c.Close(); err != nil {
		a.find("", "database", "cannot be closed: %v", err)
	}
	return a.report, records, ctx.Err()
}

func (a *audit) find(s cadre.Scope, place, format string, args ...any) {
	a.add(cadre.Finding{Scope: s, Place: place, What: fmt.Sprintf(format, args...)})
}

// add reports findings, up to as many as can be read.
func (a *audit) add(found ...cadre.Finding) {
	room := maxFindings - len(a.report.Findings)
	a.report.Findings = append(a.report.Findings, found[:min(room, len(found))]...)
}

// all looks at the file, then at every scope, in one read transaction.
func (a *audit) all() {
	if err := a.c.Script(a.ctx, "PRAGMA query_only=1; BEGIN"); err != nil {
		a.find("", "database", "cannot be read: %v", err)
		return
	}
	have, err := version(a.c)
	switch {
	case err != nil:
		a.find("", "database", "cannot be read: %v", err)
		return
	case have == 0:
		a.strays(nil)
		return // never written to
	case have > len(a.s.migrations):
		a.find("", "database", "has version %d, and this program knows %d: verify it with the newer one", have, len(a.s.migrations))
		return
	case have < len(a.s.migrations):
		a.find("", "database", "has version %d of an older program: the next command brings it to %d; then verify again", have, len(a.s.migrations))
		return
	}
	a.pages()
	a.schema()
	known, list, err := a.rows()
	if err != nil {
		a.find("", "database", "the list of scopes cannot be read: %v", err)
	}
	for _, sc := range list {
		a.scope(sc)
	}
	if err == nil {
		a.strays(known)
	}
}

// rows reads every scope's row. One that cannot be read is a finding and does
// not hide the others.
func (a *audit) rows() (known map[cadre.Scope]bool, list []*scope, err error) {
	known = map[cadre.Scope]bool{}
	err = scopes(a.c, func(row []any) error {
		name := cadre.Scope(text(row[0]))
		known[name] = true
		a.report.Scopes++
		a.types(name, "scope "+string(name), row, "name TEXT", "id INTEGER", "place TEXT", "epoch TEXT", "seq INTEGER", "hash TEXT", "fence INTEGER", "next INTEGER")
		sc, err := scanScope(name, row[1:])
		if err != nil {
			a.find(name, "scope "+string(name), "cannot be read: %v", err)
			return nil
		}
		list = append(list, sc)
		return nil
	})
	return known, list, err
}

// types finds columns that do not hold what they are declared to hold, each
// declared as its name and type. Such a value may read the same here and still
// equal nothing that a query asks for.
func (a *audit) types(s cadre.Scope, place string, row []any, columns ...string) {
	for i, column := range columns {
		name, want, _ := strings.Cut(column, " ")
		if have := typeOf(row[i]); have != want {
			a.find(s, place, "has a %s that is stored as %s instead of %s: queries do not find it", name, have, want)
		}
	}
}

// typeOf is what SQLite calls the type of a value.
func typeOf(v any) string {
	switch v.(type) {
	case nil:
		return "NULL"
	case int64:
		return "INTEGER"
	case float64:
		return "REAL"
	case string:
		return "TEXT"
	case []byte:
		return "BLOB"
	}
	return fmt.Sprintf("%T", v)
}

// pages has SQLite check its own file.
func (a *audit) pages() {
	r, err := a.c.Query(a.ctx, "PRAGMA integrity_check(20)")
	if err != nil {
		a.find("", "database", "cannot be checked: %v", err)
		return
	}
	defer r.Close()
	for {
		ok, err := r.Next()
		if err != nil {
			a.find("", "database", "cannot be checked: %v", err)
		}
		if !ok {
			return
		}
		if what := text(r.Val[0]); what != "ok" {
			a.find("", "database", "%s", what)
		}
	}
}

// schema holds the tables, indexes and triggers against those of a new database.
func (a *audit) schema() {
	want, err := newSchema(a.ctx, a.s.migrations)
	if err != nil {
		a.find("", "schema", "cannot be made for comparison: %v", err)
		return
	}
	have, err := readSchema(a.c)
	if err != nil {
		a.find("", "schema", "cannot be read: %v", err)
		return
	}
	for name, text := range want {
		switch got, ok := have[name]; {
		case !ok:
			a.find("", name, "is missing")
		case got != text:
			a.find("", name, "was changed")
		}
	}
	for name := range have {
		if _, ok := want[name]; !ok {
			a.find("", name, "does not belong here")
		}
	}
}

// strays finds anchors of scopes that are not there, and rows of no scope. An
// empty database knows no scopes and has no tables.
func (a *audit) strays(known map[cadre.Scope]bool) {
	for _, anchor := range a.anchors {
		if !known[anchor.Scope] && anchor.Head.Seq > 0 {
			a.find(anchor.Scope, "event 1", "to %d are missing with the whole list: the anchor in %s saw them", anchor.Head.Seq, anchor.From)
		}
	}
	if known == nil {
		return
	}
	for table, query := range map[string]string{
		"event":  "SELECT id>>40, count(*) FROM event WHERE id>>40 NOT IN (SELECT id FROM scope) GROUP BY 1",
		"object": "SELECT scope, count(*) FROM object WHERE scope NOT IN (SELECT id FROM scope) GROUP BY 1",
		"entry":  "SELECT scope, count(*) FROM entry WHERE scope NOT IN (SELECT id FROM scope) GROUP BY 1",
	} {
		v, err := a.c.Row(query)
		if err != nil {
			a.find("", "table "+table, "cannot be read: %v", err)
		} else if v != nil {
			a.find("", "table "+table, "holds %s rows of list number %s, which does not exist", text(v[1]), text(v[0]))
		}
	}
}
