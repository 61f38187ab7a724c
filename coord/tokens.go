package coord

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"cadre"
)

// TokenHash is what is kept of a token.
func TokenHash(token string) string {
	sum := sha256.Sum256([]byte("token of cadre\x00" + token))
	return hex.EncodeToString(sum[:])
}

// byToken is whom a token was issued for.
func (c *Coord) byToken(ctx context.Context, token string) (actor cadre.Actor, err error) {
	err = c.Store.View(ctx, cadre.Host, func(snap cadre.Snap) error {
		t, err := c.token(snap, TokenHash(token))
		if err != nil {
			return err
		}
		switch t.Role {
		case cadre.RoleOperator:
			actor = cadre.Actor{Kind: cadre.ActorOperator, Name: string(cadre.RoleOperator), Proof: cadre.ProofToken}
		case cadre.RoleReadOnly:
			actor = cadre.Actor{Kind: cadre.ActorReader, Name: "a read-only token", Scope: t.Scope, Role: t.Role, Proof: cadre.ProofToken}
		default:
			actor = cadre.Actor{Kind: cadre.ActorMember, Name: t.Member, Scope: t.Scope, Role: t.Role, Joined: t.Joined, Proof: cadre.ProofToken}
		}
		actor.Token = t.ID
		c.shown.Store(t.ID, t.Hash)
		return nil
	})
	return actor, err
}

// token is a token that is worth something.
func (c *Coord) token(snap cadre.Snap, hash string) (*cadre.Token, error) {
	o, err := snap.Get(cadre.Ref{Kind: cadre.KindToken, ID: hash})
	if err != nil {
		return nil, err
	}
	in, hint := "CADRE_TOKEN", "unset CADRE_TOKEN"
	if c.Bearers {
		in, hint = "the Authorization header", "send another: Authorization: Bearer TOKEN"
	}
	t, ok := o.(*cadre.Token)
	if !ok {
		return nil, cadre.Refuse(cadre.RuleRead, hint, "the token in %s is not valid here", in)
	}
	switch t.State(c.Now().Wall) {
	case cadre.TokenRevoked:
		return nil, cadre.Refuse(cadre.RuleRead, hint, "the token in %s (%s) was revoked on %s", in, t.ID, t.RevokedAt.Format(time.RFC3339))
	case cadre.TokenExpired:
		return nil, cadre.Refuse(cadre.RuleRead, hint, "the token in %s (%s) expired on %s", in, t.ID, t.ExpiresAt.Format(time.RFC3339))
	}
	return t, nil
}

// stillValid refuses a caller that came with a token and waited until it was worth
// nothing any more.
func (s *Session) stillValid(ctx context.Context) error {
	_, err := s.tokenLasts(ctx)
	return err
}

// tokenLasts is how long the caller's token is valid, at most an hour: then one looks
// again.
func (s *Session) tokenLasts(ctx context.Context) (lasts time.Duration, err error) {
	lasts = time.Hour
	if s.Actor.Token == "" {
		return lasts, nil
	}
	hash, _ := s.shown.Load(s.Actor.Token)
	err = s.Store.View(ctx, cadre.Host, func(snap cadre.Snap) error {
		t, err := s.token(snap, fmt.Sprint(hash))
		if err == nil && t.ExpiresAt != nil {
			lasts = min(lasts, max(0, t.ExpiresAt.Sub(s.Now().Wall))+time.Millisecond)
		}
		return err
	})
	return lasts, err
}

// Bearer is whom a token was issued for, for a door whose callers send theirs.
func (c *Coord) Bearer(ctx context.Context, token string) (cadre.Actor, error) {
	return c.byToken(ctx, token)
}

