package mcpserver

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"cadre"
)

// param is one parameter of a tool.
type param struct {
	name  string
	help  string
	def   string
	must  bool
	enum  []string
	types []string // where the Go type does not say it
	value reflect.Value
}

// params reads the parameters of a form from the tags of its fields, in order, under
// the names that the tool gives them. Values set through them are set in the form.
func (t *tool) params(form any) []param { return t.appendParams(nil, reflect.ValueOf(form).Elem()) }

func (t *tool) appendParams(out []param, v reflect.Value) []param {
	for i := range v.NumField() {
		f := v.Type().Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Anonymous:
			out = t.appendParams(out, v.Field(i))
		case !f.IsExported(), name == "", name == "-", f.Tag.Get("door") == "-", slices.Contains(t.hide, name):
		default:
			p := param{name: name, help: help(f), def: f.Tag.Get("default"), must: options == "", value: v.Field(i)}
			if t.rename[name] != "" {
				p.name = t.rename[name]
			}
			if enum := f.Tag.Get("enum"); enum != "" {
				p.enum = strings.Split(enum, ",")
			}
			if types := f.Tag.Get("type"); types != "" {
				p.types = strings.Split(types, ",")
			}
			out = append(out, p)
		}
	}
	return out
}

// help says what a parameter means. Times are seconds here.
func help(f reflect.StructField) string {
	text := f.Tag.Get("help")
	if f.Type == reflect.TypeFor[time.Duration]() {
		text, _, _ = strings.Cut(text, ", as in")
		text += fmt.Sprintf("; seconds, at most %d", waitMost)
	}
	return text
}

// schema is the JSON schema of the tool's parameters.
func (t *tool) schema() json.RawMessage {
	var b bytes.Buffer
	b.WriteString(`{"type":"object","properties":{`)
	required := []string{}
	for i, p := range t.params(t.newForm()) {
		if i > 0 {
			b.WriteByte(',')
		}
		s := schemaOf(p.value.Type())
		if p.help != "" {
			s["description"] = p.help
		}
		if p.enum != nil {
			s["enum"] = p.enum
		}
		if p.types != nil {
			s["type"] = p.types
		}
		fmt.Fprintf(&b, "%q:%s", p.name, mustJSON(s))
		if p.must {
			required = append(required, p.name)
		}
	}
	b.WriteString(`}`)
	if len(required) > 0 {
		fmt.Fprintf(&b, `,"required":%s`, mustJSON(required))
	}
	b.WriteString(`,"additionalProperties":false}`)
	return b.Bytes()
}

func mustJSON(v any) []byte {
	data, err := json.Marshal(v)
	if err != nil {
		panic("a tool's own data is not JSON: " + err.Error())
	}
	return data
}

// schemaOf is the schema of a Go type.
func schemaOf(t reflect.Type) map[string]any {
	switch {
	case t.Kind() == reflect.Pointer:
		return schemaOf(t.Elem())
	case t == reflect.TypeFor[time.Duration]():
		return map[string]any{"type": "number"}
	case t == reflect.TypeFor[cadre.Level]():
		return map[string]any{"type": []string{"string", "number"}}
	case t == reflect.TypeFor[json.RawMessage]():
		return map[string]any{}
	}
	switch t.Kind() {
	case reflect.String:
		return map[string]any{"type": "string"}
	case reflect.Bool:
		return map[string]any{"type": "boolean"}
	case reflect.Float64:
		return map[string]any{"type": "number"}
	case reflect.Slice:
		return map[string]any{"type": "array", "items": schemaOf(t.Elem())}
	case reflect.Map:
		return map[string]any{"type": "object"}
	case reflect.Struct:
		item := &tool{}
		properties, required := map[string]any{}, []string{}
		for _, p := range item.params(reflect.New(t).Interface()) {
			properties[p.name] = schemaOf(p.value.Type())
			if p.must {
				required = append(required, p.name)
			}
		}
		return map[string]any{"type": "object", "properties": properties, "required": required}
	}
	return map[string]any{"type": "integer"}
}

// posed says that a parameter tries to make the caller somebody else.
type posed struct{ param string }

func (p posed) Error() string { return "says who calls: " + p.param }

