package memstore_test

import (
	"testing"

	"cadre"
	"cadre/memstore"
	"cadre/storetest"
)

func TestStore(t *testing.T) {
	storetest.Run(t, func(t *testing.T) cadre.Store {
		s := memstore.New()
		t.Cleanup(func() {
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
		return s
	})
}

func BenchmarkStore(b *testing.B) {
	storetest.Benchmark(b, func(*testing.B) cadre.Store { return memstore.New() })
}
