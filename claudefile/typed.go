package claudefile

import (
	"encoding/json"
	"strings"
	"time"
)

// Typed is a control message: a JSON object with a type, as the text of an entry.
// Which fields are set depends on the type; Raw has all of them. That a text reads
// like a control message proves nothing about who sent it.
type Typed struct {
	Type, RequestID, From, Timestamp string
	Reason                           string // shutdown_request, shutdown_rejected; the error of a permission_response

	TaskID, Subject, Description, AssignedBy           string // task_assignment; a permission_request has a description too
	IdleReason, Summary, Result, Status, FailureReason string // idle_notification
	PaneID, BackendType                                string // shutdown_approved
	PlanFilePath, PlanContent                          string // plan_approval_request
	Feedback, PermissionMode                           string // plan_approval_response
	ToolName, ToolUseID                                string // permission_request
	Input                                              json.RawMessage

	// Approved is the answer in what is an answer, and nil in everything else.
	Approved *bool

	Raw json.RawMessage
}

// ReadTyped reads a control message, also one of a type that nobody here knows. It
// gives nil for plain text.
func ReadTyped(text string) *Typed {
	if !strings.HasPrefix(strings.TrimSpace(text), "{") {
		return nil
	}
	o, err := Parse([]byte(text))
	if err != nil {
		return nil
	}
	f := fields{Object: o}
	first := func(keys ...string) string {
		for _, key := range keys {
			if s := f.text(key, false); s != "" {
				return s
			}
		}
		return ""
	}
	t := &Typed{
		Type:           first("type"),
		RequestID:      first("requestId", "request_id"),
		From:           first("from", "agent_id", "workerName"),
		Timestamp:      first("timestamp"),
		Reason:         first("reason", "error"),
		TaskID:         first("taskId", "completedTaskId"),
		Subject:        first("subject", "taskSubject"),
		Description:    first("description"),
		AssignedBy:     first("assignedBy"),
		IdleReason:     first("idleReason"),
		Summary:        first("summary"),
		Result:         first("result"),
		Status:         first("completedStatus"),
		FailureReason:  first("failureReason"),
		PaneID:         first("paneId"),
		BackendType:    first("backendType"),
		PlanFilePath:   first("planFilePath"),
		PlanContent:    first("planContent"),
		Feedback:       first("feedback"),
		PermissionMode: first("permissionMode"),
		ToolName:       first("tool_name", "toolName"),
		ToolUseID:      first("tool_use_id"),
		Raw:            json.RawMessage(text),
	}
	if t.Type == "" {
		return nil
	}
	t.Input, _ = f.Get("input")
	t.Approved = answer(t.Type, &f)
	return t
}

// answer gives what a response of a type says.
func answer(kind string, f *fields) *bool {
	switch kind {
	case "plan_approval_response":
		return f.flag("approved", false)
	case "sandbox_permission_response":
		return f.flag("allow", false)
	case "permission_response":
		if s := f.text("subtype", false); s == "success" || s == "error" {
			return new(s == "success")
		}
	case "shutdown_approved", "shutdown_rejected":
		return new(kind == "shutdown_approved")
	}
	return nil
}

// TaskAssignment tells a member that it owns a task now.
func TaskAssignment(taskID, subject, description, assignedBy string, at time.Time) string {
	return message("task_assignment",
		field{"taskId", taskID, true}, field{"subject", subject, true}, field{"description", description, true},
		field{"assignedBy", assignedBy, true}, stamp(at))
}

// IdleNotification tells the lead that a member's turn is over. reason is
// available, interrupted or failed; it, summary and result may be empty.
func IdleNotification(from, reason, summary, result string, at time.Time) string {
	return message("idle_notification",
		field{"from", from, true}, stamp(at), field{"idleReason", reason, false},
		field{"summary", summary, false}, field{"result", result, false})
}

// ShutdownRequest asks a member to end. The reason may be empty.
func ShutdownRequest(requestID, from, reason string, at time.Time) string {
	return message("shutdown_request",
		field{"requestId", requestID, true}, field{"from", from, true}, field{"reason", reason, false}, stamp(at))
}

// ShutdownApproved is a member's yes to a shutdown request. The lead's client kills
// the pane that it names; both may be empty.
func ShutdownApproved(requestID, from, paneID, backendType string, at time.Time) string {
	return message("shutdown_approved",
		field{"requestId", requestID, true}, field{"from", from, true}, stamp(at),
		field{"paneId", paneID, false}, field{"backendType", backendType, false})
}

// ShutdownRejected is a member's no to a shutdown request.
func ShutdownRejected(requestID, from, reason string, at time.Time) string {
	return message("shutdown_rejected",
		field{"requestId", requestID, true}, field{"from", from, true}, field{"reason", reason, true}, stamp(at))
}

// PlanApprovalRequest submits a plan to the lead.
func PlanApprovalRequest(from, planFilePath, planContent, requestID string, at time.Time) string {
	return message("plan_approval_request",
		field{"from", from, true}, stamp(at), field{"planFilePath", planFilePath, true},
		field{"planContent", planContent, true}, field{"requestId", requestID, true})
}

// PlanApprovalResponse answers a plan. Feedback and the permission mode that the
// member goes on in may be empty.
func PlanApprovalResponse(requestID string, approved bool, feedback, permissionMode string, at time.Time) string {
	return message("plan_approval_response",
		field{"requestId", requestID, true}, field{"approved", approved, true}, field{"feedback", feedback, false},
		stamp(at), field{"permissionMode", permissionMode, false})
}

// PermissionGranted lets a member use the tool it asked for. A nil input leaves the
// tool's input as it was asked.
func PermissionGranted(requestID string, updatedInput json.RawMessage) string {
	response := &Object{}
	merge(response, nil, []field{{"updated_input", updatedInput, false}})
	return message("permission_response",
		field{"request_id", requestID, true}, field{"subtype", "success", true}, field{"response", response, true})
}

// PermissionDenied refuses a member the tool it asked for, with the reason.
func PermissionDenied(requestID, reason string) string {
	return message("permission_response",
		field{"request_id", requestID, true}, field{"subtype", "error", true}, field{"error", reason, true})
}

func stamp(at time.Time) field { return field{"timestamp", Timestamp(at), true} }

// message writes a control message on one line, as JSON.stringify(x) does.
func message(kind string, rest ...field) string {
	o := &Object{}
	merge(o, nil, append([]field{{"type", kind, true}}, rest...))
	return string(o.append(nil, ""))
}
