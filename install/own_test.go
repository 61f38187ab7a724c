package install

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// planned is what becomes of a settings file.
func planned(t *testing.T, tool, path, text string, w Wish) Change {
	t.Helper()
	p := place(t)
	file := filepath.Join(p.Home, path)
	if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, []byte(text), 0o600)); err != nil {
		t.Fatal(err)
	}
	found, _ := Find(tool)
	changes, err := found.Plan(p, w)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range changes {
		if strings.HasSuffix(c.Path, filepath.FromSlash(path)) {
			return c
		}
	}
	return Change{After: []byte(text)}
}

const settings = ".claude/settings.json"

// A command of somebody else stays, also in a group with ours and with our name in its
// path.
func TestHooksOfOthersStay(t *testing.T) {
	const others = `{"type":"command","command":"/home/cadre/bin/lint hook","own":[1]}`
	for name, text := range map[string]string{
		"before it":  `{"hooks":{"Stop":[{"matcher":"x","hooks":[` + others + `, OURS],"unknown":1}]},"z":1}`,
		"behind it":  `{"hooks":{"Stop":[{"hooks":[OURS, ` + others + `]}],"Other":[]}}`,
		"both":       `{"hooks":{"PostToolUse":[{"hooks":[` + others + `, OURS, ` + others + `]}]}}`,
		"with two":   `{"hooks":{"Stop":[{"hooks":[OURS, ` + others + `, OURS]},{"hooks":[` + others + `]}]}}`,
		"other name": `{"hooks":{"Stop":[{"hooks":[OURS, {"type":"command","command":"cadre-lint hook --wait"}]}]}}`,
	} {
		const mine = `{"type":"command","command":"'/a b/cadre' hook","timeout":30}`
		text, without := strings.ReplaceAll(text, "OURS", mine), strings.NewReplacer(", OURS", "", "OURS, ", "").Replace(text)
		if c := planned(t, "claude", settings, text, Wish{Drop: true}); string(c.After) != without {
			t.Errorf("%s: %s became\n%s, not\n%s", name, text, c.After, without)
		}
		c := planned(t, "claude", settings, text, Wish{Hooks: true})
		for _, part := range []string{others, "cadre-lint hook --wait", `"unknown":1`} {
			if strings.Count(string(c.After), part) != strings.Count(text, part) {
				t.Errorf("%s: %s is not so often in\n%s", name, part, c.After)
			}
		}
		if strings.Contains(string(c.After), "/a b/cadre") {
			t.Errorf("%s: another program is started:\n%s", name, c.After)
		}
	}
}

func TestWhichCommandsAreOurs(t *testing.T) {
	for line, want := range map[string]string{
		`cadre hook`:                          "cadre",
		`/usr/bin/cadre  hook --wait 55m`:     "/usr/bin/cadre waits",
		`'/a b/cadre' hook`:                   "/a b/cadre",
		`"/a b/cadre" hook --wait=1h`:         "/a b/cadre waits",
		`/a\ b/cadre hook`:                    "/a b/cadre",
		`'C:\Program Files\cadre.exe' hook`:   `C:\Program Files\cadre.exe`,
		`CADRE_CLAUDE=off A='b c' cadre hook`: "cadre",
		`/opt/renamed hook`:                   "/opt/renamed",
		`/home/cadre/bin/lint hook`:           "",
		`cadre-lint hook`:                     "",
		`cadre hooks`:                         "",
		`cadre`:                               "",
		`echo cadre hook`:                     "",
		`cadre hook | tee log`:                "",
		`cadre hook; mine`:                    "",
		`cadre hook "$(mine)"`:                "",
		`cadre 'hook`:                         "",
		``:                                    "",
	} {
		h, ok := parseHook(line, "/opt/renamed")
		got := h.program.text
		if h.waits {
			got += " waits"
		}
		if ok != (want != "") || got != want {
			t.Errorf("%s: %q, %t", line, got, ok)
		}
	}
}

