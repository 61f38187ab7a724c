package cli

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"cadre/coord"
)

// setArgs stores positional arguments, and refuses too few and too many.
func (c *command) setArgs(args []string) error {
	places, _ := split(c.fields)
	given := args
	for _, f := range places {
		if len(args) == 0 {
			if f.must {
				return usage(c.verb.Example, "%s needs %s: %s", c.verb.Name, withArticle(f.place), f.help)
			}
			break
		}
		n := 1
		if f.rest {
			n = len(args)
		}
		for _, a := range args[:n] {
			if err := setValue(f.value, a); err != nil {
				return usage(c.verb.Example, "%s: %s", f.place, err)
			}
		}
		args = args[n:]
	}
	if len(args) == 0 {
		return nil
	}
	if len(places) == 0 {
		return usage("cadre "+c.verb.Name, "%s takes no arguments, but %q was given", c.verb.Name, args[0])
	}
	hint := c.verb.Example
	if takesText(places[len(places)-1].place) {
		k := len(places) - 1
		words := append(append([]string{"cadre", c.verb.Name}, given[:k]...), fmt.Sprintf("%q", strings.Join(given[k:], " ")))
		hint = strings.Join(words, " ")
	}
	return usage(hint, "%s takes %s, but %d arguments were given", c.verb.Name, usageOf(places), len(given))
}

// takesText says whether an argument is a text that may well have been typed
// without its quotes.
func takesText(place string) bool {
	return slices.Contains([]string{"SUBJECT", "TEXT", "LABEL", "NOTE", "REASON"}, place)
}

func usageOf(places []field) string {
	words := make([]string, len(places))
	for i, f := range places {
		words[i] = f.usage()
	}
	return strings.Join(words, " ")
}

func withArticle(place string) string {
	if strings.ContainsRune("AEIO", rune(place[0])) {
		return "an " + place
	}
	return "a " + place
}

// flagError explains a flag that is not there or has no sensible value.
func (p *program) flagError(cmd *cobra.Command, err error) error {
	help := cmd.CommandPath() + " --help"
	if cmd.HasParent() {
		help = "cadre help " + strings.TrimPrefix(cmd.CommandPath(), "cadre ")
	}
	if e, ok := errors.AsType[*pflag.NotExistError](err); ok {
		name := e.GetSpecifiedName()
		if words := cmd.Flags().Args(); cmd == p.root && len(words) > 0 { // the flag is that of a command that is not there
			return p.unknownCommand(cmd, words)
		}
		switch {
		case cmd == p.root && strings.EqualFold(name, "v") || name == "version":
			return usage("cadre version", "%s has no flag %s, but there is a command", cmd.CommandPath(), dashed(name))
		case e.GetSpecifiedShortnames() != "":
			if p.takesText(cmd) {
				help = cmd.CommandPath() + ` -- "-text that begins with a dash"`
			}
			return usage(help, "%s has no flag -%s", cmd.CommandPath(), name)
		}
		if near := nearest(name, flagNames(cmd)); near != "" {
			return usage(help, "%s has no flag --%s; did you mean --%s?", cmd.CommandPath(), name, near)
		}
		return usage(help, "%s has no flag --%s", cmd.CommandPath(), name)
	}
	if e, ok := errors.AsType[*pflag.ValueRequiredError](err); ok {
		return usage(help, "--%s needs a value", e.GetSpecifiedName())
	}
	if e, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
		return usage(help, "--%s: %s", e.GetFlag().Name, e.Unwrap())
	}
	return usage(help, "%s", err)
}

// dashed is a flag as it is typed.
func dashed(name string) string {
	if len(name) == 1 {
		return "-" + name
	}
	return "--" + name
}

// takesText says whether a command has an argument that is a text.
func (p *program) takesText(cmd *cobra.Command) bool {
	c := p.commands[cmd]
	if c == nil {
		return false
	}
	args, _ := split(c.fields)
	return slices.ContainsFunc(args, func(f field) bool { return takesText(f.place) })
}

func flagNames(cmd *cobra.Command) []string {
	var names []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	return names
}

// unknownCommand names the command most likely meant.
func (p *program) unknownCommand(cmd *cobra.Command, args []string) error {
	path := strings.TrimPrefix(cmd.CommandPath()+" "+args[0], "cadre ")
	near, rest := "", args[1:]
	if cmd == p.root && len(args) > 1 { // the noun may be wrong and the verb right
		if near = nearestCommand(path + " " + args[1]); near != "" {
			rest = args[2:]
		}
	}
	if near == "" {
		near = nearestCommand(path)
	}
	switch whole := wholeCommand(path); {
	case whole != "":
		return usage(whole, "there is no command %q", path)
	case near == "":
		return usage(cmd.CommandPath()+" --help", "there is no command %q", path)
	case cmd != p.root:
		rest = nil // what stood behind a noun may mean something else behind another
	}
	return usage(commandLine("cadre "+near, rest), "there is no command %q", path)
}

// wholeCommand is what to type for a word that stands for no single command here.
func wholeCommand(word string) string {
	switch word {
	case "status", "overview", "dashboard", "board":
		return "cadre"
	case "init", "setup":
		return "cadre team create my-team"
	case "serve", "server", "daemon":
		return "cadre mcp --listen 127.0.0.1:7333"
	}
	return ""
}

// commandLine is a command with its arguments as they are typed, where they are short.
func commandLine(command string, args []string) string {
	for _, a := range args {
		if strings.Trim(a, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./:=,@#") != "" || a == "" {
			a = strconv.Quote(a)
		}
		command += " " + a
	}
	if len(command) > helpWidth {
		return command[:strings.LastIndex(command[:helpWidth], " ")] + " …"
	}
	return command
}

// nearestCommand finds a command by the words that people try.
func nearestCommand(path string) string {
	noun, verb, ok := strings.Cut(path, " ")
	if !ok {
		noun, verb = "", path
	}
	if known := synonym(verb); known != "" {
		verb = known
	}
	var names, nouns, elsewhere []string
	for _, v := range coord.Verbs() {
		n, rest, two := strings.Cut(v.Name, " ")
		if !two {
			n, rest = "", v.Name
		}
		if rest == verb && (noun == n || noun == "" || nearest(noun, []string{n}) != "") {
			return v.Name
		}
		if noun == n {
			names = append(names, rest)
		} else if rest == verb && (n == "" || n == "member" && noun == "team") {
			elsewhere = append(elsewhere, v.Name)
		}
		nouns = append(nouns, n, v.Name)
	}
	if near := nearest(verb, names); near != "" {
		return strings.TrimSpace(noun + " " + near)
	}
	if noun != "" && len(names) > 0 && len(elsewhere) == 1 { // as in team leave, and task undo
		return elsewhere[0]
	}
	if len(names) > 0 && noun != "" {
		return "" // the group is right: its help says what there is
	}
	return nearest(path, slices.DeleteFunc(nouns, func(n string) bool { return n == "" }))
}

// synonym is the word of this program for one that others use.
func synonym(word string) string {
	switch word {
	case "create", "new":
		return "add"
	case "delete", "remove", "del":
		return "rm"
	case "complete", "finish", "close", "resolve":
		return "done"
	case "ls":
		return "list"
	case "get", "view", "info", "status":
		return "show"
	case "edit", "set":
		return "update"
	case "take", "grab":
		return "claim"
	case "history":
		return "log"
	case "mail", "read":
		return "inbox"
	}
	return ""
}
