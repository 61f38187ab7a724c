package cli

import (
	"cadre"
	"cadre/coord"
)

// issued prints a new token in the form that export takes. Nobody can show it again.
func (pg *page) issued(t *coord.Issued) {
	pg.printf("CADRE_TOKEN=%s\n", t.Token)
	pg.hint("%s is %s; it is shown only this once: keep it from everybody else\nto take it back: cadre token revoke %s", t.ID, tokenFor(t.TokenView), t.ID)
}

// tokenFor says in words what a token is good for.
func tokenFor(t *coord.TokenView) string {
	where := " in " + line(string(t.Scope))
	switch {
	case t.Role == cadre.RoleOperator:
		return "the operator's"
	case t.Role == cadre.RoleReadOnly && t.Scope == "":
		return "for looking at every list"
	case t.Role == cadre.RoleReadOnly:
		return "for looking" + where
	}
	return "for " + line(t.Member) + where
}

func (pg *page) tokenList(tokens []*coord.TokenView) {
	if len(tokens) == 0 {
		pg.talk("no token is valid\n  try: cadre token create --role member --name NAME")
		return
	}
	t := newTable("ID", "STATE", "ROLE", "TEAM", "MEMBER", ">AGE", "EXPIRES", "NOTE")
	for _, v := range tokens {
		team := text(string(v.Scope))
		if v.Scope == "" {
			team = faint("every")
		}
		expires := cell{}
		if v.ExpiresAt != nil {
			expires = cell{text: pg.ago(*v.ExpiresAt)}
		}
		t.add(text(v.ID), tokenState(v.State), text(string(v.Role)), team, text(v.Member), faint(pg.age(v.CreatedAt)), expires, text(v.Note))
	}
	t.print(pg)
}

func tokenState(s cadre.TokenState) cell {
	switch s {
	case cadre.TokenValid:
		return cell{"✓ valid", green}
	case cadre.TokenRevoked:
		return cell{"✗ revoked", red}
	}
	return cell{"· " + line(string(s)), dim}
}

func (pg *page) revoked(t *coord.TokenView) {
	state := tokenState(t.State)
	pg.printf("%s  %s  %s\n", line(t.ID), pg.paint(state.style, state.text), tokenFor(t))
}
