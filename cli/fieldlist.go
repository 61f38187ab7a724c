package cli

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"cadre"
)

// fieldList says how fields changed: by value, on a terminal long ones by name.
func (pg *page) fieldList(fields []string, before, after cadre.Object) string {
	was, is := imageFields(before), imageFields(after)
	var words []string
	for _, f := range fields {
		old, now := pg.shortValue(was[f]), pg.shortValue(is[f])
		switch {
		case pg.cols > 0 && len(old)+len(now) > 60:
			words = append(words, f+" changed")
		case now == "" || now == "null":
			words = append(words, f+" "+old+" removed")
		case old == "" || old == "null":
			words = append(words, f+" "+now)
		default:
			words = append(words, f+" "+old+" → "+now)
		}
	}
	return strings.Join(words, ", ")
}

// imageFields takes an object's image apart.
func imageFields(o cadre.Object) map[string]json.RawMessage {
	var fields map[string]json.RawMessage
	data, err := json.Marshal(o)
	if err != nil || json.Unmarshal(data, &fields) != nil {
		return nil
	}
	return fields
}

// shortValue shows a field's value in the words of a person: of a result what it
// says, of a list its elements, of a map its pairs.
func (pg *page) shortValue(raw json.RawMessage) string {
	var result cadre.Result
	if json.Unmarshal(raw, &result) == nil && result.Summary != "" {
		return pg.brief(result.Summary)
	}
	var list []string
	if json.Unmarshal(raw, &list) == nil {
		return join(list)
	}
	var pairs map[string]json.RawMessage
	if json.Unmarshal(raw, &pairs) == nil {
		words := make([]string, 0, len(pairs))
		for _, k := range slices.Sorted(maps.Keys(pairs)) {
			words = append(words, k+"="+jsonText(pairs[k]))
		}
		return join(words)
	}
	return line(jsonText(raw))
}
