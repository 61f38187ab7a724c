package cli

import (
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"cadre/coord"
	"cadre/internal/termtext"
)

// helpWidth is what help fits into, so that it reads the same everywhere.
const helpWidth = 80

// showHelp prints a command's help: what it does, how to call it, an example.
func (p *program) showHelp(cmd *cobra.Command, _ []string) {
	p.bind(cmd)
	var b strings.Builder
	b.WriteString(cmd.Short + ".\n\nUsage:\n  " + p.usageLine(cmd) + "\n")
	if cmd.Example != "" {
		b.WriteString("\nExample:\n  " + cmd.Example + "\n")
	}
	if c := p.commands[cmd]; c != nil {
		args, _ := split(c.fields)
		writeTerms(&b, "Arguments", each(args, func(f field) string { return f.usage() + "\t" + f.help }))
	}
	p.writeCommands(&b, cmd)
	writeTerms(&b, "Flags", flagTerms(p.ownFlags(cmd)))
	writeTerms(&b, "Flags of every command", flagTerms(p.root.PersistentFlags()))
	b.WriteString("\nExit codes:\n")
	for _, l := range termtext.Wrap(exitCodes, helpWidth-2) {
		b.WriteString("  " + l + "\n")
	}
	p.printf("%s", b.String())
}

// ownFlags are the flags that only this command has.
func (p *program) ownFlags(cmd *cobra.Command) *pflag.FlagSet {
	own := pflag.NewFlagSet(cmd.Name(), pflag.ContinueOnError)
	if c := p.commands[cmd]; c != nil {
		_, flags := split(c.fields)
		for _, f := range flags {
			own.AddFlag(cmd.Flags().Lookup(f.name))
		}
	} else if !cmd.HasSubCommands() { // a command that is no verb
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if p.root.PersistentFlags().Lookup(f.Name) == nil {
				own.AddFlag(f)
			}
		})
	}
	return own
}

// usageLine is how a command is called.
func (p *program) usageLine(cmd *cobra.Command) string {
	words := []string{cmd.CommandPath()}
	if c := p.commands[cmd]; c != nil {
		args, _ := split(c.fields)
		for _, f := range args {
			words = append(words, f.usage())
		}
	} else if cmd == p.root || cmd.Name() == "todo" {
		words = append(words, "[COMMAND]")
	} else if cmd.HasSubCommands() {
		words = append(words, "COMMAND")
	} else if place := ownArgs(cmd.Name()); place != "" {
		words = append(words, place)
	}
	if len(flagTerms(p.ownFlags(cmd))) > 0 {
		words = append(words, "[flags]")
	}
	return strings.Join(words, " ")
}

// ownArgs are the arguments of the commands that are no verbs.
func ownArgs(name string) string {
	switch name {
	case "completion":
		return "SHELL"
	case "man":
		return "FOLDER"
	case "help":
		return "[COMMAND...]"
	}
	return ""
}

// writeCommands lists what stands below a command: below the root every verb, so
// that one page shows all there is.
func (p *program) writeCommands(b *strings.Builder, cmd *cobra.Command) {
	if p.commands[cmd] != nil { // a verb has nothing below it
		return
	}
	for _, g := range groups() {
		title, prefix := g.title, ""
		if cmd != p.root {
			if g.noun != cmd.Name() {
				continue
			}
			title, prefix = "Commands", g.noun+" "
		}
		terms := each(g.verbs, func(v coord.Verb) string { return strings.TrimPrefix(v.Name, prefix) + "\t" + v.Help })
		if g.noun == "" {
			terms = append(terms, p.ownTerms()...)
		}
		writeTerms(b, title, terms)
	}
}

// ownTerms are the commands that are no verbs.
func (p *program) ownTerms() []string {
	var terms []string
	for _, build := range p.ownCommands() {
		cmd := build()
		terms = append(terms, cmd.Name()+"\t"+cmd.Short)
	}
	help := p.helpCommand()
	return append(terms, help.Name()+"\t"+help.Short)
}

// flagTerms writes flags as terms with their explanations, as they are ordered.
func flagTerms(flags *pflag.FlagSet) []string {
	var terms []string
	flags.SortFlags = false
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Name == "help" {
			return
		}
		term := "--" + f.Name
		if f.Shorthand != "" {
			term = "-" + f.Shorthand + ", " + term
		}
		word := f.Value.Type()
		switch {
		case f.Name == "color":
			word = "WHEN"
		case f.Name == "tools":
			word = "TIER"
		case f.Name == "listen":
			word = "ADDRESS"
		case word == "duration":
			word = "DURATION"
		case word == "string":
			word = "NAME"
		case word == "bool":
			word = ""
		}
		text := f.Usage
		if f.DefValue != "" && f.DefValue != "false" && f.DefValue != "0s" {
			text += " (default " + f.DefValue + ")"
		}
		terms = append(terms, strings.TrimSpace(term+" "+word)+"\t"+text)
	})
	return terms
}

// writeTerms writes terms and explanations in two columns; the explanation goes
// on below itself where it is too long for the line.
func writeTerms(b *strings.Builder, title string, terms []string) {
	if len(terms) == 0 {
		return
	}
	b.WriteString("\n" + title + ":\n")
	const most = 26
	width := 0
	for _, t := range terms {
		term, _, _ := strings.Cut(t, "\t")
		width = max(width, min(most, len(term)))
	}
	for _, t := range terms {
		term, text, _ := strings.Cut(t, "\t")
		lines := termtext.Wrap(text, helpWidth-width-4)
		if len(term) > width {
			b.WriteString("  " + term + "\n")
			term = ""
		}
		for _, l := range lines {
			b.WriteString(strings.TrimRight("  "+termtext.Pad(term, width, false)+"  "+l, " ") + "\n")
			term = ""
		}
	}
}

// helpCommand explains any other command.
func (p *program) helpCommand() *cobra.Command {
	return &cobra.Command{
		Use: "help", Short: "Explain a command", Example: "cadre help task add", Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			found, rest, err := p.root.Find(args)
			if err != nil || len(rest) > 0 {
				if found == nil {
					found = p.root
				}
				return p.unknownCommand(found, append(rest, args...)[:1])
			}
			return found.Help()
		},
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			found, rest, err := p.root.Find(args)
			if err != nil || len(rest) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return each(found.Commands(), func(c *cobra.Command) string { return c.Name() + "\t" + c.Short }), cobra.ShellCompDirectiveNoFileComp
		},
	}
}
