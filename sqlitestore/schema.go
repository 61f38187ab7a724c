package sqlitestore

import (
	"context"
	"fmt"

	"cadre"
	"cadre/internal/sqlite"
)

// migrations bring a database from one version to the next; the version is how
// many of them were run. One that was released is never changed again.
//
// An event's id is its scope's number and its own, so that the log of a scope is
// one stretch of the table and needs no further index. The log cannot be changed
// or removed through an UPDATE or a DELETE. A REPLACE fires no trigger on what it
// deletes; to refuse that too would cost every commit a fifth, and the audit finds
// it. Only a scope whose newest event says that it is gone can be emptied. The text
// is short because every process reads it before its first statement.
//
// The tables are strict, because a name that is stored as bytes equals none that
// is asked for, and what it names would be there and not be found.
func migrations() []string {
	return []string{
		`
CREATE TABLE scope(id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, place TEXT NOT NULL,
  epoch TEXT NOT NULL, seq INTEGER NOT NULL, hash TEXT NOT NULL, fence INTEGER NOT NULL, next INTEGER NOT NULL) STRICT;
CREATE TABLE event(id INTEGER PRIMARY KEY, scope INTEGER NOT NULL, kind TEXT NOT NULL, object TEXT NOT NULL,
  command TEXT NOT NULL, hash TEXT NOT NULL, line BLOB NOT NULL, CHECK(id>>40=scope)) STRICT;
CREATE INDEX event_object ON event(scope,kind,object);
CREATE INDEX event_command ON event(scope,command) WHERE command NOT GLOB '~*';
CREATE TABLE object(id INTEGER PRIMARY KEY, scope INTEGER NOT NULL, kind TEXT NOT NULL, name TEXT NOT NULL,
  data BLOB NOT NULL, UNIQUE(scope,kind,name)) STRICT;
CREATE TABLE entry(scope INTEGER, list TEXT, key BLOB, object INTEGER NOT NULL, PRIMARY KEY(scope,list,key)) WITHOUT ROWID,STRICT;
CREATE TRIGGER event_kept BEFORE UPDATE ON event BEGIN SELECT RAISE(ABORT,'the log cannot be changed'); END;
CREATE TRIGGER event_stays BEFORE DELETE ON event
  WHEN (SELECT CASE kind WHEN 'log' THEN json_extract(CAST(line AS TEXT),'$.after.where') END FROM event
    WHERE id<(OLD.id>>40)+1<<40 ORDER BY id DESC LIMIT 1) IS NOT 'gone'
  BEGIN SELECT RAISE(ABORT,'the log cannot be shortened'); END;
`,
		// Leases were the tasks' own. Those that ran while the program was replaced end with it.
		"DELETE FROM entry WHERE list='leased';",
		// What stands in a task must be what this program makes of its newest event.
		`UPDATE object SET data=CAST(json_remove(CAST(data AS TEXT),'$.lease') AS BLOB)
  WHERE kind='task' AND json_type(CAST(data AS TEXT),'$.lease') IS NOT NULL;`,
	}
}

// version reads how many migrations a database has seen.
func version(c *sqlite.Conn) (int, error) {
	v, err := c.Row("PRAGMA user_version")
	if err != nil {
		return 0, err
	}
	n, err := number(v[0])
	return int(n), err
}

// migrate brings a database to this program's version. A database of a newer
// program is refused: writing to it could break what that program relies on.
func (s *Store) migrate(ctx context.Context, c *sqlite.Conn, mode byte) error {
	have, err := version(c)
	if err != nil {
		return s.fault(err, "reading the database's version")
	}
	if have == len(s.migrations) && mode == withLog {
		return nil // a copy that Backup made is not
	}
	if err := s.notNewer(have); err != nil {
		return err
	}
	err = s.exclusively(ctx, func(ctx context.Context) error { return s.upgrade(ctx, c) })
	if err != nil {
		_ = c.Script(context.Background(), "ROLLBACK") // fails where nothing was begun
	}
	return s.fault(err, "preparing the database")
}

// notNewer refuses a database that a newer program has brought to its own version.
func (s *Store) notNewer(have int) error {
	if have <= len(s.migrations) {
		return nil
	}
	return cadre.Fault(nil, "cadre version", "the database in %s has version %d and this program knows %d: a newer cadre wrote it", s.dir, have, len(s.migrations))
}

func (s *Store) upgrade(ctx context.Context, c *sqlite.Conn) error {
	if err := c.Script(ctx, "PRAGMA journal_mode=WAL; BEGIN IMMEDIATE"); err != nil {
		return err
	}
	have, err := version(c)
	if err != nil {
		return err
	}
	for _, step := range s.migrations[min(have, len(s.migrations)):] {
		if err := c.Script(ctx, step); err != nil {
			return err
		}
	}
	return c.Script(ctx, fmt.Sprintf("PRAGMA user_version=%d; COMMIT", max(have, len(s.migrations))))
}

// readSchema gives the text of every table, index and trigger, by kind and name.
func readSchema(c *sqlite.Conn) (map[string]string, error) {
	r, err := c.Query(context.Background(), "SELECT type||' '||name, sql FROM sqlite_master")
	if err != nil {
		return nil, err
	}
	defer r.Close()
	out := map[string]string{}
	for {
		ok, err := r.Next()
		if !ok || err != nil {
			return out, err
		}
		out[text(r.Val[0])] = text(r.Val[1])
	}
}

// newSchema is the schema that migrations make.
func newSchema(ctx context.Context, migrations []string) (map[string]string, error) {
	c, err := sqlite.Open("", "mode=memory")
	if err != nil {
		return nil, err
	}
	defer func() { _ = c.Close() }() // nothing is kept
	for _, step := range migrations {
		if err := c.Script(ctx, step); err != nil {
			return nil, err
		}
	}
	return readSchema(c)
}
