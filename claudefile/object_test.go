package claudefile_test

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"cadre/claudefile"
)

func TestParseRefuses(t *testing.T) {
	for _, bad := range []string{
		"", "null", "[]", `"x"`, "{", "{} x", "{}{}", `{"a":1,}`, `{'a':1}`, "\ufeff{}", `{"a":01}`, "{\"a\":\"\xff\"}", "{\"a\":\"\n\"}",
		strings.Repeat(`{"a":`, 65) + "1" + strings.Repeat("}", 65),
		`{"a":"` + strings.Repeat("x", claudefile.MaxFile) + `"}`,
	} {
		if _, err := claudefile.Parse([]byte(bad)); err == nil {
			t.Errorf("%.80q was read", bad)
		}
	}
	deep := strings.Repeat(`{"a":`, 64) + `"[{"` + strings.Repeat("}", 64)
	if _, err := claudefile.Parse([]byte(deep)); err != nil {
		t.Errorf("64 deep: %v", err)
	}
}

// TestBytesAreThoseOfJSONStringify has the answers of node's
// JSON.stringify(JSON.parse(x), null, 2), but for numbers, which stay as written.
func TestBytesAreThoseOfJSONStringify(t *testing.T) {
	for in, want := range map[string]string{
		`{}`:                             `{}`,
		`{"a":{},"b":[],"c":[ ],"d":""}`: "{\n  \"a\": {},\n  \"b\": [],\n  \"c\": [],\n  \"d\": \"\"\n}",
		`{"a":1,"b":2,"a":[3]}`:          "{\n  \"a\": [\n    3\n  ],\n  \"b\": 2\n}",
		`{"a":{"x":1,"\u0078":2}}`:       "{\n  \"a\": {\n    \"x\": 2\n  }\n}",
		`{"a":1.50e+2,"b":-0,"c":null}`:  "{\n  \"a\": 1.50e+2,\n  \"b\": -0,\n  \"c\": null\n}",
		`{"s":"\u003c\/\u003e&\u2028\u00e9\ud83d\ude00\u0022\u005c"}`: "{\n  \"s\": \"</>&\u2028é😀\\\"\\\\\"\n}",
		`{"s":"\b\f\n\r\t\u0008\u000B\u001F\u007f"}`:                  "{\n  \"s\": \"\\b\\f\\n\\r\\t\\b\\u000b\\u001f\x7f\"\n}",
		`{"s":"\uD800x\udc00\ud800\ud83d\ude00"}`:                     "{\n  \"s\": \"\\ud800x\\udc00\\ud800😀\"\n}",
	} {
		o, err := claudefile.Parse([]byte(in))
		if err != nil {
			t.Fatalf("%s: %v", in, err)
		}
		same(t, in, o.Bytes(), []byte(want))
	}
}

func TestObject(t *testing.T) {
	o, err := claudefile.Parse([]byte(` {"b" : [1, 2],"k<\u00e9":"v"} `))
	if err != nil {
		t.Fatal(err)
	}
	if v, ok := o.Get("k<é"); !ok || string(v) != `"v"` {
		t.Errorf("%s, %v", v, ok)
	}
	o.Set("n", int64(5))
	o.Set("b", []string{"<"})
	o.Set("o", &claudefile.Object{})
	o.Set("m", map[string]json.RawMessage{"y": json.RawMessage("1"), "x": json.RawMessage(`{"z": 0}`)})
	o.Set("bad\xff", true)
	o.Delete("k<é")
	o.Delete("not there")
	var keys []string
	for key := range o.Keys() {
		keys = append(keys, key)
	}
	if got := strings.Join(keys, " "); got != "b n o m bad\ufffd" {
		t.Error(got)
	}
	same(t, "bytes", o.Bytes(), []byte("{\n  \"b\": [\n    \"<\"\n  ],\n  \"n\": 5,\n  \"o\": {},\n  \"m\": {\n    \"x\": {\n      \"z\": 0\n    },\n    \"y\": 1\n  },\n  \"bad\ufffd\": true\n}"))
	var zero claudefile.Object
	zero.Set("a", "b")
	same(t, "zero", zero.Bytes(), []byte("{\n  \"a\": \"b\"\n}"))
	defer func() {
		if recover() == nil {
			t.Error("a value that is no JSON was set")
		}
	}()
	o.Set("x", json.RawMessage("{"))
}

