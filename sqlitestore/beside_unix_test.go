//go:build unix

package sqlitestore_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"cadre"
	"cadre/sqlitestore"
)

// takeOut removes the only store's record of the list, and says where it stood.
func takeOut(beside string) (string, error) {
	records, err := filepath.Glob(filepath.Join(beside, "*", string(list)))
	if err != nil || len(records) != 1 {
		return "", errors.Join(err, errors.New("there is no record"))
	}
	return records[0], os.Remove(records[0])
}

// Whatever stands in the place of the records stops no command and leads nowhere.
func TestHostileBeside(t *testing.T) {
	for name, plant := range map[string]func(beside, outside string) error{
		"a link to elsewhere": func(beside, outside string) error { return os.Symlink(outside, beside) },
		"a file":              func(beside, _ string) error { return os.WriteFile(beside, []byte("mine"), 0o600) },
		"a record that waits for a reader": func(beside, _ string) error {
			record, err := takeOut(beside)
			return errors.Join(err, syscall.Mkfifo(record, 0o600))
		},
		"a record that is a link": func(beside, outside string) error {
			victim := filepath.Join(outside, "victim")
			if err := os.WriteFile(victim, []byte("mine"), 0o600); err != nil {
				return err
			}
			record, err := takeOut(beside)
			return errors.Join(err, os.Symlink(victim, record))
		},
	} {
		t.Run(name, func(t *testing.T) {
			beside, outside := filepath.Join(t.TempDir(), "heads"), t.TempDir()
			s, err := sqlitestore.Open(t.TempDir(), sqlitestore.Beside(beside))
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			if strings.HasPrefix(name, "a record") {
				do(t, s, list, &cadre.TaskAdd{Subject: "before"})
			}
			if err := plant(beside, outside); err != nil {
				t.Fatal(err)
			}
			do(t, s, list, &cadre.TaskAdd{Subject: "all the same"})
			if report := audit(t, s); len(report.Findings) == 0 {
				t.Error("the audit says nothing about it")
			}
			if _, err := s.Move(t.Context(), list, command("move"), cadre.Dest{Where: cadre.Gone}); err != nil {
				t.Errorf("the list cannot be erased: %v", err)
			}
			files, err := os.ReadDir(outside)
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range files {
				if b, err := os.ReadFile(filepath.Join(outside, f.Name())); err != nil || string(b) != "mine" {
					t.Errorf("%s outside holds %q, %v", f.Name(), b, err)
				}
			}
		})
	}
}
