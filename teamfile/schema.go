package teamfile

import (
	"bytes"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"time"
)

// Schema is the JSON schema of team files, for editors.
func Schema() []byte {
	doc := schemaOf(reflect.TypeFor[File]())
	doc["$schema"] = "http://json-schema.org/draft-07/schema#"
	doc["title"] = "Cadre team file"
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(doc); err != nil {
		panic(err) // it is made of maps, lists and texts
	}
	return out.Bytes()
}

// schemaOf describes what the reader takes for a type.
func schemaOf(t reflect.Type) map[string]any {
	text := map[string]any{"type": []string{"string", "number", "boolean"}} // what is written without quotes is taken as written
	switch {
	case t == reflect.TypeFor[time.Duration]():
		return map[string]any{"type": "string", "pattern": `^([0-9.]+(ns|us|µs|ms|s|m|h))+$`}
	case t == reflect.TypeFor[*Policy]():
		answers := strings.Split(enumOf(t.Elem(), "Answer"), ",")
		return map[string]any{"anyOf": []any{map[string]any{"type": "string", "enum": answers}, schemaOf(t.Elem())}}
	case t.Kind() == reflect.Pointer && t.Elem().Kind() == reflect.Struct:
		return map[string]any{"anyOf": []any{map[string]any{"type": "boolean"}, schemaOf(t.Elem())}}
	case t.Kind() == reflect.Pointer:
		return schemaOf(t.Elem())
	case t.Kind() == reflect.String:
		return text
	case t.Kind() == reflect.Int:
		return map[string]any{"type": "integer"}
	case t.Kind() == reflect.Bool:
		return map[string]any{"type": "boolean"}
	case t.Kind() == reflect.Map:
		return map[string]any{"type": "object", "additionalProperties": schemaOf(t.Elem())}
	case t.Kind() == reflect.Slice && keyField(t.Elem()) >= 0:
		entry := map[string]any{"anyOf": []any{map[string]any{"type": "null"}, schemaOf(t.Elem())}}
		return map[string]any{"type": "object", "additionalProperties": entry}
	case t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.String:
		return map[string]any{"anyOf": []any{text, map[string]any{"type": "array", "items": text}}}
	case t.Kind() == reflect.Slice:
		return map[string]any{"type": "array", "items": schemaOf(t.Elem())}
	}
	properties, must := map[string]any{}, []string{}
	for name, i := range fieldNames(t) {
		f := t.Field(i)
		p := schemaOf(f.Type)
		p["description"] = f.Tag.Get("help")
		if values := f.Tag.Get("enum"); values != "" {
			p["type"], p["enum"] = "string", strings.Split(values, ",")
		}
		properties[name] = p
		if f.Tag.Get("must") != "" {
			must = append(must, name)
		}
	}
	doc := map[string]any{"type": "object", "properties": properties, "additionalProperties": false}
	if len(must) > 0 {
		slices.Sort(must)
		doc["required"] = must
	}
	return doc
}

func enumOf(t reflect.Type, field string) string {
	f, _ := t.FieldByName(field)
	return f.Tag.Get("enum")
}
