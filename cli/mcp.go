package cli

import (
	"context"
	"errors"
	"log/slog"
	"slices"

	"github.com/spf13/cobra"

	"cadre"
	"cadre/coord"
	"cadre/mcpserver"
)

// mcpFlags are the flags of the door for agents.
type mcpFlags struct {
	tools, listen      string
	explain, allowLead bool
}

func (p *program) mcpCommand() *cobra.Command {
	f := &mcpFlags{}
	cmd := &cobra.Command{
		Use: "mcp", Short: "Serve agents that speak MCP, over a pipe or over HTTP", Example: "cadre mcp --tools team", Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := noArgs(cmd, args); err != nil {
				return err
			}
			if err := p.checkOptions(); err != nil {
				return err
			}
			if err := p.mcp(cmd.Context(), f); !errors.Is(err, context.Canceled) {
				return err
			}
			return nil // an interrupt is how it ends
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringVar(&f.tools, "tools", string(mcpserver.Core), "which tools: core, team or all")
	flags.StringVar(&f.listen, "listen", "", "serve over HTTP at this address, as in 127.0.0.1:7333; callers send a token")
	flags.BoolVar(&f.allowLead, "allow-lead", false, "let a caller that is nobody yet create and lead teams of its own")
	flags.BoolVar(&f.explain, "explain", false, "say what the tools of each tier cost in tokens, and end")
	completeFlag(cmd, "tools", each(mcpserver.Tiers, func(t mcpserver.Tier) string { return string(t) }))
	return cmd
}

// mcp serves until the client hangs up, or until it is interrupted.
func (p *program) mcp(ctx context.Context, f *mcpFlags) error {
	if f.explain {
		return p.explainTools()
	}
	tier := mcpserver.Tier(f.tools)
	if !slices.Contains(mcpserver.Tiers, tier) {
		return usage("cadre mcp --tools core", "--tools is core, team or all, not %q", f.tools)
	}
	store, err := p.openStore(false)
	if err != nil {
		return err
	}
	c, place := p.coord(store)
	if err := p.loadHooks(c); err != nil {
		return err
	}
	place.Pipe, place.Terminal = true, false
	explicit, err := p.explicitScope()
	if err != nil {
		return err
	}
	server := mcpserver.New(mcpserver.Options{
		Tier: tier, Version: thisVersion().Version, Log: slog.New(slog.NewTextHandler(p.stderr, nil)),
		Home: func(ctx context.Context, a cadre.Actor) (cadre.Scope, error) { return c.ChooseScope(ctx, place, a, "") },
	})
	session := func(ctx context.Context, a cadre.Actor) (*coord.Session, error) {
		scope, err := c.ChooseScope(ctx, place, a, explicit)
		if a.Kind == cadre.ActorGuest {
			a.Scope = scope
		}
		return &coord.Session{Coord: c, Actor: a, Door: "mcp", Scope: scope, CWD: p.cwd}, err
	}
	if f.listen != "" {
		c.Claim, c.Bearers = coord.Claim{}, true // what this process has is none of its callers'
		ready := func(url string) {
			p.printf("%s\n", url)
			_ = p.out.Flush() // whoever waits for it reads it
		}
		return server.Listen(ctx, f.listen, ready, func(ctx context.Context, token string) (*coord.Session, error) {
			a, err := c.Bearer(ctx, token)
			if err != nil {
				return nil, err
			}
			if a.Scope != "" { // whatever list this process was started on
				return &coord.Session{Coord: c, Actor: a, Door: "mcp", Scope: a.Scope, CWD: p.cwd}, nil
			}
			return session(ctx, a)
		})
	}
	actor, err := c.Identify(ctx, place, p.as)
	if err != nil {
		return err
	}
	if actor.Kind == cadre.ActorGuest && f.allowLead {
		actor.Role = cadre.RoleLead
	}
	s, err := session(ctx, actor)
	if err != nil {
		return err
	}
	return server.Pipe(ctx, s, p.stdin, p.stdout)
}

// explainTools shows what each tier costs.
func (p *program) explainTools() error {
	costs := mcpserver.Explain()
	switch {
	case p.json:
		return p.writeJSON(costs)
	case p.jsonl:
		return p.writeLines(costs)
	case p.quiet:
		for _, c := range costs {
			p.writeID(string(c.Tier))
		}
		return nil
	}
	before := 0
	for _, c := range costs {
		p.printf("%-5s %d tools, at most %d tokens\n", c.Tier, c.Tools, c.Tokens)
		for _, one := range c.Each[before:] {
			p.printf("      %-15s %5d  cadre %s\n", one.Name, one.Tokens, one.Verb)
		}
		before = len(c.Each)
	}
	p.printf("\nA token is counted as three bytes of name, description and schema; real\ntokenisers come to four or more.\n")
	return nil
}
