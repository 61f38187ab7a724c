package cli

import (
	"fmt"
	"slices"
	"strings"

	"cadre"
	"cadre/internal/termtext"
)

// exitCode is what a shell is told about each kind of refusal.
func exitCode(c cadre.Code) int {
	switch c {
	case cadre.CodeUsage:
		return 2
	case cadre.CodeNotFound:
		return 3
	case cadre.CodeConflict:
		return 4
	case cadre.CodeBlocked:
		return 5
	case cadre.CodeForbidden:
		return 6
	case cadre.CodePerson:
		return 7
	case cadre.CodeTimeout:
		return 8
	}
	return 1
}

// exitCodes says the same to people.
const exitCodes = "0 done, 1 failure, 2 usage, 3 not found, 4 conflict, 5 blocked, 6 not allowed, 7 needs a person, 8 out of time"

// usage is the refusal of a command line that makes no sense.
func usage(hint, format string, args ...any) error {
	return cadre.Refuse(cadre.RuleValue, hint, format, args...)
}

// fail tells an error: as a document on standard output where JSON was asked
// for, else in words on standard error.
func (p *program) fail(err error) int {
	e := cadre.AsError(err)
	hint := p.here(e.Hint)
	if p.json || p.jsonl {
		var doc struct {
			Error struct {
				Code    cadre.Code `json:"code"`
				Message string     `json:"message"`
				Hint    string     `json:"hint"`
				Rule    cadre.Rule `json:"rule"`
			} `json:"error"`
		}
		doc.Error.Code, doc.Error.Message, doc.Error.Hint, doc.Error.Rule = e.Code, e.Message, hint, e.Rule
		if p.writeLine(doc) == nil && p.out.Flush() == nil {
			return exitCode(e.Code)
		}
	}
	p.out.Flush() // what was written before the error was an answer too
	fmt.Fprintf(p.stderr, "cadre: %s\n", hang(e.Message))
	if hint != "" {
		fmt.Fprintf(p.stderr, "  try: %s\n", hang(hint))
	}
	return exitCode(e.Code)
}

// here lets a hint mean the list and the member that the command named: typed as it
// is it would be about the list of this folder, and done by somebody else.
func (p *program) here(hint string) string {
	words := strings.Fields(hint)
	if len(words) < 2 || words[0] != "cadre" || slices.Contains(words, "--") || strings.Count(hint, "cadre ") > 1 {
		return hint
	}
	switch words[1] {
	case "task", "msg", "ask", "member", "todo", "log", "sync", "watch", "blame", "diff", "at", "undo":
	default:
		return hint
	}
	list, _ := p.explicitScope()
	if scope, err := cadre.ParseScope(list); err == nil && !slices.Contains(words, "--scope") { // whatever was typed for it
		hint += " --scope " + string(scope)
	}
	if p.as != "" {
		hint += " --as " + p.as
	}
	return hint
}

// hang indents every line but the first.
func hang(text string) string {
	return strings.ReplaceAll(strings.TrimSpace(termtext.Lines(text)), "\n", "\n  ")
}

// talk says something that is no part of the answer, after what there is of it.
func (p *program) talk(format string, args ...any) {
	if !p.json && !p.jsonl && !p.quiet {
		p.out.Flush() // an error stays, and is told at the end
		fmt.Fprintf(p.stderr, "%s\n", termtext.Lines(fmt.Sprintf(format, args...)))
	}
}

// hint talks to a person, if one is there.
func (p *program) hint(format string, args ...any) {
	if p.errTerm {
		p.talk(format, args...)
	}
}

// warn says what went wrong without refusing anything.
func (p *program) warn(format string, args ...any) {
	fmt.Fprintf(p.stderr, "cadre: %s\n", hang(fmt.Sprintf(format, args...)))
}
