package cadre

import (
	"iter"
	"time"
)

// Token is what a member, a reader or the operator proves itself with. Only its
// hash is kept.
type Token struct {
	ID        string     `json:"id"` // what people call it
	Hash      string     `json:"hash"`
	Role      Role       `json:"role"`
	Scope     Scope      `json:"scope,omitempty"` // the only list that it is for; empty for all
	Member    string     `json:"member,omitempty"`
	Joined    uint64     `json:"joined,omitempty"` // the member's own number
	Note      string     `json:"note,omitempty"`
	CreatedAt time.Time  `json:"createdAt"`
	ExpiresAt *time.Time `json:"expiresAt,omitempty"`
	RevokedAt *time.Time `json:"revokedAt,omitempty"`
}

func (t *Token) Ref() Ref                  { return Ref{KindToken, t.Hash} }
func (t *Token) order() string             { return t.Hash }
func (t *Token) index(func(Index, string)) {}

// TokenState is whether a token is worth anything.
type TokenState string

const (
	TokenValid   TokenState = "valid"
	TokenExpired TokenState = "expired"
	TokenRevoked TokenState = "revoked"
)

// State says whether the token is worth anything now.
func (t *Token) State(now time.Time) TokenState {
	switch {
	case t.RevokedAt != nil:
		return TokenRevoked
	case t.ExpiresAt != nil && !now.Before(*t.ExpiresAt):
		return TokenExpired
	}
	return TokenValid
}

// revoked is the token, worth nothing any more.
func (t *Token) revoked(now time.Time) *Token {
	next := *t
	next.RevokedAt = &now
	return &next
}

// Tokens gives every token that was issued; only in the Host scope.
func (s Snap) Tokens() iter.Seq2[*Token, error] {
	return scan[*Token](s, Index(KindToken), "", "")
}

// TokenIssue records a token that was given out; only in the Host scope.
type TokenIssue struct {
	Token Token
	Lasts time.Duration // 0 until it is revoked
	Joins bool          // it is for the caller itself, who just joined
	First bool          // nothing was there before: a first operator needs no terminal
}

// Decide records it. Only the operator issues tokens, as a person who is provably
// there; no agent makes itself or another a way in.
func (v *TokenIssue) Decide(s Snap, c Command) ([]Event, error) {
	d := newDraft(s, c)
	if err := checkText("note", v.Token.Note, MaxSubject); err != nil {
		return nil, err
	}
	if !v.Joins {
		if err := MayManageTokens(c.Actor, "token create"); err != nil {
			return nil, err
		}
		if n, err := d.Count(Index(KindToken), ""); err != nil {
			return nil, err
		} else if first := v.First && n == 0 && v.Token.Role == RoleOperator; !first && !c.Actor.Person() {
			return nil, refuse(RulePerson, "issuing a token as the operator needs a person: a terminal, or an operator token").
				hint("at a terminal: cadre token create --role %s", v.Token.Role)
		}
	}
	t := v.Token
	t.ID = "t" + decimal(d.number())
	t.CreatedAt = d.now()
	if v.Lasts > 0 {
		ends := d.now().Add(v.Lasts)
		t.ExpiresAt = &ends
	}
	d.put(nil, &t)
	return d.finish()
}

// MayManageTokens refuses all but the operator under its own name.
func MayManageTokens(a Actor, what string) error {
	if a.Kind != ActorOperator {
		return refuse(RuleOperator, "only the operator may see, issue and revoke tokens; this is %s", a).
			hint(`cadre msg send %s "please run: cadre %s"`, LeadName, what)
	}
	return nil
}

// Answer gives the token as it is kept.
func (v *TokenIssue) Answer(s Snap, _ Command, _ Receipt) (any, error) {
	return get[Token](s, v.Token.Ref())
}

// TokensFollow has the tokens of a scope that got another name follow it: a later one of
// the old name is another. Only in the Host scope; no door offers it.
type TokensFollow struct{ From, To Scope }

// Decide renames what they are for.
func (v *TokensFollow) Decide(s Snap, c Command) ([]Event, error) {
	d := newDraft(s, c)
	tokens, err := collect(d.Tokens())
	if err != nil {
		return nil, err
	}
	for _, t := range tokens {
		if t.Scope == v.From {
			next := *t
			next.Scope = v.To
			d.put(t, &next)
		}
	}
	return d.finish()
}

// Answer says nothing more than that it is done.
func (v *TokensFollow) Answer(Snap, Command, Receipt) (any, error) { return nil, nil }

// TokenRevoke makes a token worthless at once; only in the Host scope.
type TokenRevoke struct {
	ID string `json:"id" arg:"ID" help:"the token, as token list calls it"`
}

// Decide revokes it; again is no change.
func (v *TokenRevoke) Decide(s Snap, c Command) ([]Event, error) {
	d := newDraft(s, c)
	if err := MayManageTokens(c.Actor, "token revoke "+clip(v.ID, 40)); err != nil {
		return nil, err
	}
	t, err := d.token(v.ID)
	if err != nil || t.RevokedAt != nil {
		return nil, err
	}
	d.put(t, t.revoked(d.now()))
	return d.finish()
}

// Answer gives the token as it is kept.
func (v *TokenRevoke) Answer(s Snap, _ Command, _ Receipt) (any, error) { return s.token(v.ID) }

// token finds a token by what people call it.
func (s Snap) token(id string) (*Token, error) {
	for t, err := range s.Tokens() {
		if err != nil || t.ID == id {
			return t, err
		}
	}
	return nil, refuse(RuleMissing, "there is no token %s", clip(id, 40)).hint("cadre token list --all")
}