// What somebody changed in the entry stays; what keeps it from working does not.
func TestWhatItsUserChangedStays(t *testing.T) {
	for _, tt := range []struct{ tool, path, text, want, kept string }{
		{
			"gemini", ".gemini/settings.json",
			`{"mcpServers":{"cadre":{"command":"/old/cadre","args":["mcp","--team","docs"],"env":{"A":"b"},"trust":true}}}`,
			`{"mcpServers":{"cadre":{"command":"cadre","args":["mcp","--team","docs"],"env":{"A":"b"},"trust":true}}}`, "args env trust",
		},
		{
			"gemini", ".gemini/settings.json", `{"mcpServers":{"cadre":{"env":{"A":"b"},"command":"cadre","args":["mcp","--tools","team"]}}}`, "", "env",
		},
		{
			"gemini", ".gemini/settings.json", `{"mcpServers":{"cadre":{"env":{"A":"b"},"command":"cadre","args":["serve"]}}}`,
			"{\"mcpServers\":{\"cadre\":{\"env\":{\"A\":\"b\"},\"command\":\"cadre\",\"args\":[\n        \"mcp\",\n        \"--tools\",\n        \"team\"\n      ]}}}", "env",
		},
		{
			"claude", ".claude.json", `{"mcpServers":{"cadre":{"type":"http","command":"C:\\x\\cadre.exe","args":["mcp"],"env":{}}}}`,
			`{"mcpServers":{"cadre":{"type":"stdio","command":"cadre","args":["mcp"],"env":{}}}}`, "args",
		},
		{
			"claude", settings,
			`{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"A=b /old/cadre hook","timeout":5},{"type":"command","command":"/old/cadre hook --wait 10m"}]}]}}`,
			`{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"A=b cadre hook","timeout":5},{"type":"command","command":"cadre hook --wait 10m"}]}],`, "Stop",
		},
		{
			"codex", ".codex/config.toml",
			"[mcp_servers.cadre] # mine\r\nargs = [ 'mcp', # tools\r\n  \"--team\", \"docs\" ]\r\ncommand = '/old/cadre'\r\nstartup_timeout_sec = 20\r\n\r\n[mcp_servers.cadre.env]\r\nA = \"b\"\r\n\r\n[z]\r\nn = 1",
			"[mcp_servers.cadre] # mine\r\nargs = [ 'mcp', # tools\r\n  \"--team\", \"docs\" ]\r\ncommand = \"cadre\"\r\nstartup_timeout_sec = 20\r\n\r\n[mcp_servers.cadre.env]\r\nA = \"b\"\r\n\r\n[z]\r\nn = 1",
			"args startup_timeout_sec env",
		},
		{
			"codex", ".codex/config.toml", "[mcp_servers.cadre]\ncommand = \"cadre\"\nargs = [\"mcp\", \"--tools\", \"team\"]\nenv = { A = \"b\" }\n", "", "env",
		},
		{
			"codex", ".codex/config.toml", "[mcp_servers.cadre]\ncommand = \"cadre\"\n[mcp_servers.cadre.env]\nA = \"b\"\n",
			"[mcp_servers.cadre]\ncommand = \"cadre\"\nargs = [\"mcp\", \"--tools\", \"team\"]\n[mcp_servers.cadre.env]\nA = \"b\"\n", "env",
		},
		{
			"codex", ".codex/config.toml", "[mcp_servers.cadre]\nargs = [\"x\"]\ncommand = \"/o/cadre\"\nenabled = true\n",
			"[mcp_servers.cadre]\nargs = [\"mcp\", \"--tools\", \"team\"]\ncommand = \"cadre\"\nenabled = true\n", "enabled",
		},
		{
			"codex", ".codex/config.toml", "[mcp_servers.cadre]\ncommand = \"cadre\"\nargs = [\"mcp\", \"--tools\", \"team\"]\nenv_vars = [\"MINE\"]\n", "", "env_vars",
		},
		{
			"codex", ".codex/config.toml", "[ \"mcp_servers\" . 'cadre' ]\ncommand = \"/o/cadre\"\nargs = [\"mcp\"]\n",
			"[ \"mcp_servers\" . 'cadre' ]\ncommand = \"cadre\"\nargs = [\"mcp\"]\n", "args",
		},
	} {
		c := planned(t, tt.tool, tt.path, tt.text, Wish{Hooks: tt.tool == "claude"})
		if tt.want == "" {
			tt.want = tt.text
		}
		if got := string(c.After); got != tt.want && (!strings.HasSuffix(tt.want, ",") || !strings.HasPrefix(got, tt.want)) {
			t.Errorf("%s became\n%q, not\n%q", tt.text, got, tt.want)
		}
		if !slices.Equal(c.Kept, strings.Fields(tt.kept)) {
			t.Errorf("%s keeps %q, not %q", tt.text, c.Kept, tt.kept)
		}
	}
}

