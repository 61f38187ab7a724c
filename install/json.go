package install

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// entry is a server in the settings of a program that keeps them as JSON: under a key
// for all servers, one each.
type entry struct {
	key    string
	server func(command string) any
}

// serve is what Cadre is started with: the tools for tasks and mail, and those to join
// and to lead a team.
var serve = []string{"mcp", "--tools", "team"}

type server struct {
	Type    string   `json:"type,omitempty"`
	Command string   `json:"command"`
	Args    []string `json:"args"`
}

func plainServer(command string) any { return server{"", command, serve} }
func typedServer(command string) any { return server{"stdio", command, serve} }

func claudeServer(command string) any {
	return struct {
		server
		Env struct{} `json:"env"`
	}{server: server{"stdio", command, serve}}
}

// geminiServer has the caller's token passed: Gemini CLI keeps from its servers what is
// called like a secret.
func geminiServer(command string) any {
	return struct {
		server
		Env map[string]string `json:"env"`
	}{server{"", command, serve}, map[string]string{"CADRE_TOKEN": "$CADRE_TOKEN"}}
}

func opencodeServer(command string) any {
	return struct {
		Type    string   `json:"type"`
		Command []string `json:"command"`
		Enabled bool     `json:"enabled"`
	}{"local", append([]string{command}, serve...), true}
}

// add puts the entry in. In one that starts Cadre already only that is changed which
// would keep it from starting this very program; all else is its user's to decide.
func (e entry) add(text []byte, command string) ([]byte, []string, error) {
	value, err := json.Marshal(e.server(command))
	if err != nil {
		return nil, nil, err
	}
	if len(bytes.TrimSpace(text)) == 0 {
		text = []byte("{}\n")
	}
	path := []string{e.key, name}
	at, _, _, err := find(text, path)
	if err != nil {
		return nil, nil, err
	}
	if at < 0 {
		text, err = set(text, path, value)
		return text, nil, err
	}
	o, _ := scan(text, at) // what is no object has no members
	wrong, kept, other := mend(text, o, value, command)
	if other != nil {
		if text, err = set(text, path, value); err == nil {
			err = other
		}
		return text, nil, err
	}
	for _, m := range wrong {
		if text, err = set(text, append(path, m.key), m.value); err != nil {
			return nil, nil, err
		}
	}
	return text, kept, nil
}

// pair is a key and what it is to be.
type pair struct {
	key   string
	value json.RawMessage
}

// mend says what is wrong in an entry that starts Cadre, and which keys have another
// value than we would give them and keep it. An entry that does not is another's.
func mend(text []byte, o object, value json.RawMessage, command string) (wrong []pair, kept []string, other error) {
	has, want := map[string]json.RawMessage{}, map[string]json.RawMessage{}
	for _, m := range o.members {
		has[m.key] = json.RawMessage(text[m.value:m.valueEnd])
	}
	if err := json.Unmarshal(value, &want); err != nil {
		panic(err) // it was marshalled by us
	}
	var line []string // some programs have the whole command line under one key
	whole := bytes.HasPrefix(want["command"], []byte("["))
	if whole {
		_ = json.Unmarshal(has["command"], &line) // what is no such list starts nothing
	} else {
		var program string
		if json.Unmarshal(has["command"], &program) == nil && json.Unmarshal(has["args"], &line) != nil {
			line = nil
		}
		line = append([]string{program}, line...)
	}
	if len(line) == 0 || !isCadre(line[0], command) {
		var address string
		for _, key := range []string{"url", "httpUrl"} {
			_ = json.Unmarshal(has[key], &address) // what is no text is no address
		}
		return nil, nil, taken(line, address)
	}
	serves := len(line) > 1 && line[1] == serve[0]
	if whole && serves {
		line[0] = command
		as, err := json.Marshal(line)
		if err != nil {
			panic(err) // a list of strings is always JSON
		}
		want["command"] = as
	}
	if !same(has["command"], want["command"]) {
		wrong = append(wrong, pair{"command", want["command"]})
	}
	if !whole && !serves {
		wrong = append(wrong, pair{"args", want["args"]})
	}
	if as, ok := has["type"]; ok && want["type"] != nil && !same(as, want["type"]) {
		wrong = append(wrong, pair{"type", want["type"]})
	}
	for _, m := range o.members {
		put := slices.ContainsFunc(wrong, func(p pair) bool { return p.key == m.key })
		if !put && !slices.Contains(kept, m.key) && (want[m.key] == nil || !same(has[m.key], want[m.key])) {
			kept = append(kept, m.key)
		}
	}
	return wrong, kept, nil
}

