package mcpserver

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"cadre/coord"
)

// TestEveryVerbIsDecidedUpon holds the tools against the registry: each verb is a tool,
// under a name of its own or under the registry's, or is said not to fit.
func TestEveryVerbIsDecidedUpon(t *testing.T) {
	for _, wrong := range undecided(coord.Verbs()) {
		t.Error(wrong)
	}
	if got := undecided(append(coord.Verbs(), coord.Verb{Name: "task fly"})); len(got) != 1 {
		t.Errorf("a new verb is not noticed: %v", got)
	}
}

func undecided(all []coord.Verb) []string {
	var wrong []string
	for _, v := range all {
		n := 0
		if slices.ContainsFunc(named(), func(t *tool) bool { return t.verb == v.Name }) {
			n++
		}
		if _, ok := others[v.Name]; ok {
			n++
		}
		if unfit[v.Name] != "" {
			n++
		}
		if n != 1 {
			wrong = append(wrong, v.Name+" stands in that many lists of this door: "+string(rune('0'+n)))
		}
	}
	return wrong
}

// TestSchemas looks for what every tool must have: a description that says when, and a
// schema in which each renamed or hidden field really is one.
func TestSchemas(t *testing.T) {
	for _, tool := range toolsOf(All) {
		t.Run(tool.name, func(t *testing.T) {
			var schema struct {
				Type       string
				Properties map[string]map[string]any
				Required   []string
				Additional *bool `json:"additionalProperties"`
			}
			if err := json.Unmarshal(tool.schema(), &schema); err != nil || schema.Type != "object" || schema.Additional == nil || *schema.Additional {
				t.Fatalf("%s, %v", tool.schema(), err)
			}
			if len(tool.about) < 5 || strings.HasSuffix(tool.about, "..") {
				t.Errorf("it is described by %q", tool.about)
			}
			for _, must := range schema.Required {
				if schema.Properties[must] == nil {
					t.Errorf("%s is required and not there", must)
				}
			}
			bare := *tool
			bare.rename, bare.hide = nil, nil
			var names []string
			for _, p := range bare.params(tool.newForm()) {
				names = append(names, p.name)
			}
			for name := range tool.rename {
				if !slices.Contains(names, name) && tool.tier != All {
					t.Errorf("%s is renamed, and there is none", name)
				}
			}
			for _, name := range tool.hide {
				if !slices.Contains(names, name) {
					t.Errorf("%s is hidden, and there is none", name)
				}
			}
		})
	}
}

// TestTheClientsFields holds the tools against the field names of the real client, in
// both generations.
func TestTheClientsFields(t *testing.T) {
	for name, fields := range map[string]string{
		"TaskCreate":  "subject description activeForm metadata",
		"TaskGet":     "taskId",
		"TaskList":    "",
		"TaskUpdate":  "taskId subject description activeForm status addBlocks addBlockedBy owner metadata removeBlocks removeBlockedBy comment references expectedVersion result",
		"TeamCreate":  "team_name description",
		"TeamDelete":  "",
		"SendMessage": "to message summary type recipient content request_id approve",
		"TodoWrite":   "todos",
	} {
		i := slices.IndexFunc(named(), func(t *tool) bool { return t.name == name })
		if i < 0 {
			t.Errorf("there is no %s", name)
			continue
		}
		tool := named()[i]
		var have []string
		for _, p := range tool.params(tool.newForm()) {
			have = append(have, p.name)
		}
		for field := range strings.FieldsSeq(fields) {
			if !slices.Contains(have, field) {
				t.Errorf("%s has no %s", name, field)
			}
		}
	}
}

// TestTheCoreIsCheap keeps the tools that every worker has below what they may cost.
func TestTheCoreIsCheap(t *testing.T) {
	costs := Explain()
	if core := costs[0]; core.Tier != Core || core.Tokens >= 3000 {
		t.Errorf("%s costs %d tokens", core.Tier, core.Tokens)
	}
	for i, c := range costs[1:] {
		if c.Tokens <= costs[i].Tokens || c.Tools <= costs[i].Tools {
			t.Errorf("%s is not more than %s", c.Tier, costs[i].Tier)
		}
	}
}

// TestEveryToolHasExchanges makes sure that every tool is called in an exchange, once
// with success and once without. These cannot fail in any way that an exchange shows.
func TestEveryToolHasExchanges(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	good, bad := map[string]bool{}, map[string]bool{}
	called := regexp.MustCompile(`^[a-z]+[>&] (\w+) \{`)
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		name := ""
		for line := range strings.Lines(string(text)) {
			if m := called.FindStringSubmatch(line); m != nil {
				name = m[1]
			}
			switch line[0] {
			case '=':
				good[name] = true
			case '!':
				bad[name] = true
			}
		}
	}
	for _, tool := range toolsOf(All) {
		if !good[tool.name] {
			t.Errorf("no exchange shows %s succeed", tool.name)
		}
		if !bad[tool.name] {
			t.Errorf("no exchange shows %s refused", tool.name)
		}
	}
}

func TestLongAnswersAreCut(t *testing.T) {
	long := strings.Repeat("é", maxAnswer)
	text, short := shorten(long, object{"task": object{"description": long, "id": "1"}, "more": []string{long, long}})
	raw := mustJSON(short)
	if len(text) > maxAnswer+40 || len(raw) > maxAnswer || !json.Valid(raw) || short["truncated"] != true {
		t.Errorf("%d bytes of text, %d of data", len(text), len(raw))
	}
	many := object{}
	list := make([]int, maxAnswer)
	many["list"] = list
	if _, short := shorten("", many); len(mustJSON(short)) > maxAnswer {
		t.Errorf("a long list has %d bytes", len(mustJSON(short)))
	}
	if _, same := shorten("short", object{"a": 1}); same["truncated"] != nil {
		t.Error("a short answer was cut")
	}
}

// TestTheDocumentNamesEveryTool keeps docs/mcp.md what the program does.
func TestTheDocumentNamesEveryTool(t *testing.T) {
	text, err := os.ReadFile("../docs/mcp.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := map[Tier]string{}
	for line := range strings.Lines(string(text)) {
		for _, tier := range Tiers {
			if strings.HasPrefix(line, "| `"+string(tier)+"` |") {
				rows[tier] = line
			}
		}
	}
	for _, tool := range toolsOf(All) {
		if !regexp.MustCompile(`\b` + tool.name + `\b`).MatchString(rows[tool.tier]) {
			t.Errorf("%s is not among the tools of %s", tool.name, tool.tier)
		}
	}
	for tier, row := range rows {
		if want := strings.Count(row, ",") + 1; want != count(tier) {
			t.Errorf("%s has %d tools in the document, and %d in the program", tier, want, count(tier))
		}
	}
}

// count is how many tools a tier has of its own.
func count(tier Tier) (n int) {
	for _, t := range toolsOf(All) {
		if t.tier == tier {
			n++
		}
	}
	return n
}

// TestTheToolsTeach: a tool's text says when to use it.
func TestTheToolsTeach(t *testing.T) {
	texts := map[string]string{}
	for _, tool := range toolsOf(All) {
		texts[tool.name] = tool.about
	}
	for name, parts := range map[string][]string{
		"TodoWrite":  {"three steps or more, not for trivial work", "Exactly one in_progress", "as soon as it is done, not several at once"},
		"TaskCreate": {"for work of several steps, or for others"},
		"TaskGet":    {"before you start a task"},
	} {
		for _, part := range parts {
			if !strings.Contains(texts[name], part) {
				t.Errorf("%s does not say %q: %s", name, part, texts[name])
			}
		}
	}
}
