package cli_test

import (
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
	_ "modernc.org/sqlite" // to damage a database behind the program's back
)

// scriptCommands are what the scripts can do besides running programs.
func scriptCommands() map[string]func(*testscript.TestScript, bool, []string) {
	return map[string]func(*testscript.TestScript, bool, []string){
		"exits": exits, "capture": capture, "json": checkJSON, "tamper": tamper, "overwrite": overwrite, "halve": halve,
		"operator": holds("operator"), "member": holds("member"),
	}
}

// exits CODE PROGRAM ARG... checks an exit code.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE PROGRAM [ARG...]")
	}
	err := ts.Exec(args[1], args[2:]...)
	code := 0
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		code = exit.ExitCode()
	} else if err != nil {
		ts.Fatalf("%v", err)
	}
	if strconv.Itoa(code) != args[0] {
		ts.Fatalf("exit code %d, want %s\nstdout: %s\nstderr: %s", code, args[0], ts.ReadFile("stdout"), ts.ReadFile("stderr"))
	}
}

// holds makes operator and member: each keeps the token that was just issued, or
// goes back to the one it has.
func holds(who string) func(*testscript.TestScript, bool, []string) {
	return func(ts *testscript.TestScript, _ bool, _ []string) {
		if token, ok := strings.CutPrefix(strings.TrimSpace(ts.ReadFile("stdout")), "CADRE_TOKEN="); ok {
			ts.Setenv("token_"+who, token)
		}
		ts.Setenv("CADRE_TOKEN", ts.Getenv("token_"+who))
	}
}

// capture NAME keeps the last output in a variable.
func capture(ts *testscript.TestScript, _ bool, args []string) {
	ts.Setenv(args[0], strings.TrimSpace(ts.ReadFile("stdout")))
}

// json PATH VALUE looks a value up in the last output, which must be exactly one
// document; the path of an element of a list is its number, and len is its length.
func checkJSON(ts *testscript.TestScript, neg bool, args []string) {
	dec := json.NewDecoder(strings.NewReader(ts.ReadFile("stdout")))
	var doc any
	if err := dec.Decode(&doc); err != nil {
		ts.Fatalf("the output is not JSON: %v\n%s", err, ts.ReadFile("stdout"))
	}
	if dec.More() {
		ts.Fatalf("the output is more than one document")
	}
	got := lookUp(doc, args[0])
	if (got == args[1]) == neg {
		ts.Fatalf("%s is %q, want %q\n%s", args[0], got, args[1], ts.ReadFile("stdout"))
	}
}

func lookUp(doc any, path string) string {
	for part := range strings.SplitSeq(path, ".") {
		switch v := doc.(type) {
		case map[string]any:
			doc = v[part]
		case []any:
			if part == "len" {
				doc = len(v)
				continue
			}
			i, err := strconv.Atoi(part)
			if err != nil || i >= len(v) {
				return "nothing"
			}
			doc = v[i]
		}
	}
	if doc == nil {
		return "nothing"
	}
	return fmt.Sprint(doc)
}

// tamper SQL changes the database as somebody with the file could.
func tamper(ts *testscript.TestScript, _ bool, args []string) {
	db, err := sql.Open("sqlite", ts.Getenv("CADRE_STATE_DIR")+"/cadre.db")
	ts.Check(err)
	defer db.Close()
	for _, statement := range args {
		_, err := db.Exec(statement)
		ts.Check(err)
	}
}

// overwrite FILE TEXT writes over the beginning of a file, as a bad disk does.
func overwrite(ts *testscript.TestScript, _ bool, args []string) {
	f, err := os.OpenFile(ts.MkAbs(args[0]), os.O_RDWR, 0)
	ts.Check(err)
	defer f.Close()
	_, err = f.WriteAt([]byte(args[1]), 0)
	ts.Check(err)
}

// halve FILE cuts a file in half.
func halve(ts *testscript.TestScript, _ bool, args []string) {
	info, err := os.Stat(ts.MkAbs(args[0]))
	ts.Check(err)
	ts.Check(os.Truncate(ts.MkAbs(args[0]), info.Size()/2))
}
