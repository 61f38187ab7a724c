package cli

import "cadre"

// A state is shown as a glyph and a word: the glyph to find it at a glance, the
// word because no glyph explains itself, colour only on top of both.

func taskState(s cadre.TaskState) cell {
	switch s {
	case cadre.TaskReadyState:
		return cell{"○ ready", plain}
	case cadre.TaskBlocked:
		return cell{"◌ blocked", dim}
	case cadre.TaskRunning:
		return cell{"● running", cyan}
	case cadre.TaskWaiting:
		return cell{"! waiting", yellow}
	case cadre.TaskStalled:
		return cell{"◔ stalled", red}
	case cadre.TaskDoneState:
		return cell{"✓ done", green}
	case cadre.TaskGone:
		return cell{"✗ deleted", dim}
	}
	return cell{"? " + line(string(s)), yellow}
}

func memberState(s cadre.MemberState) cell {
	word := line(string(s))
	switch s {
	case cadre.StateWorking:
		return cell{"● " + word, cyan}
	case cadre.StateIdle, cadre.StateStarting:
		return cell{"○ " + word, plain}
	case cadre.StateWaiting, cadre.StateRateLimited:
		return cell{"! " + word, yellow}
	case cadre.StateStalled:
		return cell{"◔ " + word, red}
	case cadre.StateUnreachable:
		return cell{"⊘ " + word, red}
	case cadre.StateDead:
		return cell{"✗ " + word, red}
	case cadre.StateDeparted:
		return cell{"· " + word, dim}
	}
	return cell{"? " + word, yellow}
}

func askState(s cadre.AskState) cell {
	word := line(string(s))
	switch s {
	case cadre.AskOpen:
		return cell{"! " + word, yellow}
	case cadre.AskApproved, cadre.AskAnswered:
		return cell{"✓ " + word, green}
	case cadre.AskRejected:
		return cell{"✗ " + word, red}
	}
	return cell{"· " + word, dim}
}

func messageState(s string) cell {
	switch s {
	case "dead":
		return cell{"✗ dead", red}
	case "read", "acted":
		return cell{"✓ " + s, dim}
	case "stored":
		return cell{"● unread", cyan}
	}
	return cell{"● " + line(s), cyan}
}

func todoState(s cadre.Status) cell {
	switch s {
	case cadre.InProgress:
		return cell{"● running", cyan}
	case cadre.Completed:
		return cell{"✓ done", green}
	}
	return cell{"○ open", plain}
}

// priorityWord names the priorities that have names.
func priorityWord(n int) cell {
	switch n {
	case cadre.Normal:
		return cell{}
	case cadre.Low:
		return cell{"low", dim}
	case cadre.High:
		return cell{"high", yellow}
	case cadre.Urgent:
		return cell{"urgent", red}
	}
	return cell{itoa(n), plain}
}
