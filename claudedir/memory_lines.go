package claudedir

import (
	"encoding/base64"
	"encoding/hex"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"

	"cadre"
)

// The small file of a memory has what there is one of in its first line, and then a
// line for each entry of a map: the map's name, the key, the value. Texts may
// have any bytes and are written in base64. Every command reads it, so reading it
// needs no plan of its types.

// text is what a memory looks like in its file.
func (m *memory) text() string {
	b := base64.RawURLEncoding.AppendEncode(nil, []byte(m.Epoch))
	for _, v := range []uint64{
		uint64(m.Seq), uint64(m.Taken), uint64(m.ListAt), uint64(m.ListSaw), uint64(m.OldAt), m.Names, m.Sum, m.Largest,
		bit(m.List), bit(m.Team), bit(m.Unsure),
	} {
		b = strconv.AppendUint(append(b, ' '), v, 10)
	}
	b = base64.RawURLEncoding.AppendEncode(append(b, ' '), []byte(m.Boxes))
	b = base64.RawURLEncoding.AppendEncode(append(b, ' '), m.BoxesOf[:])
	b = append(b, '\n')
	b = lines(b, "odd", m.Odd, slot.word)
	b = lines(b, "file", m.Files, slot.word)
	b = lines(b, "putBack", m.PutBack, func(n uint64) string { return strconv.FormatUint(n, 10) })
	b = lines(b, "behind", m.Behind, func(n cadre.Seq) string { return strconv.FormatUint(uint64(n), 10) })
	return string(b)
}

// read fills a memory from its text, and says whether it could.
func (m *memory) read(text string) bool {
	first, rest, _ := strings.Cut(text, "\n")
	words := strings.Split(first, " ")
	var n [11]uint64
	if len(words) != 1+len(n)+2 {
		return false
	}
	epoch, err1 := base64.RawURLEncoding.DecodeString(words[0])
	boxes, err2 := base64.RawURLEncoding.DecodeString(words[1+len(n)])
	of, err3 := base64.RawURLEncoding.DecodeString(words[2+len(n)])
	if errors.Join(err1, err2, err3) != nil || len(of) != len(m.BoxesOf) {
		return false
	}
	for i, word := range words[1 : 1+len(n)] {
		var err error
		if n[i], err = strconv.ParseUint(word, 10, 64); err != nil {
			return false
		}
	}
	m.Epoch, m.Boxes, m.BoxesOf = string(epoch), string(boxes), [16]byte(of)
	m.Seq, m.Taken = cadre.Seq(n[0]), cadre.Seq(n[1])
	m.ListAt, m.ListSaw, m.OldAt = int64(n[2]), int64(n[3]), int64(n[4])
	m.Names, m.Sum, m.Largest = n[5], n[6], n[7]
	m.List, m.Team, m.Unsure = n[8] != 0, n[9] != 0, n[10] != 0
	for line := range strings.Lines(rest) {
		if !m.entry(strings.Split(strings.TrimSuffix(line, "\n"), " ")) {
			return false
		}
	}
	return true
}

// entry puts one entry into its map.
func (m *memory) entry(words []string) bool {
	if len(words) != 3 {
		return false
	}
	key, err := base64.RawURLEncoding.DecodeString(words[1])
	if err != nil {
		return false
	}
	switch words[0] {
	case "odd":
		return enter(&m.Odd, string(key), words[2], readSlot)
	case "file":
		return enter(&m.Files, string(key), words[2], readSlot)
	case "putBack":
		return enter(&m.PutBack, string(key), words[2], readNumber[uint64])
	case "behind":
		return enter(&m.Behind, string(key), words[2], readNumber[cadre.Seq])
	}
	return false
}

// lines writes a map's entries.
func lines[V any](b []byte, name string, entries map[string]V, word func(V) string) []byte {
	for _, key := range slices.Sorted(maps.Keys(entries)) {
		b = append(append(b, name...), ' ')
		b = base64.RawURLEncoding.AppendEncode(b, []byte(key))
		b = append(append(append(b, ' '), word(entries[key])...), '\n')
	}
	return b
}

func enter[V any](entries *map[string]V, key, word string, read func(string) (V, error)) bool {
	v, err := read(word)
	if err != nil {
		return false
	}
	if *entries == nil {
		*entries = map[string]V{}
	}
	(*entries)[key] = v
	return true
}

func (s slot) word() string { return base64.RawURLEncoding.EncodeToString(s.encode()) }

func readSlot(word string) (slot, error) {
	b, err := base64.RawURLEncoding.DecodeString(word)
	if err == nil && len(b) != slotSize {
		err = base64.CorruptInputError(len(b))
	}
	if err != nil {
		return slot{}, err
	}
	return decodeSlot(b), nil
}

func readNumber[N ~uint64](word string) (N, error) {
	n, err := strconv.ParseUint(word, 10, 64)
	return N(n), err
}

func bit(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}

// sumMark begins the line of the checksum.
const sumMark = "sum "

// sumLine is the line after a text that says it is whole.
func sumLine(text string) string {
	sum := hashOf([]byte(text))
	return sumMark + hex.EncodeToString(sum[:8]) + "\n"
}

// whole gives the text of a file, if all of it is there.
func whole(data string) (string, bool) {
	end := strings.Index(data, "\n"+sumMark) + 1
	return data[:end], end > 0 && strings.HasPrefix(data[end:], sumLine(data[:end]))
}
