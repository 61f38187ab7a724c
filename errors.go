package cadre

import (
	"errors"
	"fmt"
)

// Code is the kind of a refusal. Doors map it to an exit code or a status; the
// order of the constants is the order in which a verb must check.
type Code string

const (
	CodeInternal  Code = "internal"     // a fault of Cadre or of the machine
	CodeUsage     Code = "usage"        // the call itself makes no sense
	CodeNotFound  Code = "not_found"    // what it names is not there
	CodeConflict  Code = "conflict"     // somebody was first, or the version is stale
	CodeBlocked   Code = "blocked"      // a dependency, a gate, a cycle, no legal move
	CodeForbidden Code = "not_allowed"  // this caller may not
	CodePerson    Code = "needs_person" // only a person can go on from here
	CodeTimeout   Code = "timeout"      // time or budget ran out
)

// Error is every refusal that a caller can do something about. Message says
// what and why, Hint is the next command to type, Rule is the one that refused.
type Error struct {
	Code    Code   `json:"code"`
	Rule    Rule   `json:"rule,omitempty"`
	Message string `json:"message"`
	Hint    string `json:"hint,omitempty"`
	cause   error
}

// These match, with errors.Is, every Error of their code.
var (
	ErrNotFound  = &Error{Code: CodeNotFound}
	ErrConflict  = &Error{Code: CodeConflict}
	ErrForbidden = &Error{Code: CodeForbidden}
	ErrUsage     = &Error{Code: CodeUsage}
)

func (e *Error) Error() string { return e.Message }

// Unwrap gives the underlying fault, if there was one.
func (e *Error) Unwrap() error { return e.cause }

// Is lets errors.Is compare by code, and by rule where the target names one.
func (e *Error) Is(target error) bool {
	t, ok := target.(*Error)
	return ok && t.Code == e.Code && (t.Rule == "" || t.Rule == e.Rule)
}

func (e *Error) hint(format string, args ...any) *Error {
	e.Hint = fmt.Sprintf(format, args...)
	return e
}

// refuse makes the error of a rule; the rule decides the code.
func refuse(r Rule, format string, args ...any) *Error {
	return &Error{Code: r.Code(), Rule: r, Message: fmt.Sprintf(format, args...)}
}

// Refuse makes the error of a rule for a door or store that found the breach.
func Refuse(r Rule, hint, format string, args ...any) *Error {
	e := refuse(r, format, args...)
	e.Hint = hint
	return e
}

// Fault wraps an error of the machine (a full disk, a broken file) with what was
// being done and what to type next.
func Fault(err error, hint, format string, args ...any) *Error {
	msg := fmt.Sprintf(format, args...)
	if err != nil {
		msg += ": " + err.Error()
	}
	return &Error{Code: CodeInternal, Message: msg, Hint: hint, cause: err}
}

// AsError gives any error as an *Error; one that is none is internal.
func AsError(err error) *Error {
	if err == nil {
		return nil
	}
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	return &Error{Code: CodeInternal, Message: err.Error(), cause: err}
}
