package cli

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"strings"

	"cadre"
	"cadre/coord"
	"cadre/internal/termtext"
)

// markdownReport writes a report for people who were not there.
func markdownReport(r *coord.RunReport) []byte {
	var b bytes.Buffer
	pg := &page{program: &program{}}
	fmt.Fprintf(&b, "# %s\n\n%s\n\nBegan %s, ended %s, from `%s`.\n", r.Team, outcomeLine(pg, r), plainTime(r.Began), plainTime(r.Ended), r.File)
	b.WriteString("\n## Tasks\n\n")
	b.Write(taskTable(r))
	b.WriteString("\n## Members\n\n| member | runs by | done | failed | busy | in the end |\n|---|---|---|---|---|---|\n")
	for _, m := range r.Members {
		end := string(m.State) + ": " + m.Evidence
		if m.Worktree != nil {
			end += "; its work is on branch " + m.Worktree.Branch
		}
		fmt.Fprintf(&b, "| %s | %s | %d | %d | %s | %s |\n", inTable(m.Name), m.Backend, m.Done, m.Failed, seconds(m.Busy), inTable(end))
	}
	if len(r.Asks) > 0 {
		b.WriteString("\n## Waiting for an answer\n\n")
		for _, a := range r.Asks {
			fmt.Fprintf(&b, "- %s, %s from %s: %s\n", a.ID, a.Kind, a.From, inTable(a.Text))
		}
	}
	b.WriteString("\n## Results\n")
	for _, t := range r.Tasks {
		fmt.Fprintf(&b, "\n### %s\n\n", inTable(taskName(t.TaskView)+": "+t.Subject))
		for i, try := range t.Tries {
			if try.How != "done" {
				fmt.Fprintf(&b, "Attempt %d by %s: %s. %s\n\n", i+1, try.By, try.How, inTable(try.Why))
			}
		}
		if t.Result == nil {
			b.WriteString("No result.\n")
			continue
		}
		if len(t.Result.Files) > 0 {
			fmt.Fprintf(&b, "Files: %s\n\n", inTable(strings.Join(t.Result.Files, ", ")))
		}
		fence := fenceFor(t.Result.Summary)
		fmt.Fprintf(&b, "%s\n%s\n%s\n", fence, termtext.Lines(strings.TrimRight(t.Result.Summary, "\n")), fence)
	}
	if r.Next != "" {
		fmt.Fprintf(&b, "\nTo go on: `%s`\n", r.Next)
	}
	return b.Bytes()
}

// taskTable is who did what.
func taskTable(r *coord.RunReport) []byte {
	var b bytes.Buffer
	b.WriteString("| task | state | by | tries | took | result |\n|---|---|---|---|---|---|\n")
	for _, t := range r.Tasks {
		fmt.Fprintf(&b, "| %s | %s | %s | %d | %s | %s |\n", inTable(taskName(t.TaskView)), taskState(t.State).text, inTable(lastBy(t)), len(t.Tries), seconds(t.Took()), inTable(resultLine(t.TaskView)))
	}
	return b.Bytes()
}

// fenceFor is a fence that a text cannot end.
func fenceFor(text string) string {
	fence := "```"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	return fence
}

// inTable writes text from outside so that it stays in its cell and means nothing.
func inTable(s string) string {
	return strings.NewReplacer("|", "\\|", "<", "&lt;", "`", "\\`").Replace(line(strings.Join(strings.Fields(s), " ")))
}

// These are the elements of a JUnit file.
type (
	junitSuite struct {
		XMLName  xml.Name    `xml:"testsuite"`
		Name     string      `xml:"name,attr"`
		Tests    int         `xml:"tests,attr"`
		Failures int         `xml:"failures,attr"`
		Skipped  int         `xml:"skipped,attr"`
		Time     string      `xml:"time,attr"`
		Stamp    string      `xml:"timestamp,attr"`
		Cases    []junitCase `xml:"testcase"`
	}
	junitCase struct {
		Name    string      `xml:"name,attr"`
		Class   string      `xml:"classname,attr"`
		Time    string      `xml:"time,attr"`
		Failure *junitWords `xml:"failure"`
		Skipped *junitWords `xml:"skipped"`
		Output  string      `xml:"system-out,omitempty"`
	}
	junitWords struct {
		Message string `xml:"message,attr"`
		Text    string `xml:",chardata"`
	}
)

// junitReport writes a report for programs that show test results: a task is a test, one
// that needs a person or was not reached is skipped unless it failed.
func junitReport(r *coord.RunReport) []byte {
	suite := junitSuite{Name: string(r.Team), Tests: len(r.Tasks), Time: fmt.Sprintf("%.3f", r.Ended.Sub(r.Began).Seconds()), Stamp: r.Began.UTC().Format("2006-01-02T15:04:05")}
	for _, t := range r.Tasks {
		c := junitCase{Name: taskName(t.TaskView) + ": " + t.Subject, Class: string(r.Team), Time: fmt.Sprintf("%.3f", t.Took().Seconds())}
		result := ""
		if t.Result != nil {
			result = t.Result.Summary
		}
		switch failed := len(t.Tries) > 0 && t.Tries[len(t.Tries)-1].How == "failed"; {
		case t.State == cadre.TaskDoneState:
			c.Output = plainXML(result)
		case failed:
			suite.Failures++
			c.Failure = &junitWords{plainXML(fmt.Sprintf("failed %d times", len(t.Tries))), plainXML(result)}
		default:
			suite.Skipped++
			c.Skipped = &junitWords{Message: "is " + string(t.State)}
		}
		suite.Cases = append(suite.Cases, c)
	}
	out, err := xml.MarshalIndent(suite, "", "  ")
	if err != nil {
		panic(err) // it is made of texts and numbers
	}
	return append([]byte(xml.Header), append(out, '\n')...)
}

// plainXML is text without what XML cannot hold.
func plainXML(s string) string { return termtext.Lines(s) }
