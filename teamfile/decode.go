package teamfile

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"

	"cadre"
)

// MaxSize is how long a team file may be.
const MaxSize = 4 << 20

// place is where something stands in the file.
type place struct{ line, column int }

// Problem is one thing that is wrong in a file.
type Problem struct {
	Line    int    `json:"line"`
	Column  int    `json:"column"`
	Message string `json:"message"`
}

// reader collects what is wrong while it reads.
type reader struct {
	file     *File
	anchors  map[string]ast.Node
	merging  map[ast.Node]bool // mappings that are being merged into others
	read     int
	problems []Problem
}

// maxProblems is how many mistakes are told at a time.
const maxProblems = 100

// maxValues is how much a file may say, aliases written out.
const maxValues = 500_000

// Parse reads a team file that stands in a folder. The error names everything that is
// wrong, what the rule book would refuse once nothing else is. What only this machine
// can tell, whether a member can be run, is check's to say: it lists what it cannot
// honour.
func Parse(path, dir string, data []byte, check func(*cadre.Member) []string) (*File, error) {
	r := &reader{file: &File{Path: path, Dir: dir, Digest: cadre.Digest(string(data)), places: map[string]place{}}, anchors: map[string]ast.Node{}, merging: map[ast.Node]bool{}}
	if len(data) > MaxSize {
		return nil, refuse(path, []Problem{{1, 1, fmt.Sprintf("the file is %d bytes long, %d are allowed", len(data), MaxSize)}})
	}
	tokens := lexer.Tokenize(string(data))
	if p, ok := tooMuch(tokens); ok {
		return nil, refuse(path, []Problem{p})
	}
	tree, err := parser.Parse(tokens, 0, parser.AllowDuplicateMapKey())
	if err != nil {
		return nil, refuse(path, []Problem{syntax(err)})
	}
	bodies := slices.DeleteFunc(tree.Docs, func(d *ast.DocumentNode) bool { return d.Body == nil })
	switch len(bodies) {
	case 0:
		r.problems = []Problem{{1, 1, "the file is empty: it needs members and tasks"}}
	case 1:
		r.value(bodies[0].Body, reflect.ValueOf(r.file).Elem(), "")
		r.check(check)
	default:
		r.at(bodies[1].Body, "a team file is one document, and here begins another")
	}
	if len(r.problems) > 0 {
		return nil, refuse(path, r.problems)
	}
	return r.file, nil
}

// How many words and signs a file may have, and how deep its brackets may go: what the
// parser needs grows with the square of either.
const (
	maxTokens = 100_000
	maxDepth  = 100
)

// tooMuch finds what the parser would take too long for.
func tooMuch(tokens token.Tokens) (Problem, bool) {
	depth := 0
	for i, t := range tokens {
		switch t.Type {
		case token.MappingStartType, token.SequenceStartType:
			depth++
		case token.MappingEndType, token.SequenceEndType:
			depth--
		}
		if i == maxTokens || depth > maxDepth {
			return Problem{t.Position.Line, t.Position.Column, fmt.Sprintf("the file says too much: at most %d words and signs, in brackets %d deep", maxTokens, maxDepth)}, true
		}
	}
	return Problem{}, false
}

// refuse makes one error of all problems, in the order of the file.
func refuse(path string, problems []Problem) error {
	slices.SortStableFunc(problems, func(a, b Problem) int { return cmp.Or(a.Line-b.Line, a.Column-b.Column) })
	problems = slices.Compact(problems)
	var lines []string
	for _, p := range problems[:min(len(problems), maxProblems)] {
		lines = append(lines, fmt.Sprintf("%s:%d:%d: %s", path, p.Line, p.Column, p.Message))
	}
	if len(problems) >= maxProblems {
		lines = append(lines, path+": and maybe more")
	}
	return cadre.Refuse(cadre.RuleValue, "mend the file, then: cadre run --dry-run "+path, "%s", strings.Join(lines, "\n"))
}

// syntax is the problem of a file that is no YAML.
func syntax(err error) Problem {
	p := Problem{1, 1, "not YAML: " + err.Error()}
	if e, ok := errors.AsType[yaml.Error](err); ok {
		p.Message = "not YAML: " + e.GetMessage()
		if at := e.GetToken(); at != nil {
			p.Line, p.Column = at.Position.Line, at.Position.Column
		}
	}
	return p
}

func (r *reader) at(n ast.Node, format string, args ...any) {
	where := whereIs(n)
	r.problems = append(r.problems, Problem{where.line, where.column, fmt.Sprintf(format, args...)})
}

// whereIs is where a node begins. A mapping's own token is that of its first colon.
func whereIs(n ast.Node) place {
	if m, ok := n.(*ast.MappingNode); ok && len(m.Values) > 0 && !m.IsFlowStyle {
		n = m.Values[0].Key
	}
	if m, ok := n.(*ast.MappingValueNode); ok {
		n = m.Key
	}
	var at *token.Token
	if n != nil {
		at = n.GetToken()
	}
	if at == nil {
		return place{1, 1}
	}
	return place{at.Position.Line, at.Position.Column}
}