// drop takes the entry away, if it starts Cadre.
func (e entry) drop(text []byte, command string) ([]byte, error) {
	if len(bytes.TrimSpace(text)) == 0 {
		return text, nil
	}
	path := []string{e.key, name}
	at, _, _, err := find(text, path)
	if err != nil || at < 0 {
		return text, err
	}
	value, err := json.Marshal(e.server(command))
	if err != nil {
		return nil, err
	}
	o, _ := scan(text, at) // what is no object has no members
	if _, _, other := mend(text, o, value, command); other != nil {
		return text, other
	}
	return unset(text, path)
}

func (e entry) ours() string { return quote(name) + " under " + quote(e.key) }

// object is where the parts of a JSON object are in a text.
type object struct {
	start, end int // of the braces
	members    []member
}

// member is one key and its value; from the key to the end of the value.
type member struct {
	key                    string
	start, value, valueEnd int
}

// scan finds the members of the object that begins at a place.
func scan(text []byte, at int) (object, error) {
	o := object{start: at}
	d := json.NewDecoder(bytes.NewReader(text[at:]))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return o, ErrUnknownText
	}
	for d.More() {
		before := at + int(d.InputOffset())
		key, err := d.Token()
		if err != nil {
			return o, ErrUnknownText
		}
		afterKey := at + int(d.InputOffset())
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return o, ErrUnknownText
		}
		end := at + int(d.InputOffset())
		o.members = append(o.members, member{
			key.(string), before + bytes.IndexByte(text[before:afterKey], '"'), end - len(value), end,
		})
	}
	if _, err := d.Token(); err != nil {
		return o, ErrUnknownText
	}
	o.end = at + int(d.InputOffset())
	return o, nil
}

// root finds the members of the object that a text is. A byte order mark and spaces
// may stand before it, and nothing but spaces behind.
func root(text []byte) (object, error) {
	at := bytes.IndexByte(text, '{')
	if at < 0 || len(bytes.Trim(text[:at], "\xef\xbb\xbf \t\r\n")) > 0 {
		return object{}, unread(text)
	}
	o, err := scan(text, at)
	if err != nil || len(bytes.TrimSpace(text[o.end:])) > 0 {
		return o, unread(text)
	}
	return o, nil
}

// find gives the last member of a key: that is the one that counts.
func (o object) find(key string) (m member, i int) {
	for i := len(o.members) - 1; i >= 0; i-- {
		if o.members[i].key == key {
			return o.members[i], i
		}
	}
	return m, -1
}

// set gives the value at a path of keys, and changes nothing else.
func set(text []byte, path []string, value json.RawMessage) ([]byte, error) {
	o, err := root(text)
	if err != nil {
		return nil, err
	}
	unit := indentOf(text, o)
	for depth := 1; ; depth++ {
		m, i := o.find(path[0])
		switch {
		case i < 0:
			for k := len(path) - 1; k > 0; k-- { // the objects on the way
				value = fmt.Appendf(nil, "{%s:%s}", quote(path[k]), value)
			}
			return insert(text, o, depth, unit, path[0], value), nil
		case len(path) == 1:
			if same(text[m.value:m.valueEnd], value) {
				return text, nil
			}
			return splice(text, m.value, m.valueEnd, pretty(value, depth, unit)), nil
		}
		if o, err = scan(text, m.value); err != nil {
			return nil, err
		}
		path = path[1:]
	}
}

