package install

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// texts are settings that people have. What is added goes again, byte for byte.
var texts = map[string][]string{
	"json": {
		`{}` + "\n",
		"{\n  \"a\": 1\n}\n",
		"{\n\t\"a\": [1, {\"b\": \"}\"}],\n\t\"mcpServers\": {\n\t\t\"x\": {\"command\": \"y\"}\n\t}\n}",
		`{"mcpServers":{"x":{}},"z":"mcpServers"}`,
		`{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"mine"}]}],"Other":[]}}`,
		"{\n  \"hooks\": {\n    \"PostToolUse\": [\n      {\n        \"matcher\": \"Edit\",\n        \"hooks\": []\n      },\n      {}\n    ]\n  }\n}\n",
		"{\r\n  \"a\": 1,\r\n  \"hooks\": {\r\n    \"Stop\": [\r\n      {\r\n        \"hooks\": []\r\n      }\r\n    ]\r\n  }\r\n}\r\n",
		"\ufeff{ \"theme\" : \"dark\" , \"mcpServers\" : { \"a\" : 1 , \"b\" : 2 } }\r\n",
	},
	"toml": {
		"",
		"model = \"x\"\n",
		"x = \"\"\"\n[mcp_servers.cadre]\n\\\"\"\"\"\ny = '''\n[mcp_servers]\ncadre = 1\n''' # it's \"\"\"\n",
		"[mcp_servers.other]\ncommand = \"y\"\nargs = [\n  \"a\",\n]\n\n[profiles.z]\nn = 1 # one\n",
		"model = \"x\"\n\n\n",
		"\r\nmodel = \"x\"\r\n\r\n\r\n[a]\r\nb = 1\r\n\r\n",
	},
}

// formats are all there are, by the name of their tool.
func formats(kind string) map[string]format {
	out := map[string]format{}
	for _, t := range Tools {
		out[t.Name] = t.tools.format
		if t.hooks != nil {
			out[t.Name+"'s hooks"] = t.hooks.format
		}
	}
	maps.DeleteFunc(out, func(_ string, f format) bool {
		_, toml := f.(table)
		return toml != (kind == "toml")
	})
	return out
}

func TestWhatIsAddedGoesAgain(t *testing.T) {
	for kind, all := range texts {
		for name, f := range formats(kind) {
			for _, text := range all {
				with, kept, err := f.add([]byte(text), `/a "b"/cadre`)
				if err != nil || len(kept) > 0 {
					t.Fatalf("%s: %v in %q, which keeps %v", name, err, text, kept)
				}
				if bytes.Equal(with, []byte(text)) {
					t.Errorf("%s: nothing was added to %q", name, text)
				}
				if again, kept, err := f.add(with, `/a "b"/cadre`); err != nil || len(kept) > 0 || !bytes.Equal(again, with) {
					t.Errorf("%s: twice is %q and %v, once %q", name, again, err, with)
				}
				moved, _, err := f.add(with, "cadre")
				if err != nil || bytes.Contains(moved, []byte(`/cadre`)) || !bytes.Contains(moved, []byte(`"cadre`)) {
					t.Errorf("%s: with another path it is %q, %v", name, moved, err)
				}
				for _, text2 := range [][]byte{with, moved} {
					if without, err := f.drop(text2, "cadre"); err != nil || string(without) != text {
						t.Errorf("%s: %q came back as %q, %v", name, text, without, err)
					}
				}
				if without, err := f.drop([]byte(text), "cadre"); err != nil || string(without) != text {
					t.Errorf("%s: with nothing to drop %q became %q, %v", name, text, without, err)
				}
				if text := string(with); strings.Contains(text, "\r\n") && strings.Count(text, "\r\n") != strings.Count(text, "\n") && !strings.HasPrefix(text, "\ufeff") {
					t.Errorf("%s: the line ends differ: %q", name, with)
				}
				if kind == "json" && !json.Valid(bytes.TrimPrefix(with, []byte("\ufeff"))) {
					t.Errorf("%s: not JSON: %q", name, with)
				}
			}
		}
	}
}

