package termtext

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestLine(t *testing.T) {
	for _, test := range []struct{ in, want string }{
		{"plain text", "plain text"},
		{"日本語 🎨 é", "日本語 🎨 é"},
		{"👩\u200d💻", "👩\u200d💻"}, // a joined emoji stays one
		{"a\nb\tc\rd", `a\nb\tc\x0dd`},
		{"\x1b[31mred\x1b[0m", `\x1b[31mred\x1b[0m`},
		{"\x00\x07\x7f", `\x00\x07\x7f`},
		{"\u009b31m", `\u009b31m`},
		{"\u202eoverride\u2066", `\u202eoverride\u2066`},
		{"zero\u200bwidth\ufeff", `zero\u200bwidth\ufeff`},
		{"bad\xff\xfeutf8", `bad\xff\xfeutf8`},
		{"a real \ufffd", "a real \ufffd"},
	} {
		if got := Line(test.in); got != test.want {
			t.Errorf("Line(%q) = %q, want %q", test.in, got, test.want)
		}
	}
}

func TestLinesKeepsLineBreaks(t *testing.T) {
	if got, want := Lines("a\r\nb\n\tc\rd\x1b"), "a\nb\n\tc\\x0dd\\x1b"; got != want {
		t.Errorf("Lines() = %q, want %q", got, want)
	}
}

func TestWidthAndCut(t *testing.T) {
	for _, test := range []struct {
		in    string
		width int
		cut   int
		want  string
	}{
		{"hello", 5, 5, "hello"},
		{"hello", 5, 4, "hel…"},
		{"日本語", 6, 6, "日本語"},
		{"日本語", 6, 5, "日本…"},
		{"日本語", 6, 4, "日…"},
		{"🎨🎨", 4, 3, "🎨…"},
		{"👩\u200d💻 codes", 8, 4, "👩\u200d💻…"},
		{"e\u0301e\u0301", 2, 2, "e\u0301e\u0301"},
	} {
		if got := Width(test.in); got != test.width {
			t.Errorf("Width(%q) = %d, want %d", test.in, got, test.width)
		}
		if got := Cut(test.in, test.cut); got != test.want {
			t.Errorf("Cut(%q, %d) = %q, want %q", test.in, test.cut, got, test.want)
		}
	}
}

func TestPad(t *testing.T) {
	if got := Pad("日本", 6, false) + "|" + Pad("7", 3, true) + "|" + Pad("long", 2, false); got != "日本  |  7|long" {
		t.Errorf("Pad() = %q", got)
	}
}

func TestWrap(t *testing.T) {
	got := strings.Join(Wrap("one two three\n  four five six\nabcdefghijklmnop q", 10), "|")
	if want := "one two|three|  four|  five six|abcdefghijklmnop|q"; got != want {
		t.Errorf("Wrap() = %q, want %q", got, want)
	}
	if got := Wrap("never broken without a width", 0); len(got) != 1 {
		t.Errorf("Wrap() without a width = %q", got)
	}
}

// FuzzLine: whatever comes in, nothing that acts on a terminal comes out.
func FuzzLine(f *testing.F) {
	f.Add("\x1b[2J\u009b\xff\n", 5)
	f.Fuzz(func(t *testing.T, s string, width int) {
		out := Line(s)
		if !utf8.ValidString(out) {
			t.Fatalf("Line(%q) = %q is not UTF-8", s, out)
		}
		for _, r := range out {
			if r < 0x20 || r == 0x7f || r > 0x7f && Hidden(r) {
				t.Fatalf("Line(%q) = %q lets %U through", s, out, r)
			}
		}
		if width = width % 200; width > 0 {
			if got := Width(Cut(out, width)); got > width {
				t.Fatalf("Cut(%q, %d) takes %d cells", out, width, got)
			}
		}
	})
}
