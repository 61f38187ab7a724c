package cadre_test

import (
	"encoding/json"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// mayImport says which packages of this module each package may import. Imports
// point one way: doors to coord, coord to the rule book, stores to the rule book.
// Mechanism in internal has no domain words, and the rule book imports nothing.
var mayImport = map[string][]string{
	"cadre":                 {},
	"cadre/coord":           {"cadre", "cadre/teamfile", "cadre/internal/..."},
	"cadre/teamfile":        {"cadre"},
	"cadre/memstore":        {"cadre"},
	"cadre/sqlitestore":     {"cadre", "cadre/internal/..."},
	"cadre/storetest":       {"cadre"},
	"cadre/transcript":      {"cadre", "cadre/internal/..."},
	"cadre/claudedir":       {"cadre", "cadre/claudefile", "cadre/internal/..."},
	"cadre/cli":             {"cadre", "cadre/agent", "cadre/agent/command", "cadre/agent/scripted", "cadre/agent/shell", "cadre/claudedir", "cadre/claudefile", "cadre/coord", "cadre/doctor", "cadre/hook", "cadre/install", "cadre/mcpserver", "cadre/teamfile", "cadre/transcript", "cadre/memstore", "cadre/sqlitestore", "cadre/internal/..."},
	"cadre/mcpserver":       {"cadre", "cadre/coord", "cadre/internal/..."},
	"cadre/agent":           {"cadre", "cadre/coord", "cadre/internal/..."},
	"cadre/agent/shell":     {"cadre", "cadre/agent", "cadre/internal/..."},
	"cadre/agent/scripted":  {"cadre", "cadre/agent"},
	"cadre/agent/command":   {"cadre", "cadre/agent", "cadre/internal/..."},
	"cadre/agent/agenttest": {"cadre", "cadre/agent"},
	"cadre/cmd/cadre":       {"cadre/cli", "cadre/internal/..."},
	"cadre/claudefile":      {},
	"cadre/hook":            {"cadre", "cadre/coord", "cadre/internal/..."},
	"cadre/install":         {},
	"cadre/doctor":          {"cadre", "cadre/claudefile", "cadre/internal/..."},
	"cadre/bench":           {"cadre", "cadre/memstore", "cadre/sqlitestore"},
	"cadre/bench/alone":     {"cadre/internal/..."},
	"cadre/bench/floor":     {"cadre/bench/alone", "cadre/cli", "cadre/internal/..."}, // links what the product links, so that its start costs the same
	"cadre/conformance":     {},
	"cadre/realclient":      {},
	"cadre/soak":            {},
	"cadre/internal/...":    {},

	"cadre/internal/proc":    {"cadre/internal/bootclock"},
	"cadre/internal/dirlock": {"cadre/internal/flock", "cadre/internal/swapfile"},
	"cadre/internal/quote":   {"cadre/internal/termtext"},
}

type listed struct {
	ImportPath string
	Imports    []string
	Standard   bool
}

func TestImportsPointOneWay(t *testing.T) {
	for _, p := range list(t) {
		for _, i := range p.Imports {
			if why := forbidden(p.ImportPath, i); why != "" {
				t.Errorf("%s imports %s: %s", p.ImportPath, i, why)
			}
		}
	}
}

// TestForbiddenImportsAreNoticed shows that the check can fail.
func TestForbiddenImportsAreNoticed(t *testing.T) {
	for _, tt := range [][2]string{
		{"cadre", "modernc.org/sqlite"},
		{"cadre", "cadre/coord"},
		{"cadre/coord", "cadre/sqlitestore"},
		{"cadre/sqlitestore", "cadre/memstore"},
		{"cadre/internal/flock", "cadre"},
		{"cadre/internal/flock", "cadre/internal/swapfile"},
		{"cadre/internal/dirlock", "cadre"},
		{"cadre/new", "cadre"},
	} {
		if forbidden(tt[0], tt[1]) == "" {
			t.Errorf("%s may import %s", tt[0], tt[1])
		}
	}
}

// forbidden says why a package may not import another, or nothing.
func forbidden(from, what string) string {
	inModule := what == "cadre" || strings.HasPrefix(what, "cadre/")
	if from == "cadre" && (inModule || strings.Contains(strings.SplitN(what, "/", 2)[0], ".")) {
		return "the rule book imports the standard library only"
	}
	if !inModule {
		return ""
	}
	allowed, known := mayImport[from]
	if !known && strings.HasPrefix(from, "cadre/internal/") {
		allowed, known = mayImport["cadre/internal/..."]
	}
	if !known {
		return "the package is not in this test's list: say there what it may import"
	}
	if slices.Contains(allowed, what) || strings.HasPrefix(what, "cadre/internal/") && slices.Contains(allowed, "cadre/internal/...") {
		return ""
	}
	return "that points the wrong way"
}

func list(t *testing.T) []listed {
	t.Helper()
	out, err := exec.Command("go", "list", "-json=ImportPath,Imports,Standard", "./...").Output()
	if err != nil {
		t.Fatal(err)
	}
	var all []listed
	for d := json.NewDecoder(strings.NewReader(string(out))); d.More(); {
		var p listed
		if err := d.Decode(&p); err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
	if len(all) < 5 {
		t.Fatalf("only %d packages were listed", len(all))
	}
	return all
}
