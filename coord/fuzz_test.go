package coord_test

import (
	"testing"

	"cadre/coord"
)

// FuzzHooks: a settings.json that others wrote gives hooks or an error.
func FuzzHooks(f *testing.F) {
	for _, s := range []string{
		`{"hooks":{"TaskCompleted":[{"hooks":[{"type":"command","command":"true","timeout":5}]}]}}`,
		`{"hooks":{"TaskCreated":[{"hooks":null}],"Other":7}}`, `{"hooks":[]}`, `{}`, `null`, `{"hooks":{"TeammateIdle":{"hooks":1}}}`,
		`{"hooks":{"TaskCreated":[{"hooks":[{"command":"x","timeout":1e308}]}]}}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		hooks, err := coord.ParseHooks(data, "settings.json", nil)
		if err != nil {
			return
		}
		for event, commands := range hooks.Commands {
			for _, c := range commands {
				if c.Command == "" || c.Timeout <= 0 {
					t.Errorf("%s: %+v", event, c)
				}
			}
		}
	})
}