func TestAnEntryAmongOthersIsWrittenAsTheyAre(t *testing.T) {
	got, err := set([]byte("{\n    \"mcpServers\": {\n        \"x\": {}\n    }\n}\n"), []string{"mcpServers", "cadre"}, json.RawMessage(`{"command":"cadre"}`))
	want := "{\n    \"mcpServers\": {\n        \"x\": {},\n        \"cadre\": {\n            \"command\": \"cadre\"\n        }\n    }\n}\n"
	if err != nil || string(got) != want {
		t.Errorf("%s, %v", got, err)
	}
}

func TestRemarksOfTheNextTableStay(t *testing.T) {
	const text = "[mcp_servers.cadre]\ncommand = \"/old/cadre\"\nargs = [\"mcp\"]\n[mcp_servers.cadre.env]\nA = \"b\"\n\n# mine\n[mcp_servers.other]\ncommand = \"y\"\n"
	got, err := table{}.drop([]byte(text), "cadre")
	if want := "\n# mine\n[mcp_servers.other]\ncommand = \"y\"\n"; err != nil || string(got) != want {
		t.Errorf("%q, %v", got, err)
	}
}

// A file that its own program cannot read is not made longer: its line is named.
func TestBrokenSettingsAreNamedByTheirLine(t *testing.T) {
	for _, tt := range []struct {
		format format
		text   string
		line   int
	}{
		{table{}, "[broken\n", 1},
		{table{}, "a = 1\n\nb = nonsense\n", 3},
		{table{}, "a = 1\na = 2\n", 2},
		{table{}, "a = 1\nx = \"y\n", 2},
		{table{}, "[a]\nb = 1\n[a]\nc = 1\n", 3},
		{entry{"mcpServers", plainServer}, "{broken", 1},
		{entry{"mcpServers", plainServer}, "no settings", 1},
		{entry{"mcpServers", plainServer}, "{\n  \"a\": 1 // one\n  \"b\": 2\n}\n", 3},
		{entry{"mcpServers", plainServer}, "\ufeff{\n  \"a\": 1,,\n}\n", 2},
		{entry{"mcpServers", plainServer}, "{\n  \"a\": \"b\n}\n", 2},
		{entry{"mcpServers", plainServer}, "{\n  \"a\": {\n  }\n\n", 3},
		{entry{"mcpServers", plainServer}, "{\"a\":1}\n{\"b\":2}", 2},
		{entry{"mcpServers", plainServer}, "{\n/* }", 2},
		{claudeHooks{}, "{\n\"a\"", 2},
	} {
		_, _, errAdd := tt.format.add([]byte(tt.text), "cadre")
		_, errDrop := tt.format.drop([]byte(tt.text), "cadre")
		for _, err := range []error{errAdd, errDrop} {
			if broken, ok := errors.AsType[*BrokenError](err); !ok || broken.Line != tt.line {
				t.Errorf("%q: %v", tt.text, err)
			}
		}
	}
}

func TestWhatIsNotUnderstoodIsLeftAlone(t *testing.T) {
	for _, text := range []string{
		"{ // a remark\n}", "{\n/* \" */ \"a\": [1, 2,], // {\n}", `[]`, `{"mcpServers": []}`, `{"mcpServers": null}`, `"x"`,
	} {
		if got, _, err := (entry{"mcpServers", plainServer}).add([]byte(text), "cadre"); !errors.Is(err, ErrUnknownText) {
			t.Errorf("%q became %q, %v", text, got, err)
		}
	}
	for _, text := range []string{
		"mcp_servers = { other = { command = \"y\" } }\n", "[mcp_servers]\ncadre = { command = \"y\" }\n", "mcp_servers.cadre.command = \"y\"\n",
		"\"mcp_servers\".cadre.command = \"y\"\n", "['mcp_servers']\ncadre = { command = \"y\" }\n",
	} {
		if got, _, err := (table{}).add([]byte(text), "cadre"); !errors.Is(err, ErrUnknownText) {
			t.Errorf("%q became %q, %v", text, got, err)
		}
	}
}

