package cadre

import "time"

// Binding says which scopes a caller works on, the newest last. It stands in
// the Host scope and can be made again from the teams themselves.
type Binding struct {
	Caller string    `json:"caller"` // "session UUID" or "folder /path"
	Scopes []Scope   `json:"scopes"`
	At     time.Time `json:"at"`
}

// BindSession and BindFolder name a binding's caller.
func BindSession(id string) string { return "session " + id }
func BindFolder(dir string) string { return "folder " + dir }

func (b *Binding) Ref() Ref                  { return Ref{KindBinding, b.Caller} }
func (b *Binding) order() string             { return b.Caller }
func (b *Binding) index(func(Index, string)) {}

// Token is what a member or the operator proves itself with. Only its hash is kept.
type Token struct {
	Hash      string     `json:"hash"`
	Role      Role       `json:"role"`
	Scope     Scope      `json:"scope,omitempty"`
	Member    string     `json:"member,omitempty"`
	CreatedAt time.Time  `json:"createdAt"`
	RevokedAt *time.Time `json:"revokedAt,omitempty"`
}

func (t *Token) Ref() Ref      { return Ref{KindToken, t.Hash} }
func (t *Token) order() string { return t.Hash }

func (t *Token) index(add func(Index, string)) {
	if t.Scope != "" && t.RevokedAt == nil {
		add(IndexToken, joinKey(string(t.Scope), t.Member, t.Hash))
	}
}