// WhileValid is a context that ends, with the reason as its cause, as soon as the
// token that the caller came with is worth nothing any more. Ending it waits until
// nothing looks at the store for it any more.
func (s *Session) WhileValid(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	var watch sync.WaitGroup
	if s.Actor.Token != "" {
		watch.Go(func() { s.watchToken(ctx, cancel) })
	}
	return ctx, func() {
		cancel(nil)
		watch.Wait()
	}
}

// watchToken follows what happens to tokens, and the clock.
func (s *Session) watchToken(ctx context.Context, cancel context.CancelCauseFunc) {
	for ctx.Err() == nil {
		var head cadre.Head
		err := s.Store.View(ctx, cadre.Host, func(snap cadre.Snap) error {
			head = snap.Head()
			return nil
		})
		var lasts time.Duration
		if err == nil {
			lasts, err = s.tokenLasts(ctx)
		}
		if err != nil {
			cancel(err)
			return
		}
		limited, stop := context.WithTimeout(ctx, lasts)
		for _, err := range s.Store.Events(limited, cadre.Host, head, true) {
			if _, ended := errors.AsType[*cadre.EpochError](err); err != nil && !ended && limited.Err() == nil {
				cancel(err)
			}
			break
		}
		stop()
	}
}

// TokenCreate issues a token for one role: the operator's, a team's lead's, a
// member's, or one that may only look.
type TokenCreate struct {
	Role       cadre.Role    `json:"role" values:"operator,lead,member,read-only" help:"operator, lead, member or read-only"`
	Name       string        `json:"name,omitempty" help:"the member it is for, where the role is member"`
	Everywhere bool          `json:"everywhere,omitempty" help:"read-only for every list, not for this one alone"`
	Expires    time.Duration `json:"expires,omitempty" help:"how long it is valid, as in 12h or 30d; until revoked without"`
	Note       string        `json:"note,omitempty" help:"what it is for, to tell it from others"`
}

// TokenView is a token as it is listed: all but its hash.
type TokenView struct {
	ID        string           `json:"id"`
	Role      cadre.Role       `json:"role"`
	State     cadre.TokenState `json:"state"`
	Scope     cadre.Scope      `json:"scope,omitempty"`
	Member    string           `json:"member,omitempty"`
	Note      string           `json:"note,omitempty"`
	CreatedAt time.Time        `json:"createdAt"`
	ExpiresAt *time.Time       `json:"expiresAt,omitempty"`
	RevokedAt *time.Time       `json:"revokedAt,omitempty"`
}

func (c *Coord) viewToken(t *cadre.Token) *TokenView {
	return &TokenView{t.ID, t.Role, t.State(c.Now().Wall), t.Scope, t.Member, t.Note, t.CreatedAt, t.ExpiresAt, t.RevokedAt}
}

// Issued is the answer to issuing a token. The token itself is shown this once.
type Issued struct {
	*TokenView
	Token string `json:"token"`
}

// Run issues the token. Only a person may. Where nothing was there before, the
// first one is the operator's for whoever asks: so a container or a job begins.
func (v *TokenCreate) Run(ctx context.Context, s *Session) (any, error) {
	token, err := v.token(ctx, s)
	if err != nil {
		return nil, err
	}
	token.Note = v.Note
	return s.issue(ctx, "token create", &cadre.TokenIssue{Token: token, Lasts: v.Expires, First: s.Fresh})
}

// Check refuses a call that makes no sense, whatever there is.
func (v *TokenCreate) Check() error {
	const usage = "cadre token create --role member --name NAME"
	switch {
	case v.Role != cadre.RoleOperator && v.Role != cadre.RoleLead && v.Role != cadre.RoleMember && v.Role != cadre.RoleReadOnly:
		return cadre.Refuse(cadre.RuleValue, usage, "a token is for one role: operator, lead, member or read-only")
	case (v.Role == cadre.RoleMember) != (v.Name != ""):
		return cadre.Refuse(cadre.RuleValue, usage, "the role member, and no other, needs the name of a member")
	case v.Everywhere && v.Role != cadre.RoleReadOnly:
		return cadre.Refuse(cadre.RuleValue, "cadre token create --role read-only --everywhere", "only a read-only token can be for every list: the operator's always is, a member's never")
	}
	return nil
}

