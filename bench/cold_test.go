//go:build unix

package bench

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"cadre"
)

// sizes are the lengths of the lists that growth is looked at with.
func sizes() []int {
	most := 100_000
	if n, err := strconv.Atoi(os.Getenv("CADRE_BENCH_TASKS")); err == nil {
		most = n
	}
	var out []int
	for n := 100; n <= most; n *= 10 {
		out = append(out, n)
	}
	return out
}

// BenchmarkStart is what a process costs that has nothing to do.
func BenchmarkStart(b *testing.B) {
	b.ReportMetric(0, "ns/op")
	h := newHome(b, "start")
	version := &contender{name: "cadre version", args: fixed(world.cadre, "version")}
	bare := &contender{name: "bare", args: fixed(world.bare)}
	race(b, h, 5*rounds(0), version, bare)
	world.report.times("version, CPU", version.cpu.median(), "bare Go program", bare.cpu.median(), atMost(3))
	world.report.times("version, wall", version.wall.median(), "bare Go program", bare.wall.median(), nil)
}

// BenchmarkEmpty is the first tasks of a list, each added by a process.
func BenchmarkEmpty(b *testing.B) {
	b.ReportMetric(0, "ns/op")
	h := newHome(b, "empty")
	subject := func(n int) string { return "task number " + strconv.Itoa(n+2) }
	add := &contender{name: "cadre task add", args: func(n int) []string { return []string{world.cadre, "task", "add", subject(n)} }}
	other := &contender{name: "task add", args: func(n int) []string { return []string{"task", "add", subject(n)} }}
	files := newHome(b, "empty").withFiles()
	addFile := &contender{name: "cadre task add, files", home: &files, args: add.args}
	race(b, h, rounds(0), add, other, addFile)
	world.report.times("task add, empty list", add.wall.median(), "taskwarrior", other.wall.median(), atMost(1.5))
	world.report.times("task add, empty list, files", addFile.wall.median(), "taskwarrior", other.wall.median(), atMost(1.5))
}

// BenchmarkCold starts a process for every command, on lists of growing length,
// that stand in the database alone and in Claude Code's files as well.
func BenchmarkCold(b *testing.B) {
	b.ReportMetric(0, "ns/op")
	world.report.growth = append(world.report.growth,
		"tasks\tadd\ttw add\tnext --claim\ttw start\tlist\tlist --json\ttw list\tnode -e 0\tadd, files\tclaim, files\tlist, files\t")
	plain, files := map[int]home{}, map[int]home{}
	for _, size := range sizes() {
		plain[size], files[size] = cold(b, size)
	}
	if _, ok := plain[100_000]; ok {
		growth(b, "", plain[1000], plain[100_000])
		growth(b, ", files", files[1000], files[100_000])
	}
}

// growth claims in turn from a short list and from a long one.
func growth(b *testing.B, how string, short, long home) {
	n := rounds(10_000)
	claims := func(h home) *contender {
		join(b, h, "late", n)
		return &contender{name: "cadre task next --claim", home: &h, args: claimAs("late")}
	}
	few, many := claims(short), claims(long)
	race(b, short, n, few, many)
	world.report.times("next --claim, 100,000 tasks"+how, many.wall.median(), "1,000 tasks"+how, few.wall.median(), atMost(1.5))
}

// join makes members, one for every round, and one for that which does not count.
func join(b *testing.B, h home, name string, rounds int) {
	for n := range rounds + 1 {
		h.run(b, world.cadre, "task", "comment", "1", "here I am", "--as", name+"-"+strconv.Itoa(n+1))
	}
}

// claimAs claims as another member each round: who has a task in progress would
// get the same again.
func claimAs(name string) func(int) []string {
	return func(n int) []string {
		return []string{world.cadre, "task", "next", "--claim", "--as", name + "-" + strconv.Itoa(n+2)}
	}
}

