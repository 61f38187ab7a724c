package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"unicode/utf8"

	"cadre"
)

const maxTodoFile = 4 << 20

// openInput opens a file that the command line names; - is standard input.
func (p *program) openInput(name string) (io.ReadCloser, error) {
	if name == "-" {
		return io.NopCloser(p.stdin), nil
	}
	f, err := os.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, cadre.Refuse(cadre.RuleMissing, "ls", "there is no file %s", name)
	}
	if err != nil {
		return nil, cadre.Fault(err, "ls -l "+name, "opening the file")
	}
	return f, nil
}

// importFile is the import verb on the command line: its tasks come from a file.
type importFile struct {
	File       string `json:"file,omitempty" arg:"[FILE]" help:"one task a line, as in {\"id\": \"2\", \"subject\": \"Build it\", \"blockedBy\": [\"1\"]}; - reads standard input"`
	Key        string `json:"key,omitempty" help:"the same key again creates nothing and answers the same"`
	FromClaude string `json:"fromClaude,omitempty" help:"a Claude Code folder of another place, whose teams and lists are taken over whole"`
}

func (v *importFile) read(p *program) (any, error) {
	if (v.File == "") == (v.FromClaude == "") {
		return nil, usage("cadre import plan.jsonl", "give a file, or with --from-claude a folder")
	}
	if v.FromClaude != "" {
		return &takeOver{program: p, dir: v.FromClaude}, nil
	}
	in, err := p.openInput(v.File)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	lines, err := readImport(in, maxImportLine)
	return &cadre.TaskImport{Lines: lines, Key: v.Key}, err
}

// readImport reads one task a line, none longer than limit. Every line counts,
// because tasks refer to each other by the numbers of their lines; only the end
// may be blank.
func readImport(in io.Reader, limit int) ([]cadre.ImportLine, error) {
	const hint = `one object a line, as in {"subject":"what is to be done"}`
	reader := newLineReader(in, limit)
	var lines []cadre.ImportLine
	blank := 0
	for n := 1; ; n++ {
		data, err := reader.next()
		if n == 1 {
			data = bytes.TrimPrefix(data, []byte("\ufeff"))
		}
		switch {
		case errors.Is(err, io.EOF) && len(lines) == 0:
			return nil, usage(hint, "there is nothing to import")
		case errors.Is(err, io.EOF):
			return lines, nil
		case errors.Is(err, errLineTooLong):
			return nil, cadre.Refuse(cadre.RuleLimit, "shorten it", "line %d is longer than %d bytes", n, limit)
		case err != nil:
			return nil, cadre.Fault(err, "check the file", "reading line %d", n)
		case len(data) == 0:
			if blank == 0 {
				blank = n
			}
			continue
		case blank > 0:
			return nil, usage(hint, "line %d is empty", blank)
		case len(lines) == cadre.MaxTasks:
			return nil, cadre.Refuse(cadre.RuleLimit, "import it in parts", "there are more than %d lines, which is as many as a list takes", cadre.MaxTasks)
		case !utf8.Valid(data):
			return nil, usage("save the file as UTF-8", "line %d is not valid UTF-8", n)
		case data[0] != '{':
			return nil, usage(hint, "line %d is not a JSON object", n)
		}
		var l cadre.ImportLine
		if err := json.Unmarshal(data, &l); err != nil {
			return nil, usage(hint, "line %d: %s", n, jsonProblem(err))
		}
		if reader.odd != "" {
			return nil, usage(hint, "line %d: a task has no field %q: did you mean %s?", n, reader.odd, misspelt(reader.odd))
		}
		lines = append(lines, l)
	}
}

// jsonProblem says what is wrong with a document, without the words of Go.
func jsonProblem(err error) string {
	if e, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		if e.Field == "" {
			return "a " + e.Value + " stands where an object should"
		}
		return fmt.Sprintf("%q cannot be a %s", e.Field, e.Value)
	}
	return "not valid JSON: " + err.Error()
}

// todoFile is the todo verb on the command line: the list comes from a file.
type todoFile struct {
	File string `json:"file,omitempty" arg:"[FILE]" help:"{\"todos\":[...]} or the list alone; standard input without"`
}

func (v *todoFile) read(p *program) (any, error) {
	const hint = `echo '{"todos":[{"content":"Test it","activeForm":"Testing it","status":"pending"}]}' | cadre todo write`
	if v.File == "" {
		if p.inTerm {
			return nil, usage(hint, "todo write needs a list: name a file, or pipe one in")
		}
		v.File = "-"
	}
	in, err := p.openInput(v.File)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	data, err := io.ReadAll(io.LimitReader(in, maxTodoFile+1))
	switch {
	case err != nil:
		return nil, cadre.Fault(err, "check the file", "reading the list")
	case len(data) > maxTodoFile:
		return nil, cadre.Refuse(cadre.RuleLimit, "a todo list is small", "the list is longer than %d bytes", maxTodoFile)
	case !utf8.Valid(data):
		return nil, usage("save the file as UTF-8", "the list is not valid UTF-8")
	}
	verb := &cadre.TodoWrite{}
	if data = bytes.TrimSpace(data); bytes.HasPrefix(data, []byte("[")) {
		err = json.Unmarshal(data, &verb.Items)
	} else {
		var doc struct {
			Todos *[]cadre.TodoItem `json:"todos"`
		}
		if err = json.Unmarshal(data, &doc); err == nil && doc.Todos == nil {
			return nil, usage(hint, "the document has no \"todos\"")
		}
		if err == nil {
			verb.Items = *doc.Todos
		}
	}
	if err != nil {
		return nil, usage(hint, "the list: %s", jsonProblem(err))
	}
	return verb, nil
}
