//go:build unix

package bench

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"testing"
	"text/tabwriter"
	"time"
)

// samples are the measurements of one thing.
type samples []time.Duration

// at gives the value below which a share of the samples is.
func (s samples) at(share float64) time.Duration {
	if len(s) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(s))
	return sorted[min(int(share*float64(len(sorted))), len(sorted)-1)]
}

func (s samples) median() time.Duration { return s.at(0.5) }

// middle is the median of rates.
func middle(rates []float64) float64 {
	return slices.Sorted(slices.Values(rates))[len(rates)/2]
}

// load is how many programs wanted a processor in the last minute, our own among
// them; nothing where the system does not say.
func load() string {
	data, _ := os.ReadFile("/proc/loadavg")
	first, _, _ := strings.Cut(string(data), " ")
	return first
}

// goal is a bound for the ratio of what was measured to what it is compared to.
type goal struct {
	bound float64
	least bool // the ratio is to be at least the bound, not at most
}

func atMost(x float64) *goal  { return &goal{bound: x} }
func atLeast(x float64) *goal { return &goal{bound: x, least: true} }

func (g *goal) met(ratio float64) bool {
	if g.least {
		return ratio >= g.bound
	}
	return ratio <= g.bound
}

func (g *goal) String() string {
	sign := "≤"
	if g.least {
		sign = "≥"
	}
	return sign + " " + short(g.bound)
}

// line is one comparison. Values are in the unit given, smaller or larger is
// better as the goal says.
type line struct {
	what    string
	value   float64
	unit    string
	against string
	other   float64
	ratio   float64
	goal    *goal // nil: to be seen, not to be reached
	load    string
}

// report is what a run found: comparisons, and how numbers grow.
type report struct {
	lines  []line
	growth []string
}

// compare notes one comparison.
func (r *report) compare(what string, value float64, unit, against string, other float64, g *goal) {
	r.lines = append(r.lines, line{what: what, value: value, unit: unit, against: against, other: other, ratio: value / other, goal: g, load: load()})
}

// times notes a comparison of two durations.
func (r *report) times(what string, value time.Duration, against string, other time.Duration, g *goal) {
	r.compare(what, millis(value), "ms", against, millis(other), g)
}

func millis(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// short writes a number with as many digits as mean something.
func short(x float64) string {
	switch {
	case x >= 100:
		return fmt.Sprintf("%.0f", x)
	case x >= 10:
		return fmt.Sprintf("%.1f", x)
	case x >= 1:
		return fmt.Sprintf("%.2f", x)
	}
	return fmt.Sprintf("%.3f", x)
}

func (r *report) print(w io.Writer) {
	if len(r.growth) > 0 {
		fmt.Fprintf(w, "\nMedian of wall time and CPU time in ms, each a process of its own:\n\n")
		tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
		for _, g := range r.growth {
			fmt.Fprintln(tw, g)
		}
		tw.Flush()
	}
	fmt.Fprintln(w)
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, "what\tcadre\tcompared with\tthat\tratio\tload\tgoal\t")
	missed := 0
	for _, l := range r.lines {
		verdict := "\t"
		if l.goal != nil {
			verdict = l.goal.String() + "\tmet"
			if !l.goal.met(l.ratio) {
				verdict = l.goal.String() + "\tMISSED"
				missed++
			}
		}
		fmt.Fprintf(tw, "%s\t%s %s\t%s\t%s %s\t%s\t%s\t%s\n", l.what, short(l.value), l.unit, l.against, short(l.other), l.unit, short(l.ratio), l.load, verdict)
	}
	tw.Flush()
	fmt.Fprintf(w, "\n%d of %d goals missed\n", missed, r.goals())
}

func (r *report) goals() int {
	n := 0
	for _, l := range r.lines {
		if l.goal != nil {
			n++
		}
	}
	return n
}

func TestSamples(t *testing.T) {
	s := samples{5, 1, 4, 2, 3}
	for _, tt := range []struct {
		share float64
		want  time.Duration
	}{{0, 1}, {0.5, 3}, {0.99, 5}, {1, 5}} {
		if got := s.at(tt.share); got != tt.want {
			t.Errorf("at(%v) = %v, want %v", tt.share, got, tt.want)
		}
	}
	if got := (samples{}).median(); got != 0 {
		t.Errorf("the median of nothing is %v", got)
	}
}

func TestReport(t *testing.T) {
	var r report
	r.times("a start", 3*time.Millisecond, "another", 2*time.Millisecond, atMost(1.5))
	r.compare("a rate", 50, "/s", "a floor", 100, atLeast(0.8))
	r.compare("a size", 1, "MB", "nothing in particular", 1, nil)
	for i := range r.lines {
		r.lines[i].load = "0.25"
	}
	var out strings.Builder
	r.print(&out)
	for _, want := range []string{"1.50   0.25  ≤ 1.50   met", "0.500  0.25  ≥ 0.800  MISSED", "1 of 2 goals missed"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not in\n%s", want, cmp.Or(out.String(), "nothing"))
		}
	}
}
