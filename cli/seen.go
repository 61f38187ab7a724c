package cli

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"os"
	"path/filepath"

	"cadre"
	"cadre/coord"
)

// seenFile is where it is noted how far the person has seen a list. It is a
// cache: whatever goes wrong with it, the whole log is just new again.
func (p *program) seenFile(s *coord.Session) (string, error) {
	cache, err := p.cacheDir()
	if err != nil {
		return "", err
	}
	state, err := p.stateDir()
	if err != nil {
		return "", err
	}
	h := fnv.New64a()
	h.Write([]byte(state)) // never fails
	return filepath.Join(cache, "seen", fmt.Sprintf("%016x-%s.json", h.Sum64(), s.Scope)), nil
}

// seen is where the person last looked.
func (p *program) seen(s *coord.Session) (head cadre.Head) {
	if path, err := p.seenFile(s); err == nil {
		if data, err := os.ReadFile(path); err == nil && json.Unmarshal(data, &head) != nil {
			return cadre.Head{}
		}
	}
	return head
}

// markSeen notes that the person looked now. Agents look through other eyes.
func (p *program) markSeen(s *coord.Session, head cadre.Head) {
	path, err := p.seenFile(s)
	if err != nil || s.Actor.Kind != cadre.ActorOperator {
		return
	}
	data, err := json.Marshal(head)
	if err != nil || os.MkdirAll(filepath.Dir(path), 0o700) != nil {
		return
	}
	f, err := os.CreateTemp(filepath.Dir(path), "seen-*")
	if err != nil {
		return
	}
	_, err = f.Write(data)
	if f.Close() != nil || err != nil || os.Rename(f.Name(), path) != nil {
		os.Remove(f.Name())
	}
}