// place is a home with nothing in it.
func place(t *testing.T) Place {
	return Place{Home: t.TempDir(), Project: t.TempDir(), Env: map[string]string{}, Command: "cadre"}
}

func TestALinkStaysALink(t *testing.T) {
	p := place(t)
	dots := filepath.Join(t.TempDir(), "settings.json")
	if err := os.WriteFile(dots, []byte("{\"a\": 1}"), 0o640); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(p.Home, ".gemini", "settings.json")
	if err := errors.Join(os.Mkdir(filepath.Dir(link), 0o700), os.Symlink(dots, link)); err != nil {
		if runtime.GOOS == "windows" {
			t.Skip("links need a privilege there")
		}
		t.Fatal(err)
	}
	tool, _ := Find("gemini")
	changes, err := tool.Plan(p, Wish{})
	if err == nil {
		err = changes[0].Apply()
	}
	if err != nil {
		t.Fatal(err)
	}
	if to, err := os.Readlink(link); err != nil || to != dots {
		t.Errorf("the link is %q, %v", to, err)
	}
	if text, err := os.ReadFile(dots); err != nil || !strings.Contains(string(text), "cadre") {
		t.Errorf("%s, %v", text, err)
	}
	if info, err := os.Stat(dots); err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("its mode is %v, %v", info.Mode(), err)
	}
	if left, err := filepath.Glob(filepath.Join(filepath.Dir(dots), ".cadre-*")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestWhoeverWritesMeanwhileWins(t *testing.T) {
	p := place(t)
	tool, _ := Find("claude")
	changes, err := tool.Plan(p, Wish{})
	if err != nil {
		t.Fatal(err)
	}
	c := changes[0]
	if err := os.WriteFile(c.Path, []byte(`{"new": true}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := c.Apply(); err == nil {
		t.Error("it was overwritten")
	}
	if text, err := os.ReadFile(c.Path); err != nil || string(text) != `{"new": true}` {
		t.Errorf("%s, %v", text, err)
	}
}

func TestFoldersThatProgramsAreTold(t *testing.T) {
	p := place(t)
	p.Env = map[string]string{"CLAUDE_CONFIG_DIR": filepath.Join(p.Home, "c"), "CODEX_HOME": filepath.Join(p.Home, "x"), "GEMINI_CLI_HOME": filepath.Join(p.Home, "g")}
	for tool, want := range map[string][]string{"claude": {"c/.claude.json", "c/settings.json"}, "codex": {"x/config.toml"}, "gemini": {"g/.gemini/settings.json"}} {
		found, _ := Find(tool)
		changes, err := found.Plan(p, Wish{Hooks: true})
		var paths []string
		for _, c := range changes {
			path, _ := filepath.Rel(p.Home, c.Path)
			paths = append(paths, filepath.ToSlash(path))
		}
		if err != nil || !slices.Equal(paths, want) {
			t.Errorf("%s: %v, %v", tool, paths, err)
		}
	}
}

func FuzzSettings(f *testing.F) {
	for _, all := range texts {
		for _, text := range all {
			f.Add([]byte(text))
		}
	}
	all := formats("json")
	maps.Copy(all, formats("toml"))
	f.Fuzz(func(t *testing.T, text []byte) {
		for name, f := range all {
			with, _, err := f.add(text, "cadre")
			if err != nil {
				continue
			}
			if again, _, err := f.add(with, "cadre"); err != nil || !bytes.Equal(again, with) {
				t.Errorf("%s: %q: once %q, twice %q, %v", name, text, with, again, err)
			}
			if _, err := f.drop(with, "cadre"); err != nil {
				t.Errorf("%s: %q cannot go again: %v", name, with, err)
			}
		}
	})
}
