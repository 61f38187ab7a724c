package cli

import (
	"bufio"
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"cadre/coord"
)

// TestReference keeps docs/commands.md what the registry says: run the tests
// with -update after changing a verb.
func TestReference(t *testing.T) {
	golden(t, filepath.Join("..", "docs", "commands.md"), reference())
}

const referenceHead = `# Commands

This page is made from the program; do not edit it.

Standard output is data and standard error is talk. With ` + "`--json`" + ` an answer is exactly one JSON document, with
` + "`--jsonl`" + ` one document a line, with ` + "`--quiet`" + ` ids, one a line. An error with ` + "`--json`" + ` is
` + "`" + `{"error":{"code","message","hint","rule"}}` + "`" + ` on standard output. ` + "`cadre`" + ` alone shows one screen: what needs you, who does
what, what changed since you last looked, and what to type next.

` + "`help`, `--help` and `completion`" + ` are for people and shells and write text whatever is asked for. A noun alone, as in
` + "`cadre task`" + `, shows its help too, and is a usage error with ` + "`--json`, `--jsonl` or `--quiet`" + `.

`

const exitTable = `## Exit codes

| code | means | ` + "`error.code`" + ` |
|---|---|---|
| 0 | done | |
| 1 | failure, or an audit or examination with findings | internal |
| 2 | usage: the call makes no sense | usage |
| 3 | not found | not_found |
| 4 | conflict: lost race, stale version, exists already | conflict |
| 5 | blocked: dependency, gate, cycle, no such move | blocked |
| 6 | not allowed | not_allowed |
| 7 | needs a person | needs_person |
| 8 | time or budget ran out | timeout |

## Environment

| variable | what it does |
|---|---|
| CADRE_CLAUDE | "off" leaves Claude Code's files alone: nothing is read or written there |
| CADRE_STATE_DIR | the state folder; else XDG_STATE_HOME/cadre, else ~/.local/state/cadre |
| XDG_CACHE_HOME | where it is noted what you last looked at, and what sessions were told by hooks |
| CADRE_SCOPE, CLAUDE_CODE_TASK_LIST_ID | the list to work on, where --scope is not given |
| CADRE_TOKEN | who you are, for members and services |
| CADRE_SESSION, CLAUDE_CODE_SESSION_ID | the session of the agent that calls |
| CLAUDE_CONFIG_DIR | Claude Code's folder: its tasks, teams and the settings.json whose hooks are run; else ~/.claude |
| NO_COLOR | no colour, whatever else is set |
`

// reference writes the page.
func reference() string {
	p := &program{out: bufio.NewWriter(&bytes.Buffer{}), stderr: &bytes.Buffer{}}
	p.buildTree(nil, true)
	p.bindAll()
	p.root.InitDefaultHelpCmd()
	var b strings.Builder
	b.WriteString(referenceHead)
	b.WriteString("## Flags of every command\n\n")
	markdownTerms(&b, flagTerms(p.root.PersistentFlags()))
	b.WriteString(exitTable)
	for _, g := range groups() {
		b.WriteString("\n## " + g.title + "\n")
		for _, v := range g.verbs {
			p.markdownVerb(&b, v)
		}
	}
	b.WriteString("\n## Besides\n")
	for _, t := range p.ownTerms() {
		name, help, _ := strings.Cut(t, "\t")
		p.markdownVerb(&b, coord.Verb{Name: name, Help: help})
	}
	return strings.TrimRight(b.String(), "\n") + "\n"
}

func (p *program) markdownVerb(b *strings.Builder, v coord.Verb) {
	cmd, _, err := p.root.Find(strings.Fields(v.Name))
	if err != nil {
		panic(err)
	}
	b.WriteString("\n### cadre " + v.Name + "\n\n" + v.Help + ".\n\n```\n" + p.usageLine(cmd) + "\n```\n\n")
	var terms []string
	if c := p.commands[cmd]; c != nil {
		args, _ := split(c.fields)
		terms = each(args, func(f field) string { return f.usage() + "\t" + f.help })
	}
	markdownTerms(b, append(terms, flagTerms(p.ownFlags(cmd))...))
	b.WriteString("Example: `" + cmd.Example + "`\n")
}

func markdownTerms(b *strings.Builder, terms []string) {
	if len(terms) == 0 {
		return
	}
	b.WriteString("| | |\n|---|---|\n")
	for _, t := range terms {
		term, text, _ := strings.Cut(t, "\t")
		b.WriteString("| `" + term + "` | " + strings.ReplaceAll(text, "|", "\\|") + " |\n")
	}
	b.WriteString("\n")
}
