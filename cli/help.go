package cli

import (
	"slices"
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
	local := cmd.LocalNonPersistentFlags()
	writeTerms(&b, "Flags", flagTerms(local))
	writeTerms(&b, "Flags of every command", flagTerms(p.root.PersistentFlags()))
	b.WriteString("\nExit codes:\n")
	for _, l := range termtext.Wrap(exitCodes, helpWidth-2) {
		b.WriteString("  " + l + "\n")
	}
	p.printf("%s", b.String())
}

// usageLine is how a command is called.
func (p *program) usageLine(cmd *cobra.Command) string {
	words := []string{cmd.CommandPath()}
	if c := p.commands[cmd]; c != nil {
		args, flags := split(c.fields)
		for _, f := range args {
			words = append(words, f.usage())
		}
		if len(flags) > 0 {
			words = append(words, "[flags]")
		}
	} else if cmd.HasSubCommands() {
		words = append(words, "COMMAND")
	} else if place := ownArgs(cmd.Name()); place != "" {
		words = append(words, place)
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
	if cmd != p.root {
		var terms []string
		for _, sub := range cmd.Commands() {
			terms = append(terms, sub.Name()+"\t"+sub.Short)
		}
		writeTerms(b, "Commands", terms)
		return
	}
	var order []string
	groups := map[string][]string{}
	for _, v := range coord.Verbs() {
		noun, _, two := strings.Cut(v.Name, " ")
		if !two {
			noun = ""
		}
		if !slices.Contains(order, noun) {
			order = append(order, noun)
		}
		groups[noun] = append(groups[noun], v.Name+"\t"+v.Help)
	}
	for _, cmd := range []string{"version", "completion", "man", "help"} {
		sub, _, err := p.root.Find([]string{cmd})
		if err == nil && sub != p.root {
			groups[""] = append(groups[""], sub.Name()+"\t"+sub.Short)
		}
	}
	for _, noun := range order {
		title := "Others"
		if noun != "" {
			title = nounWords(noun)
		}
		writeTerms(b, title, groups[noun])
	}
}

// flagTerms writes flags as terms with their explanations.
func flagTerms(flags *pflag.FlagSet) []string {
	var terms []string
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden || f.Name == "help" {
			return
		}
		term := "--" + f.Name
		if f.Shorthand != "" {
			term = "-" + f.Shorthand + ", " + term
		}
		if kind := f.Value.Type(); kind == "string" {
			term += " TEXT"
		} else if kind != "" && kind != "bool" {
			term += " " + kind
		}
		text := f.Usage
		if f.DefValue != "" && f.DefValue != "false" {
			text += " (default " + f.DefValue + ")"
		}
		terms = append(terms, term+"\t"+text)
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
	}
}