// sameValue says whether two JSON texts mean the same to encoding/json.
func sameValue(t *testing.T, a, b []byte) bool {
	t.Helper()
	var x, y any
	for _, d := range []struct {
		data []byte
		into *any
	}{{a, &x}, {b, &y}} {
		dec := json.NewDecoder(bytes.NewReader(d.data))
		dec.UseNumber()
		if err := dec.Decode(d.into); err != nil {
			t.Fatalf("%q does not parse: %v", d.data, err)
		}
	}
	return reflect.DeepEqual(x, y)
}

func seed(f *testing.F, folders ...string) {
	f.Helper()
	for _, folder := range folders {
		for _, data := range captured(f, folder) {
			f.Add(data)
		}
	}
	f.Add([]byte(`{"a":"\ud800\u0000","a":{"\ud801":[[],{}]},"metadata":{"x":1,"x":2}}`))
	f.Add([]byte(`[1,null,"x",{"from":"a","read":1,"msg_id":{}}]`))
}

// again writes an object's text anew and holds the result against the first.
func again(t *testing.T, data []byte) []byte {
	t.Helper()
	o, err := claudefile.Parse(data)
	if err != nil {
		t.Fatalf("%q does not parse again: %v", data, err)
	}
	return o.Bytes()
}

func FuzzTask(f *testing.F) {
	seed(f, "created", "updated", "odd")
	f.Fuzz(func(t *testing.T, data []byte) {
		task, err := claudefile.ReadTask(data)
		if err != nil {
			return
		}
		same(t, "unchanged", task.Write(data), data)
		formatted := again(t, data)
		if !sameValue(t, formatted, data) {
			t.Fatalf("%q became %q", data, formatted)
		}
		same(t, "formatted twice", again(t, formatted), formatted)
		task.Subject += "x"
		changed := task.Write(data)
		back := readTask(t, string(changed))
		if back.Subject != task.Subject || back.Owner != task.Owner || len(back.Metadata) != len(task.Metadata) {
			t.Fatalf("%q became %q", data, changed)
		}
		same(t, "a change is formatted", again(t, changed), changed)
		task.Invisible = ""
		task.Status = "pending"
		if mended := readTask(t, string(task.Write(data))); mended.Invisible != "" {
			t.Fatalf("%q is mended and invisible: %s", data, mended.Invisible)
		}
	})
}

func FuzzConfig(f *testing.F) {
	seed(f, "config", "odd")
	f.Fuzz(func(t *testing.T, data []byte) {
		config, err := claudefile.ReadConfig(data)
		if err != nil {
			return
		}
		same(t, "unchanged", config.Write(data), data)
		config.Members = append(config.Members, claudefile.Member{AgentID: "new@team", Name: "new"})
		changed := config.Write(data)
		same(t, "a change is formatted", again(t, changed), changed)
		back, err := claudefile.ReadConfig(changed)
		if err != nil || len(back.Members) != len(config.Members) || back.Name != config.Name {
			t.Fatalf("%q became %q: %v", data, changed, err)
		}
		same(t, "again", back.Write(changed), changed)
	})
}

func FuzzInbox(f *testing.F) {
	seed(f, "inbox")
	f.Fuzz(func(t *testing.T, data []byte) {
		entries, err := claudefile.ReadInbox(data)
		if err != nil {
			return
		}
		written := claudefile.WriteInbox(entries)
		if len(bytes.TrimSpace(data)) > 0 && !sameValue(t, written, data) {
			t.Fatalf("%q became %q", data, written)
		}
		back, err := claudefile.ReadInbox(written)
		if err != nil || len(back) != len(entries) {
			t.Fatalf("%q became %q: %v", data, written, err)
		}
		same(t, "again", claudefile.WriteInbox(back), written)
		for _, e := range entries {
			claudefile.ReadTyped(e.Text)
		}
	})
}
