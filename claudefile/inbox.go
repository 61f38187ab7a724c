package claudefile

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
)

// Entry is one message in an inbox file, teams/TEAM/inboxes/NAME.json.
type Entry struct {
	From, Text, Summary, Timestamp, Color string
	Read                                  bool
	MsgID, Type, LeadSig                  string // the newer client's

	// Invalid says why the newer client drops this entry, and removes it from the
	// file. Empty where it does not.
	Invalid string

	raw string // as it stood in the file, empty for a new entry
}

// ReadInbox reads an inbox file. The empty file is an empty inbox, as [] is. It
// fails for what is no JSON array within the limits of Parse. Every entry is
// given, also those that the client drops.
func ReadInbox(data []byte) ([]Entry, error) {
	if len(bytes.TrimSpace(data)) == 0 {
		return nil, nil
	}
	value, err := check(data)
	if err != nil {
		return nil, err
	}
	if value[0] != '[' {
		return nil, errors.New("not a JSON array")
	}
	var entries []Entry
	for _, raw := range items(value) {
		entries = append(entries, readEntry(raw))
	}
	return entries, nil
}

func readEntry(raw json.RawMessage) Entry {
	if raw[0] != '{' {
		return Entry{Invalid: "it is not an object", raw: string(raw)}
	}
	f := fields{Object: split(raw)}
	seen := f.flag("read", true)
	e := Entry{
		From:      f.text("from", true),
		Text:      f.text("text", true),
		Summary:   f.text("summary", false),
		Timestamp: f.text("timestamp", true),
		Color:     f.text("color", false),
		Read:      seen != nil && *seen,
		Type:      f.text("type", false),
		raw:       string(raw),
	}
	f.text("from_plugin", false)
	e.Invalid = f.problem()
	e.MsgID = f.text("msg_id", false) // not in the client's schema: any value passes
	e.LeadSig = f.text("lead_sig", false)
	return e
}

// WriteInbox gives the content of an inbox file. An entry that was read keeps the
// order of its keys and those that nobody here knows; a new one is written as the
// older client does, which both accept.
func WriteInbox(entries []Entry) []byte {
	list := []json.RawMessage{}
	for _, e := range entries {
		list = append(list, e.write())
	}
	return appendValue(nil, encode(list), "\n")
}

func (e Entry) write() json.RawMessage {
	if e.raw == "" {
		o := &Object{}
		merge(o, nil, e.fields())
		return encode(o)
	}
	raw := json.RawMessage(e.raw)
	if raw[0] != '{' {
		return raw
	}
	o := split(raw)
	merge(o, readEntry(raw).fields(), e.fields())
	return encode(o)
}

func (e Entry) fields() []field {
	return []field{
		{"from", e.From, true},
		{"text", e.Text, true},
		{"summary", e.Summary, false},
		{"timestamp", e.Timestamp, true},
		{"color", e.Color, false},
		{"msg_id", e.MsgID, false},
		{"type", e.Type, false},
		{"read", e.Read, true},
		{"lead_sig", e.LeadSig, false},
	}
}

// Key is what tells one message from another: the id that the newer client gives
// it, else a hash of sender, time and text, which is what that client compares.
func (e Entry) Key() string {
	if e.MsgID != "" {
		return e.MsgID
	}
	sum := sha256.Sum256(encode([]string{e.From, e.Timestamp, e.Text}))
	return hex.EncodeToString(sum[:])
}