func cold(b *testing.B, size int) (plain, files home) {
	h, f := newHome(b, fmt.Sprintf("cold-%d", size)), newHome(b, fmt.Sprintf("files-%d", size)).withFiles()
	tasks := min(size, cadre.MaxTasks-2*rounds(0)) // there must be room for more
	fill(b, h, tasks)
	fillOurs(b, f, tasks)
	join(b, h, "member", rounds(size))
	join(b, f, "member", rounds(size))
	another := func(n int) string { return "one more task, number " + strconv.Itoa(n+2) }
	add := &contender{name: "cadre task add", args: func(n int) []string { return []string{world.cadre, "task", "add", another(n)} }}
	claim := &contender{name: "cadre task next --claim", args: claimAs("member")}
	list := &contender{name: "cadre task list", args: fixed(world.cadre, "task", "list")}
	listJSON := &contender{name: "cadre task list --json", args: fixed(world.cadre, "task", "list", "--json")}
	twAdd := &contender{name: "task add", args: func(n int) []string { return []string{"task", "add", another(n)} }}
	// Taskwarrior is told which task to start, Cadre finds out.
	twStart := &contender{name: "task start", args: func(n int) []string { return []string{"task", strconv.Itoa(n + 2), "start"} }}
	twList := &contender{name: "task list", args: fixed("task", "list")}
	node := &contender{name: "node -e 0", args: fixed("node", "-e", "0")}
	there := func(c *contender) *contender { return &contender{name: c.name + ", files", home: &f, args: c.args} }
	addFile, claimFile, listFile := there(add), there(claim), there(list)
	all := []*contender{add, twAdd, claim, twStart, list, listJSON, twList, node, addFile, claimFile, listFile}
	race(b, h, rounds(size), all...)

	row := strconv.Itoa(size) + "\t"
	for _, c := range all {
		row += fmt.Sprintf("%s / %s\t", short(millis(c.wall.median())), short(millis(c.cpu.median())))
	}
	world.report.growth = append(world.report.growth, row)
	if size == 10_000 {
		r := &world.report
		for _, c := range []struct {
			how              string
			add, claim, list *contender
		}{{"", add, claim, list}, {", files", addFile, claimFile, listFile}} {
			r.times("task add, 10,000 tasks"+c.how, c.add.wall.median(), "taskwarrior", twAdd.wall.median(), atMost(1./10))
			r.times("next --claim, 10,000 tasks"+c.how, c.claim.wall.median(), "taskwarrior start", twStart.wall.median(), atMost(1./15))
			r.times("next --claim, 10,000 tasks"+c.how, c.claim.wall.median(), "node -e 0", node.wall.median(), atMost(1./6))
			r.times("task list, 10,000 tasks"+c.how, c.list.wall.median(), "taskwarrior", twList.wall.median(), atMost(1./4))
		}
		r.times("task list --json, 10,000 tasks", listJSON.wall.median(), "taskwarrior list", twList.wall.median(), nil)
	}
	return h, f
}

// fillOurs gives Cadre some tasks.
func fillOurs(tb testing.TB, h home, size int) {
	tb.Helper()
	path := filepath.Join(h.dir, "tasks.jsonl")
	writeTasks(tb, path, size)
	h.run(tb, world.cadre, "import", path, "--quiet")
}

func writeTasks(tb testing.TB, path string, size int) {
	tb.Helper()
	writeLines(tb, path, size, func(w *bufio.Writer, n int) {
		fmt.Fprintf(w, `{"subject":"task number %d","description":"what is to be done about number %d, in a few words"}`+"\n", n, n)
	})
}

// fill gives both programs the same tasks.
func fill(tb testing.TB, h home, size int) {
	tb.Helper()
	fillOurs(tb, h, size)
	theirs := filepath.Join(h.dir, "tasks.json")
	writeLines(tb, theirs, size, func(w *bufio.Writer, n int) {
		fmt.Fprintf(w, `{"description":"task number %d","status":"pending","entry":"20260101T000000Z"}`+"\n", n)
	})
	h.run(tb, "task", "import", theirs)
	h.run(tb, "task", "list") // it numbers new tasks at the first look
}

func writeLines(tb testing.TB, path string, n int, line func(*bufio.Writer, int)) {
	tb.Helper()
	f, err := os.Create(path)
	if err != nil {
		tb.Fatal(err)
	}
	w := bufio.NewWriter(f)
	for i := range n {
		line(w, i+1)
	}
	if err := w.Flush(); err != nil {
		tb.Fatal(err)
	}
	if err := f.Close(); err != nil {
		tb.Fatal(err)
	}
}