// poses are names under which a caller could try to say who it is or where it belongs.
var poses = []string{
	"as", "from", "sender", "actor", "author", "by", "user", "member", "agent", "agentid", "agentname", "role", "token", "session", "sessionid",
	"scope", "team", "teamname", "list",
}

// decode sets a form from the arguments of a call. What the tool does not have is
// refused, never ignored.
func (t *tool) decode(form any, arguments json.RawMessage) error {
	given := map[string]json.RawMessage{}
	if len(bytes.TrimSpace(arguments)) > 0 {
		if err := json.Unmarshal(arguments, &given); err != nil {
			return cadre.Refuse(cadre.RuleValue, "", "the arguments of %s are no object", t.name)
		}
	}
	params := t.params(form)
	for _, name := range slices.Sorted(maps.Keys(given)) {
		i := slices.IndexFunc(params, func(p param) bool { return p.name == name })
		if i < 0 {
			if slices.Contains(poses, strings.ToLower(strings.ReplaceAll(name, "_", ""))) {
				return posed{name}
			}
			return cadre.Refuse(cadre.RuleValue, "", "%s has no parameter %.40q; it has %s", t.name, name, namesOf(params))
		}
		if err := set(params[i].value, given[name]); err != nil {
			return cadre.Refuse(cadre.RuleValue, "", "%s of %s: %v", name, t.name, err)
		}
	}
	for _, p := range params {
		_, ok := given[p.name]
		if p.must && !ok {
			return cadre.Refuse(cadre.RuleValue, "", "%s needs %s", t.name, p.name)
		}
		if p.def == "" || ok {
			continue
		}
		raw := json.RawMessage(p.def)
		if !json.Valid(raw) {
			raw = mustJSON(p.def)
		}
		if err := set(p.value, raw); err != nil {
			return err
		}
	}
	return nil
}

func namesOf(params []param) string {
	if len(params) == 0 {
		return "none"
	}
	out := make([]string, len(params))
	for i, p := range params {
		out[i] = p.name
	}
	return strings.Join(out, ", ")
}

// mostItems is how long a list of a call may be. No verb has use for a longer one, and
// some look at each item under a lock.
const mostItems = 1000

// set sets one value. Agents write 3 where "3" is meant, and a wait in seconds.
func set(v reflect.Value, raw json.RawMessage) error {
	raw = bytes.TrimSpace(raw)
	if bytes.Equal(raw, []byte("null")) {
		return nil
	}
	if v.Kind() == reflect.Pointer {
		inner := reflect.New(v.Type().Elem())
		if err := set(inner.Elem(), raw); err != nil {
			return err
		}
		v.Set(inner)
		return nil
	}
	if v.Type() == reflect.TypeFor[time.Duration]() {
		var n seconds
		if err := json.Unmarshal(raw, &n); err != nil {
			return fmt.Errorf("is no number of seconds")
		}
		d, err := n.duration()
		v.SetInt(int64(d))
		return err
	}
	if v.Kind() == reflect.String && len(raw) > 0 && (raw[0] == '-' || raw[0] >= '0' && raw[0] <= '9') {
		v.SetString(string(raw))
		return nil
	}
	if v.Kind() == reflect.Slice && v.Type() != reflect.TypeFor[json.RawMessage]() {
		var items []json.RawMessage
		if err := json.Unmarshal(raw, &items); err != nil {
			return fmt.Errorf("is no array")
		}
		if len(items) > mostItems {
			return fmt.Errorf("has %d items, and %d are allowed", len(items), mostItems)
		}
		v.Set(reflect.MakeSlice(v.Type(), len(items), len(items)))
		for i, item := range items {
			if err := set(v.Index(i), item); err != nil {
				return err
			}
		}
		return nil
	}
	if v.Kind() == reflect.Struct {
		item := &tool{name: "an item"}
		return item.decode(v.Addr().Interface(), raw)
	}
	if err := json.Unmarshal(raw, v.Addr().Interface()); err != nil {
		return fmt.Errorf("is no %s", wanted(v.Type()))
	}
	return nil
}

func wanted(t reflect.Type) string {
	if s, ok := schemaOf(t)["type"].(string); ok {
		return s
	}
	return "another value"
}