// wrong notes what is wrong with something that was read, by its path.
func (r *reader) wrong(path, format string, args ...any) {
	where, ok := r.file.places[path]
	for !ok && path != "" {
		path = path[:max(0, strings.LastIndexByte(path, '\x00'))]
		where, ok = r.file.places[path]
	}
	line, column := max(1, where.line), max(1, where.column)
	if !slices.ContainsFunc(r.problems, func(p Problem) bool { return p.Line == line && p.Column == column }) { // else it may only follow from that one
		r.problems = append(r.problems, Problem{line, column, fmt.Sprintf(format, args...)})
	}
}

// join makes the path of a part.
func join(path, part string) string { return path + "\x00" + part }

// resolve follows anchors and aliases to the value.
func (r *reader) resolve(n ast.Node) ast.Node {
	for range 100 {
		switch v := n.(type) {
		case *ast.AnchorNode:
			r.anchors[v.Name.GetToken().Value] = v.Value
			n = v.Value
		case *ast.AliasNode:
			name := v.Value.GetToken().Value
			if r.anchors[name] == nil {
				r.at(n, "there is no &%s before this *%[1]s", name)
				return nil
			}
			n = r.anchors[name]
		case *ast.TagNode:
			n = v.Value
		default:
			return n
		}
	}
	r.at(n, "this leads to itself")
	return nil
}

// value reads a node into a value of one of the types of the format.
func (r *reader) value(n ast.Node, into reflect.Value, path string) {
	if r.read++; r.read > maxValues {
		if r.read == maxValues+1 {
			r.at(n, "with its aliases written out the file says more than %d things", maxValues)
		}
		return
	}
	r.file.places[path] = whereIs(n)
	if n = r.resolve(n); n == nil || n.Type() == ast.NullType {
		return
	}
	switch {
	case into.Type() == reflect.TypeFor[time.Duration]():
		if text, ok := r.text(n, path); ok {
			d, err := time.ParseDuration(text)
			if err != nil || d < 0 {
				r.at(n, "%q is no length of time: write 30s, 5m or 2h", text)
			}
			into.SetInt(int64(d))
		}
	case into.Kind() == reflect.Pointer:
		into.Set(reflect.New(into.Type().Elem()))
		if policy, ok := into.Interface().(*Policy); ok && n.Type() == ast.StringType { // "plan: deny" is short for its answer
			r.value(n, reflect.ValueOf(&policy.Answer).Elem(), path)
			r.oneOf(n, policy.Answer, "approve,deny,wait")
			return
		}
		if on, ok := n.(*ast.BoolNode); ok && into.Elem().Kind() == reflect.Struct { // "plan: true" is a gate with nothing special
			if !on.Value {
				into.SetZero()
			}
			return
		}
		r.value(n, into.Elem(), path)
	case into.Kind() == reflect.String:
		if text, ok := r.text(n, path); ok {
			into.SetString(text)
		}
	case into.Kind() == reflect.Int:
		text, ok := r.text(n, path)
		i, err := strconv.Atoi(text)
		if ok && err != nil {
			r.at(n, "%q is no whole number", text)
		}
		into.SetInt(int64(i))
	case into.Kind() == reflect.Bool:
		on, ok := n.(*ast.BoolNode)
		if !ok {
			r.at(n, "this is true or false")
			return
		}
		into.SetBool(on.Value)
	case into.Kind() == reflect.Map:
		into.Set(reflect.MakeMap(into.Type()))
		for _, pair := range r.pairs(n, path) {
			key, value := pair.Key.GetToken().Value, reflect.New(into.Type().Elem()).Elem()
			r.value(pair.Value, value, join(path, key))
			into.SetMapIndex(reflect.ValueOf(key), value)
		}
	case into.Kind() == reflect.Slice && keyField(into.Type().Elem()) >= 0:
		r.entries(n, into, path)
	case into.Kind() == reflect.Slice:
		r.list(n, into, path)
	default:
		r.fields(n, into, path)
	}
}

// text reads a scalar as it is written: a command may be "true", a name a number.
func (r *reader) text(n ast.Node, path string) (string, bool) {
	switch v := n.(type) {
	case *ast.StringNode:
		return v.Value, true
	case *ast.LiteralNode:
		return v.Value.Value, true
	case ast.ScalarNode:
		return strings.TrimSpace(v.GetToken().Value), true
	}
	r.at(n, "%s is a single value, and this is a %s", lastPart(path), kindOf(n))
	return "", false
}

func kindOf(n ast.Node) string {
	switch n.(type) {
	case *ast.SequenceNode:
		return "list"
	case *ast.MappingNode, *ast.MappingValueNode:
		return "mapping"
	}
	return "single value"
}

// list reads a list; one value alone is a list of one.
func (r *reader) list(n ast.Node, into reflect.Value, path string) {
	nodes := []ast.Node{n}
	if seq, ok := n.(*ast.SequenceNode); ok {
		nodes = seq.Values
	} else if into.Type().Elem().Kind() != reflect.String {
		r.at(n, "%s is a list, and this is a %s: begin each entry with -", lastPart(path), kindOf(n))
		return
	}
	into.Set(reflect.MakeSlice(into.Type(), len(nodes), len(nodes)))
	for i, n := range nodes {
		r.value(n, into.Index(i), join(path, strconv.Itoa(i)))
	}
}

