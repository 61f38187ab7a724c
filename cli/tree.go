package cli

import (
	"iter"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"cadre"
	"cadre/coord"
)

// command is one verb as a command: its flags are made when they are needed.
type command struct {
	verb   coord.Verb
	form   any // what the flags and arguments are set in
	fields []field
}

// buildTree makes the commands that the arguments could mean, or all of them,
// without their flags. What no argument names is left out: most of the cost of a
// cold start would be commands that are not run.
func (p *program) buildTree(args []string, all bool) {
	wanted := func(word string) bool { return all || slices.Contains(args, word) }
	p.commands = map[*cobra.Command]*command{}
	p.root = &cobra.Command{
		Use: "cadre", Short: "Task lists, teams and mail for agents and people",
		Example: "cadre task next --claim", RunE: p.runRoot, Args: cobra.ArbitraryArgs,
		SilenceErrors: true, SilenceUsage: true, CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
	}
	p.root.SetOut(p.out)
	p.root.SetErr(p.stderr)
	p.root.SetHelpFunc(p.showHelp)
	p.root.SetFlagErrorFunc(p.flagError)
	p.root.SetHelpCommand(p.helpCommand())
	p.addGlobalFlags()
	nouns := map[string]*cobra.Command{}
	for _, v := range coord.Verbs() {
		noun, rest, two := strings.Cut(v.Name, " ")
		if !wanted(noun) {
			continue
		}
		parent, name := p.root, v.Name
		if two {
			name = rest
			if parent = nouns[noun]; parent == nil {
				parent = p.nounCommand(noun)
				nouns[noun] = parent
				p.root.AddCommand(parent)
			}
		}
		parent.AddCommand(p.verbCommand(v, name))
	}
	for name, build := range p.ownCommands() {
		if wanted(name) {
			p.root.AddCommand(build())
		}
	}
}

// ownCommands are the commands that are no verbs: nothing but this door has them.
func (p *program) ownCommands() iter.Seq2[string, func() *cobra.Command] {
	return func(yield func(string, func() *cobra.Command) bool) {
		_ = yield("demo", p.demoCommand) && yield("version", p.versionCommand) && yield("completion", p.completionCommand) && yield("man", p.manCommand) && yield("mcp", p.mcpCommand) && yield("hook", p.hookCommand)
	}
}

func (p *program) addGlobalFlags() {
	flags := p.root.PersistentFlags()
	flags.SortFlags = false
	flags.StringVar(&p.scope, "scope", "", "the list to work on: a team, a session or any list")
	flags.StringVar(&p.team, "team", "", "the same as --scope")
	flags.StringVar(&p.as, "as", "", "act as this member (operator only)")
	flags.BoolVar(&p.json, "json", false, "answer with one JSON document")
	flags.BoolVar(&p.jsonl, "jsonl", false, "answer with one JSON document a line")
	flags.BoolVarP(&p.quiet, "quiet", "q", false, "answer with ids only, one a line")
	flags.StringVar(&p.color, "color", "auto", "auto, always or never")
	completeFlag(p.root, "color", []string{"auto", "always", "never"})
	for flag, place := range map[string]string{"scope": "TEAM", "team": "TEAM", "as": "NAME"} {
		p.completeNamed(p.root, flag, place)
	}
}

// nounCommand is a group of verbs. Alone it explains itself; todo shows the list.
func (p *program) nounCommand(noun string) *cobra.Command {
	return &cobra.Command{
		Use: noun, Short: nounWords(noun), Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case len(args) == 1 && args[0] == "help":
				return cmd.Help()
			case len(args) > 0:
				return p.unknownCommand(cmd, args)
			case noun == "todo":
				return p.carryOut(cmd.Context(), "todo show", &cadre.TodoShow{})
			case p.json || p.jsonl || p.quiet:
				return usage("cadre "+noun+" --help", "%s alone has no answer for a program: name what to do", noun)
			}
			return cmd.Help()
		},
	}
}

func (p *program) verbCommand(v coord.Verb, name string) *cobra.Command {
	c := &command{verb: v}
	cmd := &cobra.Command{
		Use: name, Short: v.Help, Example: v.Example, Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := c.setArgs(args); err != nil {
				return err
			}
			return p.carryOut(cmd.Context(), v.Name, c.form)
		},
	}
	if name == "list" {
		cmd.Aliases = []string{"ls"}
	}
	p.commands[cmd] = c
	return cmd
}

// bind makes the flags of one command, once.
func (p *program) bind(cmd *cobra.Command) {
	c := p.commands[cmd]
	if c == nil || c.form != nil {
		return
	}
	c.form = newForm(c.verb)
	c.fields = fieldsOf(c.form)
	flags := cmd.Flags()
	flags.SortFlags = false
	for _, f := range c.fields {
		if f.place != "" {
			continue
		}
		if f.def != "" {
			if err := setValue(f.value, f.def); err != nil {
				panic("the default of --" + f.name + " of " + c.verb.Name + ": " + err.Error())
			}
		}
		flag := flags.VarPF(flagValue{f}, f.name, f.short, f.help)
		if isSwitch(f.value.Type()) {
			flag.NoOptDefVal = "true"
		}
		completeFlag(cmd, f.name, f.known)
		p.completeNamed(cmd, f.name, f.names())
	}
	cmd.ValidArgsFunction = p.completeArgs(c)
}

func (p *program) bindAll() {
	for cmd := range p.commands {
		p.bind(cmd)
	}
}