// token says for whom it is.
func (v *TokenCreate) token(ctx context.Context, s *Session) (cadre.Token, error) {
	none := cadre.Token{}
	if err := v.Check(); err != nil {
		return none, err
	}
	switch {
	case v.Role == cadre.RoleOperator, v.Everywhere:
		return cadre.Token{Role: v.Role}, nil
	case v.Role == cadre.RoleReadOnly:
		return cadre.Token{Role: v.Role, Scope: s.Scope}, s.known(ctx)
	}
	name := v.Name
	if v.Role == cadre.RoleLead {
		name = cadre.LeadName
	}
	shown, err := s.Do(ctx, "member show", &cadre.MemberShow{Name: name})
	if e := cadre.AsError(err); err != nil && e.Hint == "cadre member list" {
		err = cadre.Refuse(e.Rule, e.Hint+", or for somebody new: cadre team join "+string(s.Scope)+" --name "+name, "%s", e.Message)
	}
	if err != nil {
		return none, err
	}
	m := shown.(*cadre.MemberView).Member
	switch {
	case m.State == cadre.StateDeparted:
		return none, cadre.Refuse(cadre.RuleMove, "cadre team join "+string(s.Scope)+" --name "+m.Name, "%s has left %s", m.Name, s.Scope)
	case (m.Role == cadre.RoleLead) != (v.Role == cadre.RoleLead):
		return none, cadre.Refuse(cadre.RuleValue, "cadre token create --role lead", "%s is the lead of %s", m.Name, s.Scope)
	}
	return tokenOf(s.Scope, m), nil
}

// tokenOf is a token for a member of a team, as long as it is that member.
func tokenOf(scope cadre.Scope, m *cadre.Member) cadre.Token {
	role := cadre.RoleMember
	if m.Role == cadre.RoleLead {
		role = cadre.RoleLead
	}
	return cadre.Token{Role: role, Scope: scope, Member: m.Name, Joined: m.N}
}

// issue draws a token and records its hash.
func (s *Session) issue(ctx context.Context, verb string, v *cadre.TokenIssue) (*Issued, error) {
	token := "cadre-" + rand.Text()
	v.Token.Hash = TokenHash(token)
	_, kept, err := s.on(cadre.Host).change(ctx, verb, v)
	if err != nil {
		return nil, err
	}
	return &Issued{s.viewToken(kept.(*cadre.Token)), token}, nil
}

// TokenList lists what was issued.
type TokenList struct {
	All bool `json:"all,omitempty" help:"expired and revoked ones too"`
}

// Run lists them, the oldest first.
func (v *TokenList) Run(ctx context.Context, s *Session) (any, error) {
	if err := cadre.MayManageTokens(s.Actor, "token list"); err != nil {
		return nil, err
	}
	out := []*TokenView{}
	err := s.Store.View(ctx, cadre.Host, func(snap cadre.Snap) error {
		for t, err := range snap.Tokens() {
			if err != nil {
				return err
			}
			if view := s.viewToken(t); v.All || view.State == cadre.TokenValid {
				out = append(out, view)
			}
		}
		return nil
	})
	slices.SortFunc(out, func(a, b *TokenView) int { return a.CreatedAt.Compare(b.CreatedAt) })
	return out, err
}

// TokenRevoke makes a token worthless at once.
type TokenRevoke struct{ cadre.TokenRevoke }

// Run revokes it.
func (v *TokenRevoke) Run(ctx context.Context, s *Session) (any, error) {
	_, kept, err := s.on(cadre.Host).change(ctx, "token revoke", &v.TokenRevoke)
	if err != nil {
		return nil, err
	}
	return s.viewToken(kept.(*cadre.Token)), nil
}