// An entry of our name that starts something else is replaced only for somebody who says
// so, and taken away for nobody; what stands beside it stays.
func TestAnEntryOfAnotherProgramIsNotReplaced(t *testing.T) {
	for _, tt := range []struct{ tool, path, text, starts string }{
		{"claude", ".claude.json", `{"a":1,"mcpServers":{"cadre":{"command":"npx","args":["-y","cadre-of-another"],"env":{"KEY":"secret"}},"b":{}}}`, "npx -y cadre-of-another"},
		{"claude", ".claude.json", `{"mcpServers":{"cadre":{"type":"http","url":"http://127.0.0.1:7333/mcp"},"b":{}}}`, "http://127.0.0.1:7333/mcp"},
		{"gemini", ".gemini/settings.json", `{"mcpServers":{"cadre":{"httpUrl":"http://127.0.0.1:7333/mcp"},"b":{}}}`, "http://127.0.0.1:7333/mcp"},
		{"gemini", ".gemini/settings.json", `{"mcpServers":{"cadre":null,"b":{}}}`, "nothing that is known"},
		{"codex", ".codex/config.toml", "[mcp_servers.cadre]\nargs = ['-x', \"y\"]\ncommand = \"/opt/other\"\n\n[b]\nc = 1\n", "/opt/other -x y"},
		{"codex", ".codex/config.toml", "[mcp_servers.cadre]\nurl = \"http://127.0.0.1:7333/mcp\"\n\n[b]\nc = 1\n", "http://127.0.0.1:7333/mcp"},
		{"codex", ".codex/config.toml", "[mcp_servers.cadre]\ncommand = \"cadre\"\nargs = 5\n\n[b]\nc = 1\n", "cadre …"},
		{"codex", ".codex/config.toml", "[mcp_servers.cadre.env]\nKEY = \"secret\"\n\n[b]\nc = 1\n", "nothing that is known"},
	} {
		p := place(t)
		tool, _ := Find(tt.tool)
		file := filepath.Join(p.Home, tt.path)
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, []byte(tt.text), 0o600)); err != nil {
			t.Fatal(err)
		}
		_, err := tool.Plan(p, Wish{})
		if other, ok := errors.AsType[*TakenError](err); !ok || other.Starts != tt.starts || !strings.Contains(err.Error(), file) {
			t.Errorf("%s: %v", tt.text, err)
		}
		if c := planned(t, tt.tool, tt.path, tt.text, Wish{Drop: true}); c.Needed() || c.Left != tt.starts {
			t.Errorf("%s became\n%s\nand %q is left", tt.text, c.After, c.Left)
		}
		after := string(planned(t, tt.tool, tt.path, tt.text, Wish{Replace: true}).After)
		if after == tt.text || !strings.Contains(after, `"--tools"`) || strings.Contains(after, tt.starts) || strings.Contains(after, "KEY") || !strings.Contains(after, "b") {
			t.Errorf("%s became\n%s", tt.text, after)
		}
	}
}

func TestALinkWithNothingAtItsEnd(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("links need a privilege there")
	}
	p, dots := place(t), t.TempDir()
	link, hop := filepath.Join(p.Home, ".gemini", "settings.json"), filepath.Join(dots, "hop.json")
	if err := errors.Join(os.Mkdir(filepath.Dir(link), 0o700), os.Symlink(hop, link), os.Symlink("real.json", hop)); err != nil {
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
	if to, err := os.Readlink(link); err != nil || to != hop {
		t.Errorf("the link is %q, %v", to, err)
	}
	if text, err := os.ReadFile(filepath.Join(dots, "real.json")); err != nil || !strings.Contains(string(text), "cadre") {
		t.Errorf("%s, %v", text, err)
	}
	for _, tt := range []struct{ tool, path, to string }{
		{"gemini", ".gemini/settings.json", "missing/settings.json"}, {"codex", ".codex", "missing"}, {"claude", ".claude.json", ".claude.json"},
	} {
		link := filepath.Join(p.Home, tt.path)
		if err := errors.Join(os.RemoveAll(link), os.Symlink(filepath.Join(p.Home, tt.to), link)); err != nil {
			t.Fatal(err)
		}
		tool, _ := Find(tt.tool)
		if changes, err := tool.Plan(p, Wish{}); err == nil || !strings.Contains(err.Error(), tt.path) {
			t.Errorf("%s is changed: %v, %v", tt.path, changes, err)
		}
	}
}
