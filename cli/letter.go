package cli

import (
	"slices"
	"strings"

	"cadre"
	"cadre/claudefile"
)

// letter is what a message says to its reader, in words. Control messages of a
// client are JSON: what kind a message is was decided when it came in, so a plain
// text that only looks like one stays what it is. The result is not yet safe to
// print.
func letter(m *cadre.Message) string {
	words, text := m.Text, m.Text
	switch m.Kind {
	case cadre.MessagePlain, cadre.MessageBroadcast, cadre.MessageNotice, cadre.MessageDigest:
		return text
	}
	if typed := claudefile.ReadTyped(text); typed != nil {
		text = typedText(typed)
	}
	switch m.Kind {
	case cadre.MessageAssignment:
		words = "assigned you task " + string(m.Task) + andSays(text)
	case cadre.MessageShutdownRequest:
		words = "asks you to shut down" + andSays(text)
	case cadre.MessageShutdownResponse:
		words = "shutdown " + text
	case cadre.MessagePlanRequest:
		words = "plan to approve" + andSays(text)
	case cadre.MessagePlanResponse:
		words = "plan " + text
	case cadre.MessagePermRequest:
		words = "permission wanted" + andSays(text)
	case cadre.MessagePermResponse:
		words = "permission " + text
	case cadre.MessageIdle:
		words = "is idle" + andSays(text)
	}
	return words
}

// gist is a message on one line: what its sender calls it, else what it says.
func (pg *page) gist(m *cadre.Message) string {
	if m.Summary != "" && m.Kind == cadre.MessagePlain {
		return line(m.Summary)
	}
	return pg.brief(letter(m))
}

// spoken says whether letter has words for a kind of message, so that its name
// need not be shown.
func spoken(k cadre.MessageKind) bool {
	switch k {
	case cadre.MessagePlain, cadre.MessageAssignment, cadre.MessageShutdownRequest, cadre.MessageShutdownResponse, cadre.MessagePlanRequest,
		cadre.MessagePlanResponse, cadre.MessagePermRequest, cadre.MessagePermResponse, cadre.MessageIdle, cadre.MessageDigest:
		return true
	}
	return false
}

// typedText is the text that Cadre would have sent in place of a control message.
func typedText(t *claudefile.Typed) string {
	text := t.Reason
	switch t.Type {
	case "task_assignment":
		text = t.Subject + "\n\n" + t.Description
	case "plan_approval_request":
		text = t.PlanContent
	case "plan_approval_response":
		text = t.Feedback
	case "permission_request":
		text = t.ToolName + andSays(t.Description+" "+string(t.Input))
	case "idle_notification":
		parts := []string{t.IdleReason, t.FailureReason, t.Summary, t.Result}
		text = strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" || s == "available" }), "\n")
	}
	if t.Approved == nil {
		return text
	}
	if *t.Approved {
		return "approved" + andSays(text)
	}
	return "rejected" + andSays(text)
}

// andSays goes on with a text, where there is one.
func andSays(text string) string {
	if text = strings.TrimSpace(text); text == "" {
		return ""
	}
	return ": " + text
}