// pairs gives the keys and values of a mapping, those of merged ones too.
func (r *reader) pairs(n ast.Node, path string) []*ast.MappingValueNode {
	var all []*ast.MappingValueNode
	switch v := n.(type) {
	case *ast.MappingNode:
		all = v.Values
	case *ast.MappingValueNode:
		all = []*ast.MappingValueNode{v}
	default:
		r.at(n, "%s is a mapping of keys to values%s, and this is a %s", cmp.Or(lastPart(path), "a team file"), forInstance(path), kindOf(n))
		return nil
	}
	var merged, own []*ast.MappingValueNode
	seen := map[string]bool{}
	for _, pair := range all {
		key := pair.Key.GetToken().Value
		if seen[key] {
			r.at(pair.Key, "%s is there twice: take one away", key)
			continue
		}
		seen[key] = true
		if _, merges := pair.Key.(*ast.MergeKeyNode); merges {
			merged = r.merge(pair.Value, path)
			continue
		}
		own = append(own, pair)
	}
	return append(slices.DeleteFunc(merged, func(p *ast.MappingValueNode) bool { return seen[p.Key.GetToken().Value] }), own...)
}

// merge gives the pairs of a mapping that is merged into another.
func (r *reader) merge(n ast.Node, path string) []*ast.MappingValueNode {
	from := r.resolve(n)
	if from == nil {
		return nil
	}
	if r.merging[from] {
		r.at(n, "this leads to itself")
		return nil
	}
	r.merging[from] = true
	defer delete(r.merging, from)
	return r.pairs(from, path)
}

// entries reads a mapping whose keys are names into a list, in the order of the file.
func (r *reader) entries(n ast.Node, into reflect.Value, path string) {
	for _, pair := range r.pairs(n, path) {
		key := pair.Key.GetToken().Value
		entry := reflect.New(into.Type().Elem()).Elem()
		entry.Field(keyField(entry.Type())).SetString(key)
		r.value(pair.Value, entry, join(path, key))
		r.file.places[join(path, key)] = whereIs(pair.Key)
		into.Set(reflect.Append(into, entry))
	}
}

// keyField is the field of an entry that has its name, -1 where the type is no entry.
func keyField(t reflect.Type) int {
	if t.Kind() != reflect.Struct {
		return -1
	}
	for i := range t.NumField() {
		if t.Field(i).Tag.Get("yaml") == ",key" {
			return i
		}
	}
	return -1
}

// fieldNames are the keys of a type.
func fieldNames(t reflect.Type) map[string]int {
	names := map[string]int{}
	for i := range t.NumField() {
		if name := t.Field(i).Tag.Get("yaml"); name != "" && name != "-" && name != ",key" {
			names[name] = i
		}
	}
	return names
}

// fields reads a mapping into a struct.
func (r *reader) fields(n ast.Node, into reflect.Value, path string) {
	names := fieldNames(into.Type())
	given := map[string]bool{}
	for _, pair := range r.pairs(n, path) {
		key := pair.Key.GetToken().Value
		i, known := names[key]
		if !known {
			r.at(pair.Key, "unknown key %q%s: %s", key, inside(path), didYouMean(key, names))
			continue
		}
		given[key] = true
		r.value(pair.Value, into.Field(i), join(path, key))
		if values := into.Type().Field(i).Tag.Get("enum"); values != "" {
			r.oneOf(pair.Value, into.Field(i).String(), values)
		}
	}
	for name, i := range names {
		if into.Type().Field(i).Tag.Get("must") != "" && !given[name] {
			r.at(n, "%s is missing%s", name, inside(path))
		}
	}
}

func (r *reader) oneOf(n ast.Node, value, values string) {
	if all := strings.Split(values, ","); value != "" && !slices.Contains(all, value) {
		r.at(n, "%q is none of: %s", value, strings.Join(all, ", "))
	}
}

// forInstance shows how a part of the file is written, where it is easily taken for
// something else: for a name, or for a list.
func forInstance(path string) string {
	switch strings.TrimPrefix(path, "\x00") {
	case "":
		return ", as in members: {ann: {}}"
	case "team":
		return ", as in team: {name: docs}"
	case "members":
		return ", as in members: {ann: {}, runner: {count: 3}}"
	case "tasks":
		return ", as in tasks: {build: {run: make}, test: {run: make test, after: build}}"
	}
	return ""
}

// lastPart names what a path leads to; an entry of a list is called by the list.
func lastPart(path string) string {
	parts := strings.Split(path, "\x00")
	for _, p := range slices.Backward(parts) {
		if _, err := strconv.Atoi(p); err != nil {
			return p
		}
	}
	return ""
}

func inside(path string) string {
	if path == "" {
		return ""
	}
	return " in " + strings.ReplaceAll(strings.TrimPrefix(path, "\x00"), "\x00", ".")
}
