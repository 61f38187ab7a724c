package transcript

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"hash/fnv"
	"maps"
	"slices"
	"strconv"
	"time"
)

// Tokens is what was spent.
type Tokens struct {
	Input      int64 `json:"input"`
	Output     int64 `json:"output"`
	CacheWrite int64 `json:"cacheWrite"`
	CacheRead  int64 `json:"cacheRead"`
}

// Plus is the sum of two.
func (t Tokens) Plus(o Tokens) Tokens {
	return Tokens{t.Input + o.Input, t.Output + o.Output, t.CacheWrite + o.CacheWrite, t.CacheRead + o.CacheRead}
}

// counted is one message of the model. It stands on several lines, of which all
// but the last may hold an early count: the line with the largest output counts.
type counted struct {
	at     int64 // milliseconds, of its first line
	tokens Tokens
}

func (f *file) count(id []byte, at time.Time, usage []byte) {
	var t Tokens
	members(usage, func(name, value []byte) {
		switch string(name) {
		case "input_tokens":
			t.Input = number(value)
		case "output_tokens":
			t.Output = number(value)
		case "cache_creation_input_tokens":
			t.CacheWrite = number(value)
		case "cache_read_input_tokens":
			t.CacheRead = number(value)
		}
	})
	if f.counted == nil {
		f.counted = unpackCounted(f.spent)
	}
	h := fnv.New64a()
	h.Write(id)
	key, ms := h.Sum64(), at.UnixMilli()
	old, again := f.counted[key]
	if again {
		ms = min(ms, old.at)
		if old.tokens.Output > t.Output {
			t = old.tokens
		}
	}
	f.counted[key] = counted{ms, t}
}

// number is a count in a transcript; what cannot be one is none.
func number(value []byte) int64 {
	n, err := strconv.ParseInt(string(value), 10, 64)
	if err != nil || n < 0 || n > 1<<40 {
		return 0
	}
	return n
}

// packCounted writes the messages in an order that does not depend on chance.
func packCounted(all map[uint64]counted) []byte {
	var out []byte
	for _, key := range slices.Sorted(maps.Keys(all)) {
		c := all[key]
		out = binary.BigEndian.AppendUint64(out, key)
		out = binary.AppendVarint(out, c.at)
		for _, n := range []int64{c.tokens.Input, c.tokens.Output, c.tokens.CacheWrite, c.tokens.CacheRead} {
			out = binary.AppendVarint(out, n)
		}
	}
	return out
}

func unpackCounted(data []byte) map[uint64]counted {
	all := map[uint64]counted{}
	r := bytes.NewReader(data)
	for {
		var raw [8]byte
		if n, _ := r.Read(raw[:]); n < len(raw) {
			return all
		}
		var n [5]int64
		for i := range n {
			n[i], _ = binary.ReadVarint(r) // what packCounted wrote is whole
		}
		all[binary.BigEndian.Uint64(raw[:])] = counted{n[0], Tokens{n[1], n[2], n[3], n[4]}}
	}
}

// Agent is a session or a sub-agent, with what it spent.
type Agent struct {
	Session  string    `json:"session"`
	ID       string    `json:"id,omitempty"` // of a sub-agent
	Team     string    `json:"team,omitempty"`
	Member   string    `json:"member,omitempty"` // its name, where it is a teammate or a lead
	Teammate bool      `json:"teammate,omitempty"`
	CWD      string    `json:"cwd,omitempty"`
	Version  string    `json:"version,omitempty"`
	Model    string    `json:"model,omitempty"`
	First    time.Time `json:"first,omitzero"`
	Last     time.Time `json:"last,omitzero"`
	Own      Tokens    `json:"own"`
	All      Tokens    `json:"all"` // with those of its sub-agents
	Files    []string  `json:"files"`
}

// Agents lists sessions, each followed by its sub-agents, by when they began. The
// turns of one teammate that old clients wrote into files of their own are one.
// A message that a resumed session copied counts where it was written first.
func (x *Index) Agents() []*Agent {
	x.mu.Lock()
	defer x.mu.Unlock()
	v := x.view()
	for _, fam := range v.families {
		x.resolve(fam)
	}
	type twice struct {
		key uint64
		at  int64
	}
	seen := map[twice]bool{}
	rows := map[[3]string]*Agent{}
	var all []*Agent
	for _, f := range v.files { // oldest first
		id := v.families[f.Session].of[f]
		key := [3]string{f.Session, f.Agent, ""}
		if f.Agent != "" && id.name != "" && id.teammate {
			key = [3]string{f.Session, id.team, id.name}
		}
		a := rows[key]
		if a == nil {
			a = &Agent{Session: f.Session, ID: f.Agent, Team: id.team, Member: id.name, Teammate: id.teammate, CWD: f.CWD, First: f.First}
			rows[key], all = a, append(all, a)
		}
		a.Files = append(a.Files, f.Path)
		a.Version, a.Model = f.Version, f.Model
		if f.Last.After(a.Last) {
			a.Last = f.Last
		}
		for k, c := range unpackCounted(f.spent) {
			if t := (twice{k, c.at}); !seen[t] {
				seen[t] = true
				a.Own = a.Own.Plus(c.tokens)
			}
		}
	}
	sessions := map[string]*Agent{}
	for _, a := range all {
		a.All = a.Own
		if a.ID == "" {
			sessions[a.Session] = a
		}
	}
	for _, a := range all {
		if s := sessions[a.Session]; a.ID != "" && s != nil {
			s.All = s.All.Plus(a.Own)
		}
	}
	began := func(a *Agent) time.Time {
		if s := sessions[a.Session]; s != nil {
			return s.First
		}
		return a.First
	}
	slices.SortStableFunc(all, func(a, b *Agent) int {
		return cmp.Or(began(a).Compare(began(b)), cmp.Compare(a.Session, b.Session), cmp.Compare(min(len(a.ID), 1), min(len(b.ID), 1)), a.First.Compare(b.First))
	})
	return all
}
