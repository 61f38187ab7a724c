package sqlitestore_test

import (
	"testing"

	"cadre"
	"cadre/sqlitestore"
	"cadre/storetest"
)

func open(t testing.TB, dir string) *sqlitestore.Store {
	t.Helper()
	s, err := sqlitestore.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func TestStore(t *testing.T) {
	storetest.Run(t, func(t *testing.T) cadre.Store { return open(t, t.TempDir()) })
}
