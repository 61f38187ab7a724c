package plainjson_test

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"cadre/internal/plainjson"
)

type word string

type inner struct {
	A string `json:"a"`
	N int64  `json:"n,omitempty"`
}

type outer struct {
	ID    word                       `json:"id"`
	Text  string                     `json:"text"`
	On    bool                       `json:"on,omitempty"`
	N     int                        `json:"n,omitempty"`
	U     uint64                     `json:"u,omitempty"`
	At    time.Time                  `json:"at"`
	Later *time.Time                 `json:"later,omitempty"`
	In    *inner                     `json:"in,omitempty"`
	Words []word                     `json:"words,omitempty"`
	All   []inner                    `json:"all,omitempty"`
	Raw   map[string]json.RawMessage `json:"raw,omitempty"`
	Any   json.RawMessage            `json:"any,omitempty"`
	Wait  time.Duration              `json:"wait,omitempty"`
	Last  string                     `json:"last,omitempty"`
}

// check reads a text both ways; where plainjson can, it must agree.
func check(t *testing.T, d *plainjson.Decoder, line []byte) bool {
	t.Helper()
	var fast, slow outer
	if !d.Decode(string(line), reflect.ValueOf(&fast).Elem()) {
		return false
	}
	if err := json.Unmarshal(line, &slow); err != nil {
		t.Fatalf("%q was read, and is not valid: %v", line, err)
	}
	if !reflect.DeepEqual(fast, slow) {
		t.Fatalf("%q became\n%+v, and encoding/json says\n%+v", line, fast, slow)
	}
	return true
}

func samples() []outer {
	now := time.Date(2026, 2, 3, 4, 5, 6, 789_000_000, time.UTC)
	return []outer{
		{},
		{ID: "1", Text: "plain", At: now},
		{ID: "ü", Text: "quotes \" and \\ and <&> \u2028 and \n", At: now, Later: &now, On: true, N: -5, U: 1 << 63},
		{Raw: map[string]json.RawMessage{"a": json.RawMessage(`{"b":[1,2,"}"],"c":null}`), "d": json.RawMessage(`"x,y"`)}, Any: json.RawMessage(`[{"x":"\u003c"},-1.5e3]`)},
		{In: &inner{A: "x", N: 3}, Words: []word{"a", "b"}, All: []inner{{A: "1"}, {A: "2", N: 9}}, Wait: time.Hour, Last: "z"},
	}
}

func TestAgreesWithEncodingJSON(t *testing.T) {
	d := plainjson.New(reflect.TypeFor[outer]())
	for _, s := range samples() {
		line, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		if !check(t, d, line) {
			t.Errorf("%s was not read", line)
		}
	}
	for _, line := range []string{
		``, `{}`, `{"id":"1"`, `{"id":"1"}x`, `{ "id":"1"}`, `{"ID":"1"}`, `{"text":"b","id":"a"}`, `{"id":"1","id":"2"}`, `{"id":1}`,
		`{"n":1.5}`, `{"n":01}`, `{"n":1e3}`, `{"n":99999999999999999999}`, `{"u":-1}`, `{"at":"2026-02-03T04:05:06+01:00"}`, `{"at":"2026-02-30T04:05:06Z"}`,
		`{"at":"2026-02-03T4:05:06Z"}`, `{"at":"2026-02-03T04:05:06,5Z"}`, `{"words":[]}`, `{"words":null}`, `{"words":["a",]}`, `{"raw":{"a":1}}`, `{"raw":{"a":1,}}`, `{"raw":{"a":}}`, `{"raw":{"a":1 }}`, `{"raw":{"a":null}}`, `{"raw":{"a":1,"a":2}}`, `{"any":null}`, `{"any":}`, `{"any":1]}`, `{"any":{]}}`, `{"raw":{"a":1]"b":2}}`, "{\"id\":\"\xff\"}", "{\"id\":\"\x01\"}",
	} {
		check(t, d, []byte(line))
	}
}

func FuzzDecode(f *testing.F) {
	for _, s := range samples() {
		line, err := json.Marshal(s)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(line)
	}
	d := plainjson.New(reflect.TypeFor[outer]())
	f.Fuzz(func(t *testing.T, line []byte) { check(t, d, line) })
}
