package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"unicode/utf16"

	"cadre"
	"cadre/coord"
	"cadre/internal/termtext"
)

func (p *program) printf(format string, args ...any) { fmt.Fprintf(p.out, format, args...) }

// writeJSON writes one document: laid out for a person at a terminal, on one
// line for a program.
func (p *program) writeJSON(v any) error {
	if list := reflect.ValueOf(v); !p.outTerm && list.Kind() == reflect.Slice && list.Len() > 0 && list.Type().Elem().Kind() == reflect.Pointer {
		return p.writeList(list)
	}
	var buf bytes.Buffer
	enc := encoder(&buf, v)
	if p.outTerm {
		enc.SetIndent("", "  ")
	}
	if err := enc.Encode(v); err != nil {
		return fmt.Errorf("encoding the answer: %w", err)
	}
	return p.writeData(buf.Bytes())
}

// encoder writes characters as they are, where JSON allows it. Events are written
// as they are stored, so that whoever reads them can compute their hashes.
func encoder(out io.Writer, v any) *json.Encoder {
	enc := json.NewEncoder(out)
	switch v.(type) {
	case cadre.Event, []cadre.Event:
	default:
		enc.SetEscapeHTML(false)
	}
	return enc
}

// writeData writes JSON that is encoded already. On a terminal nothing in it acts.
func (p *program) writeData(data []byte) error {
	if p.outTerm {
		data = escapeHidden(data)
	}
	_, err := p.out.Write(data)
	return err
}

// writeID writes an id: to a program as it is, to a person so that nothing in it
// acts on the terminal.
func (p *program) writeID(id string) {
	if p.outTerm {
		id = line(id)
	}
	p.printf("%s\n", id)
}

// writeList writes a list as one document, an element at a time: a long one would
// otherwise be in memory several times.
func (p *program) writeList(list reflect.Value) error {
	var buf bytes.Buffer
	enc := encoder(&buf, nil)
	p.out.WriteByte('[')
	for i := range list.Len() {
		if i > 0 {
			p.out.WriteByte(',')
		}
		buf.Reset()
		if err := enc.Encode(list.Index(i).Interface()); err != nil {
			return fmt.Errorf("encoding the answer: %w", err)
		}
		p.out.Write(bytes.TrimSuffix(buf.Bytes(), []byte("\n")))
	}
	_, err := p.out.WriteString("]\n")
	return err
}

// escapeHidden writes characters that would act on a terminal as JSON escapes,
// which mean the same. In JSON they can only stand in strings.
func escapeHidden(data []byte) []byte {
	if !bytes.ContainsFunc(data, actsOnTerminal) {
		return data
	}
	var out bytes.Buffer
	for _, r := range string(data) {
		if high, low := utf16.EncodeRune(r); actsOnTerminal(r) && r > 0xffff {
			fmt.Fprintf(&out, `\u%04x\u%04x`, high, low)
		} else if actsOnTerminal(r) {
			fmt.Fprintf(&out, `\u%04x`, r)
		} else {
			out.WriteRune(r)
		}
	}
	return out.Bytes()
}

// actsOnTerminal is for text in which ASCII controls are already escaped.
func actsOnTerminal(r rune) bool {
	return r == 0x7f || r > 0x7f && termtext.Hidden(r)
}

// writeLines writes one document a line: the elements of a list, or the answer.
func (p *program) writeLines(answer any) error {
	v := reflect.ValueOf(answer)
	if v.Kind() != reflect.Slice {
		return p.writeLine(answer)
	}
	for i := range v.Len() {
		if err := p.writeLine(v.Index(i).Interface()); err != nil {
			return err
		}
	}
	return nil
}

// writeLine writes a document on a line of its own. A program gets it without
// another copy in between.
func (p *program) writeLine(v any) error {
	var buf bytes.Buffer
	var out io.Writer = p.out
	if p.outTerm {
		out = &buf
	}
	if err := encoder(out, v).Encode(v); err != nil {
		return fmt.Errorf("encoding the answer: %w", err)
	}
	return p.writeData(buf.Bytes())
}

// showStream writes events as they come. With --json they become one list, which
// is complete when the stream ends. An interrupt is how a watch is meant to end.
func (p *program) showStream(ctx context.Context, s *coord.Session, name string, stream coord.Stream) error {
	pg := p.page(ctx, s)
	if name == "watch" {
		pg.hint("following %s; Ctrl-C ends it", pg.scope)
	}
	n := 0
	for e, err := range stream.Events {
		if err != nil && ctx.Err() != nil {
			break
		}
		if err == nil {
			err = p.writeEvent(pg, name, e, n == 0)
		}
		if err != nil {
			p.endList(n)
			return err
		}
		n++
	}
	if n == 0 && p.json {
		p.printf("[")
		n++
	}
	p.endList(n)
	return nil
}

func (p *program) endList(written int) {
	if p.json && written > 0 {
		p.printf("]\n")
		p.json = false // the document is complete: an error is told in words
	}
}

// writeEvent writes one event of a stream, and has it seen at once if it was
// waited for.
func (p *program) writeEvent(pg *page, name string, e cadre.Event, first bool) error {
	switch {
	case p.quiet:
		p.printf("%d\n", e.Seq)
	case p.json, p.jsonl, name == "audit export":
		data, err := json.Marshal(e)
		if err != nil {
			return fmt.Errorf("encoding event %d: %w", e.Seq, err)
		}
		before, after := "", "\n"
		switch {
		case p.json && first:
			before, after = "[", ""
		case p.json:
			before, after = ",\n", ""
		}
		p.printf("%s", before)
		if err := p.writeData(data); err != nil {
			return err
		}
		p.printf("%s", after)
	default:
		pg.eventLine(e)
	}
	if name == "watch" {
		return p.out.Flush()
	}
	return nil
}
