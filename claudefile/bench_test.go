package claudefile_test

import (
	"encoding/json"
	"os"
	"testing"

	"cadre/claudefile"
)

// BenchmarkReadTask stands beside what encoding/json takes for the same file.
func BenchmarkReadTask(b *testing.B) {
	data, err := os.ReadFile("testdata/created/new-3-1.json")
	if err != nil {
		b.Fatal(err)
	}
	b.Run("claudefile", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := claudefile.ReadTask(data); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("encoding/json", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			var task struct {
				ID, Subject, Description, ActiveForm, Owner, Status string
				Blocks, BlockedBy                                   []string
				Metadata                                            map[string]json.RawMessage
			}
			if err := json.Unmarshal(data, &task); err != nil {
				b.Fatal(err)
			}
		}
	})
}
