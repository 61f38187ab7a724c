package cli

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"cadre"
)

func (p *program) manCommand() *cobra.Command {
	return &cobra.Command{
		Use: "man", Short: "Write the manual pages into a folder", Example: "cadre man ~/.local/share/man/man1", Args: cobra.ArbitraryArgs,
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usage("cadre man ~/.local/share/man/man1", "man takes one FOLDER")
			}
			if err := p.checkOptions(); err != nil {
				return err
			}
			written, err := p.writeManual(args[0])
			switch {
			case err != nil:
				return err
			case p.json:
				return p.writeJSON(written)
			case p.jsonl:
				return p.writeLines(written)
			}
			for _, path := range written {
				p.writeID(path)
			}
			return nil
		},
	}
}

// writeManual writes a page for every command and gives the files.
func (p *program) writeManual(dir string) (written []string, err error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, cadre.Fault(err, "choose another folder", "making the folder")
	}
	err = p.eachCommand(p.root, func(cmd *cobra.Command) error {
		path := filepath.Join(dir, pageName(cmd)+".1")
		if err := os.WriteFile(path, []byte(p.manPage(cmd)), 0o644); err != nil {
			return cadre.Fault(err, "choose another folder", "writing a manual page")
		}
		written = append(written, path)
		return nil
	})
	return written, err
}

// eachCommand visits a command and everything below it.
func (p *program) eachCommand(cmd *cobra.Command, visit func(*cobra.Command) error) error {
	p.bind(cmd)
	if err := visit(cmd); err != nil {
		return err
	}
	for _, sub := range cmd.Commands() {
		if err := p.eachCommand(sub, visit); err != nil {
			return err
		}
	}
	return nil
}

func pageName(cmd *cobra.Command) string { return strings.ReplaceAll(cmd.CommandPath(), " ", "-") }

// manPage writes one page in roff.
func (p *program) manPage(cmd *cobra.Command) string {
	var b strings.Builder
	b.WriteString(".TH " + strings.ToUpper(roff(pageName(cmd))) + " 1\n")
	b.WriteString(".SH NAME\n" + roff(pageName(cmd)) + " \\- " + roff(cmd.Short) + "\n")
	b.WriteString(".SH SYNOPSIS\n.B " + roff(p.usageLine(cmd)) + "\n")
	if c := p.commands[cmd]; c != nil {
		args, _ := split(c.fields)
		manTerms(&b, "ARGUMENTS", each(args, func(f field) string { return f.usage() + "\t" + f.help }))
	}
	var subs []string
	for _, sub := range cmd.Commands() {
		subs = append(subs, sub.CommandPath()+"\t"+sub.Short)
	}
	manTerms(&b, "COMMANDS", subs)
	manTerms(&b, "FLAGS", flagTerms(p.ownFlags(cmd)))
	manTerms(&b, "FLAGS OF EVERY COMMAND", flagTerms(p.root.PersistentFlags()))
	if cmd.Example != "" {
		b.WriteString(".SH EXAMPLE\n.nf\n" + roff(cmd.Example) + "\n.fi\n")
	}
	b.WriteString(".SH EXIT STATUS\n" + roff(exitCodes) + "\n")
	return b.String()
}

func manTerms(b *strings.Builder, title string, terms []string) {
	if len(terms) == 0 {
		return
	}
	b.WriteString(".SH " + title + "\n")
	for _, t := range terms {
		term, text, _ := strings.Cut(t, "\t")
		b.WriteString(".TP\n.B " + roff(term) + "\n" + roff(text) + "\n")
	}
}

// roff writes text so that no character of it is a command.
func roff(s string) string {
	s = strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(s)
	if strings.HasPrefix(s, ".") || strings.HasPrefix(s, "'") {
		s = `\&` + s
	}
	return s
}