// unset removes the value at a path of keys, and the object it was in if that is
// empty then.
func unset(text []byte, path []string) ([]byte, error) {
	o, err := root(text)
	if err != nil {
		return nil, err
	}
	from, i := o, -1
	for k, key := range path {
		m, at := o.find(key)
		if at < 0 {
			return text, nil
		}
		if k == len(path)-1 {
			if len(o.members) > 1 || k == 0 {
				from, i = o, at
			}
			break
		}
		from, i = o, at
		if o, err = scan(text, m.value); err != nil {
			return nil, err
		}
	}
	return remove(text, from, i), nil
}

// insert puts a member behind the last.
func insert(text []byte, o object, depth int, unit, key string, value json.RawMessage) []byte {
	line := "\n" + strings.Repeat(unit, depth)
	added := quote(key) + ": " + string(pretty(value, depth, unit))
	if n := len(o.members); n > 0 {
		end := o.members[n-1].valueEnd
		return splice(text, end, end, []byte(","+line+added))
	}
	return splice(text, o.start, o.end, []byte("{"+line+added+"\n"+strings.Repeat(unit, depth-1)+"}"))
}

// remove takes a member out, with its comma and its line.
func remove(text []byte, o object, i int) []byte {
	switch {
	case len(o.members) == 1:
		return splice(text, o.start, o.end, []byte("{}"))
	case i == 0:
		return splice(text, o.members[0].start, o.members[1].start, nil)
	default:
		return splice(text, o.members[i-1].valueEnd, o.members[i].valueEnd, nil)
	}
}

// splice puts something in the place of a part of a text, with the line ends that the
// text has.
func splice(text []byte, from, to int, with []byte) []byte {
	with = bytes.ReplaceAll(with, []byte("\n"), []byte(lineEnd(text)))
	return bytes.Join([][]byte{text[:from], with, text[to:]}, nil)
}

// indentOf is what a text is indented by: what stands before its first key.
func indentOf(text []byte, o object) string {
	if len(o.members) > 0 {
		before := text[o.start+1 : o.members[0].start]
		if i := bytes.LastIndexByte(before, '\n'); i >= 0 && len(bytes.TrimLeft(before[i+1:], " \t")) == 0 && i+1 < len(before) {
			return string(before[i+1:])
		}
	}
	return "  "
}

func pretty(value json.RawMessage, depth int, unit string) []byte {
	var out bytes.Buffer
	if err := json.Indent(&out, value, strings.Repeat(unit, depth), unit); err != nil {
		panic(err) // it was marshalled by us
	}
	return out.Bytes()
}

// same says whether two texts are the same JSON.
func same(a, b []byte) bool {
	var x, y bytes.Buffer
	return json.Compact(&x, a) == nil && json.Compact(&y, b) == nil && bytes.Equal(x.Bytes(), y.Bytes())
}

func quote(s string) string {
	out, err := json.Marshal(s)
	if err != nil {
		panic(err) // a string is always JSON
	}
	return string(out)
}

// find gives where the value at a path of keys begins, -1 for nowhere, how deep that
// is, and what the text is indented by.
func find(text []byte, path []string) (at, depth int, unit string, err error) {
	o, err := root(text)
	if err != nil {
		return -1, 0, "", err
	}
	unit = indentOf(text, o)
	for depth, key := range path {
		m, i := o.find(key)
		if i < 0 {
			return -1, 0, unit, nil
		}
		if depth == len(path)-1 {
			return m.value, depth + 1, unit, nil
		}
		if o, err = scan(text, m.value); err != nil {
			return -1, 0, "", err
		}
	}
	return -1, 0, unit, nil
}

// scanList finds the items of the list that begins at a place, and its end.
func scanList(text []byte, at int) (items [][2]int, end int, err error) {
	d := json.NewDecoder(bytes.NewReader(text[at:]))
	if t, err := d.Token(); err != nil || t != json.Delim('[') {
		return nil, 0, ErrUnknownText
	}
	for d.More() {
		var item json.RawMessage
		if err := d.Decode(&item); err != nil {
			return nil, 0, ErrUnknownText
		}
		end := at + int(d.InputOffset())
		items = append(items, [2]int{end - len(item), end})
	}
	if _, err := d.Token(); err != nil {
		return nil, 0, ErrUnknownText
	}
	return items, at + int(d.InputOffset()), nil
}
