package cli

import (
	"bufio"
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"cadre"
	"cadre/memstore"
)

// FuzzCommandLine: whatever is typed, the program answers with one of its exit
// codes, with --json exactly one document, and never with a raw escape.
func FuzzCommandLine(f *testing.F) {
	for _, seed := range []string{
		"task\x00add\x00x", "task\x00list\x00--json", "task\x00update\x001\x00--metadata\x00a=\x1b", "log\x00--since\x001h", "--as\x00bob\x00task\x00next\x00--claim",
		"msg\x00send\x00team-lead\x00\x1b[2J", "todo\x00write", "undo", "diff\x000", "task\x00graph\x00--mermaid", "--scope\x00../x\x00task\x00list", "\x1b[31m", "help\x00x",
		"audit\x00verify\x00nothing", "at\x00-1", "blame\x001\x00-q", "team\x00create\x00\x00", "ask\x00for\x00question\x00why", "watch\x00--json", "completion\x00fish",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		args := strings.Split(s, "\x00")
		if slices.Contains(args, "man") || slices.Contains(args, "import") || slices.Contains(args, "-") {
			t.Skip("reads or writes files")
		}
		store := memstore.New()
		for _, setup := range [][]string{{"team", "create", "docs"}, {"task", "add", "evil\x1b[2J"}, {"--as", "bob", "team", "join"}} {
			fuzzRun(t, store, setup)
		}
		p, code, out, talk := fuzzRun(t, store, args)
		if code < 0 || code > 8 {
			t.Errorf("%q exits with %d", args, code)
		}
		if strings.ContainsAny(out+talk, "\x1b\x07") && !slices.Contains(args, "completion") && p.color != "always" {
			t.Errorf("%q writes an escape: %q", args, out+talk)
		}
		if p.json && code != 0 && !json.Valid([]byte(out)) {
			t.Errorf("%q refuses with %q, which is no document", args, out)
		}
	})
}

// unclosed is a store that outlives the program.
type unclosed struct{ *memstore.Store }

func (unclosed) Close() error { return nil }

func fuzzRun(t *testing.T, store *memstore.Store, args []string) (p *program, code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	dir := t.TempDir()
	p = &program{
		stdin: strings.NewReader(`{"todos":[]}`), out: bufio.NewWriter(&out), stderr: &errs, cwd: dir, now: clock,
		env:  map[string]string{"CADRE_STATE_DIR": dir + "/state", "HOME": dir},
		open: func(_, _ string) (cadre.Store, error) { return unclosed{store}, nil },
	}
	p.store = unclosed{store}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	code = p.run(ctx, args)
	return p, code, out.String(), errs.String()
}

// FuzzAnchors: of all documents only the one that was signed is an anchor, in whatever
// layout.
func FuzzAnchors(f *testing.F) {
	key := ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize))
	doc := &anchorDoc{Format: anchorFormat, PublicKey: publicHex(key), Anchors: []cadre.Anchor{{Scope: "docs", Head: cadre.Head{Epoch: "e", Seq: 7, Hash: "h", Next: 3}}}}
	signed, err := doc.signed()
	if err != nil {
		f.Fatal(err)
	}
	doc.Signature = hex.EncodeToString(ed25519.Sign(key, signed))
	good, err := json.Marshal(doc)
	if err != nil {
		f.Fatal(err)
	}
	if _, wrong := checkAnchors(bytes.NewReader(good), "kept", []string{doc.PublicKey}); wrong != "" {
		f.Fatalf("the document itself %s", wrong)
	}
	for _, seed := range []string{string(good), " " + string(good) + "\n", strings.Replace(string(good), `"seq":7`, `"seq":7,"seq":8`, 1), strings.ToUpper(string(good)), "{}", "[]", "null", ""} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		anchors, wrong := checkAnchors(bytes.NewReader(data), "kept", []string{doc.PublicKey})
		var have bytes.Buffer
		same := json.Compact(&have, data) == nil && bytes.Equal(have.Bytes(), good)
		if same != (wrong == "") || same != (len(anchors) == 1) {
			t.Errorf("%q gives %v, %q", data, anchors, wrong)
		}
	})
}

// FuzzTodos: a list is taken, or refused as a mistake of its writer; one that is taken
// can be written out and given again.
func FuzzTodos(f *testing.F) {
	for _, seed := range []string{
		`{"todos":[{"content":"a","activeForm":"b","status":"pending"}]}`, `[{"content":"a","activeForm":"b","status":"in_progress"}]`,
		`{"todos":null}`, `{"todos":[null]}`, `[[]]`, `{}`, `null`, `"x"`, "\ufeff[]", "[", "",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		got, err := (&todoFile{}).read(&program{stdin: bytes.NewReader(data)})
		if err != nil {
			if e := cadre.AsError(err); e.Code != cadre.CodeUsage || e.Hint == "" {
				t.Errorf("%q: %+v", data, e)
			}
			return
		}
		again, err := json.Marshal(got)
		if err != nil {
			t.Fatal(err)
		}
		twice, err := (&todoFile{}).read(&program{stdin: bytes.NewReader(again)})
		if err != nil || len(twice.(*cadre.TodoWrite).Items) != len(got.(*cadre.TodoWrite).Items) {
			t.Errorf("%q is read, and %q gives %v, %v", data, again, twice, err)
		}
	})
}
