package cli

import (
	"reflect"
	"strings"
	"unicode"
)

// field is one parameter of a verb as the command line offers it: a flag, or a
// positional argument.
type field struct {
	name  string // of its flag: "blocked-by"
	place string // of a positional argument: "ID", empty for a flag
	must  bool   // the argument cannot be left out
	rest  bool   // it takes all arguments from here on
	short string
	help  string
	def   string
	known []string // all that it can be, or what it usually is; nil where anything goes
	value reflect.Value
}

// fieldsOf reads the parameters of a verb from the tags of its fields, in order.
// The values set through them are set in the verb.
func fieldsOf(verb any) []field {
	return appendFields(nil, reflect.ValueOf(verb).Elem())
}

func appendFields(out []field, v reflect.Value) []field {
	for i := range v.NumField() {
		f := v.Type().Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Anonymous:
			out = appendFields(out, v.Field(i))
		case !f.IsExported(), name == "", name == "-", f.Tag.Get("door") == "-":
		default:
			out = append(out, newField(f, kebab(name), v.Field(i)))
		}
	}
	return out
}

func newField(f reflect.StructField, name string, value reflect.Value) field {
	out := field{name: name, short: f.Tag.Get("short"), help: f.Tag.Get("help"), def: f.Tag.Get("default"), value: value}
	if known := f.Tag.Get("values"); known != "" {
		out.known = strings.Split(known, ",")
	}
	place := f.Tag.Get("arg")
	inner, optional := strings.CutPrefix(place, "[")
	inner = strings.TrimSuffix(inner, "]")
	out.place, out.rest = strings.CutSuffix(inner, "...")
	out.must = place != "" && !optional
	return out
}

// kebab writes a JSON name as a flag: blockedBy is --blocked-by.
func kebab(name string) string {
	var b strings.Builder
	for _, r := range name {
		if unicode.IsUpper(r) {
			b.WriteByte('-')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

// usage is how the argument stands in a usage line.
func (f field) usage() string {
	s := f.place
	if f.rest {
		s += "..."
	}
	if !f.must {
		s = "[" + s + "]"
	}
	return s
}

// split tells positional arguments from flags.
func split(fields []field) (args, flags []field) {
	for _, f := range fields {
		if f.place != "" {
			args = append(args, f)
		} else {
			flags = append(flags, f)
		}
	}
	return args, flags
}
