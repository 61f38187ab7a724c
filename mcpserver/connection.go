package mcpserver

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"cadre"
	"cadre/coord"
	"cadre/internal/quote"
)

// connection is one client for as long as it is connected: who it is, which never
// changes, and the list it works on.
type connection struct {
	server *Server
	mcp    *mcp.Server
	ctx    context.Context // ends with the connection, and with the caller's token
	end    context.CancelFunc
	begun  func(*mcp.ServerSession) // told who the client is, before the client is; may be nil

	unanswered func() bool // whether answers are still on their way

	mu       sync.Mutex
	s        *coord.Session
	client   *mcp.ServerSession
	home     cadre.Scope                       // where it began
	joined   map[cadre.Scope]bool              // where it may have become a member, for a guest
	seen     map[cadre.Scope]uint64            // the newest message that it was shown, with all unread ones before it
	whole    map[cadre.Scope]bool              // it was shown all that was unread then
	given    map[cadre.Scope][]cadre.MessageID // what answers show that are on their way; nil where nobody asks
	watching map[string]bool                   // resources it subscribed to
	watches  sync.Once                         // somebody follows what it subscribed to
	posed    sync.Once                         // the lead was told that it tried to be somebody else
	moved    context.CancelFunc                // ends what follows the list that it worked on
}

// session is who calls and where, as it is now.
func (c *connection) session() *coord.Session {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := *c.s
	return &s
}

// showed remembers that messages of a list were shown up to one, in order and without a
// gap; all says that there were no more.
func (c *connection) showed(scope cadre.Scope, n uint64, all bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.seen[scope] = max(c.seen[scope], n)
	c.whole[scope] = all
}

// synced remembers the same of the messages of a Sync, which are what is unread from the
// oldest on, or only what came since a cursor: where something before that was left out
// they count as not shown, and come again with ReadInbox. left says that there are more,
// which no other Sync brings.
func (c *connection) synced(v *coord.Synced, n uint64, left bool) {
	c.mu.Lock()
	gap := !v.Full && !c.whole[v.Scope]
	c.mu.Unlock()
	if !gap {
		c.showed(v.Scope, n, !left)
	}
}

// gives remembers which messages an answer shows.
func (c *connection) gives(scope cadre.Scope, messages []*cadre.MessageView) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.given == nil {
		return
	}
	for _, m := range messages {
		c.given[scope] = append(c.given[scope], m.ID)
	}
}

// gave notes what was shown as delivered, once all answers are written: it is unread
// until the client asks again, and a hook of the same session need not tell it. Where
// that cannot be noted, it does.
func (c *connection) gave() {
	c.mu.Lock()
	given, s := c.given, *c.s
	c.given = map[cadre.Scope][]cadre.MessageID{}
	c.mu.Unlock()
	for scope, ids := range given {
		s.Scope = scope
		if _, err := s.Do(c.ctx, "msg deliver", &cadre.MsgDeliver{IDs: ids}); err != nil {
			c.server.Log.Warn("mail is not noted as delivered", "scope", scope, "error", err)
		}
	}
}

func (c *connection) shown(scope cadre.Scope) uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.seen[scope]
}

// listCursor goes on after a task.
func listCursor(scope cadre.Scope, id cadre.TaskID) string { return string(scope) + ":" + string(id) }

// call carries out one call of a tool.
func (c *connection) call(ctx context.Context, t *tool, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	ctx, stop := c.alive(ctx, req)
	defer stop()
	s := c.session()
	form := t.newForm()
	err := t.decode(form, req.Params.Arguments)
	if err == nil {
		err = c.prepare(s, form)
	}
	var name string
	var verb, answer any
	if err == nil {
		name, verb, err = t.call(form)
	}
	if err == nil {
		answer, err = c.do(ctx, s, name, verb, form)
	}
	if cause := context.Cause(ctx); err != nil && cause != nil {
		err = cause // revoked or gone, whatever was being done
	}
	if err != nil {
		return c.refused(ctx, s, t, err), nil
	}
	c.follow(ctx, name, answer)
	text, data := c.present(s.Scope, t, form, answer, argumentNames(req.Params.Arguments))
	return c.reply(ctx, text, data), nil
}

// alive is the call's context: it ends with the connection, with the caller's token,
// and with the HTTP request that would carry the answer.
func (c *connection) alive(ctx context.Context, req *mcp.CallToolRequest) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	stops := []func() bool{context.AfterFunc(c.ctx, func() { cancel(context.Cause(c.ctx)) })}
	if req.Extra != nil && req.Extra.TokenInfo != nil {
		if carrier, ok := req.Extra.TokenInfo.Extra[carrierKey].(context.Context); ok {
			stops = append(stops, context.AfterFunc(carrier, func() { cancel(context.Cause(carrier)) }))
		}
	}
	return ctx, func() {
		for _, stop := range stops {
			stop()
		}
		cancel(nil)
	}
}

// hangUp ends the connection once its caller may not have it any more. Calls that waited
// end then, too, and are told why.
func (c *connection) hangUp(ends ...io.Closer) {
	settle(c.unanswered)
	for _, end := range ends {
		_ = end.Close()
	}
}

// settle waits until everything is answered, or for a second: a client that does not
// listen is not waited for, nor a call that waits for something.
func settle(unanswered func() bool) {
	for range 100 {
		if !unanswered() {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// mostLogged is how many events a call reads; each may be long.
const mostLogged = 200

// prepare gives a form what only the connection knows.
func (c *connection) prepare(s *coord.Session, form any) error {
	switch f := form.(type) {
	case *coord.Log:
		if f.Limit < 1 || f.Limit > mostLogged {
			return cadre.Refuse(cadre.RuleValue, "", "limit is a number from 1 to %d", mostLogged)
		}
	case *coord.At:
		if f.Limit < 0 || f.Limit > 1000 {
			return cadre.Refuse(cadre.RuleValue, "", "limit is a number from 1 to 1000")
		}
		f.Limit = cmp.Or(f.Limit, mostListed) + 1 // one more tells whether there is a next page
	case *coord.TaskWait:
		if f.Timeout == 0 {
			f.Timeout = waitMost * time.Second
		}
	case *syncForm:
		f.seen = c.shown(s.Scope)
	case *listForm:
		if f.Cursor == "" {
			return nil
		}
		scope, id, ok := strings.Cut(f.Cursor, ":")
		if !ok || strings.Contains(id, ":") {
			return cadre.Refuse(cadre.RuleValue, "", "%.60q is no cursor of TaskList: give nextCursor of an earlier answer, or none", f.Cursor)
		}
		if cadre.Scope(scope) != s.Scope {
			return cadre.Refuse(cadre.RuleRead, "", "this cursor is of %.60s, and this is %s: leave it out", scope, s.Scope)
		}
		f.after = cadre.TaskID(id)
	case *inboxForm:
		f.after = c.shown(s.Scope)
		if f.Cursor != "" {
			cursor, err := s.ParseCursor(f.Cursor)
			if err != nil {
				return err
			}
			if cursor.Epoch != "" {
				return cadre.Refuse(cadre.RuleValue, "", "%.60q is a cursor of Sync: give one of an earlier ReadInbox, or none", f.Cursor)
			}
			f.after = cursor.N
		}
	}
	return nil
}

// do has the verb carried out. That nothing came within the time is an answer here.
func (c *connection) do(ctx context.Context, s *coord.Session, name string, verb, form any) (any, error) {
	f, mail := form.(*inboxForm)
	if mail && f.after > 0 {
		_, err := s.Do(ctx, "msg ack", &cadre.MsgAck{UpTo: f.after})
		if err != nil && !errors.Is(err, cadre.ErrForbidden) { // then it may look at this mail, and no more
			return nil, err
		}
	}
	answer, err := s.Do(ctx, name, verb)
	if !mail || err != nil || f.Wait == 0 || len(answer.([]*cadre.MessageView)) > 0 {
		return answer, err
	}
	wait, err := f.Wait.duration()
	if err != nil {
		return nil, err
	}
	_, err = s.Do(ctx, "msg wait", &coord.MsgWait{Timeout: wait, After: f.after})
	if e := cadre.AsError(err); err != nil && e.Rule != cadre.RuleTime {
		return nil, err
	}
	return s.Do(ctx, name, verb)
}

// follow moves the connection where its caller went: to the team it created or joined,
// and back when it deleted that.
func (c *connection) follow(ctx context.Context, name string, answer any) {
	scope := cadre.Scope("")
	switch v := answer.(type) {
	case *cadre.TeamView:
		if name == "team create" || name == "team take" {
			scope = v.Scope
		}
	case *coord.Joined:
		scope = cadre.Scope(scopeIn(v.AgentID))
	case *coord.Deleted:
		scope = c.home
		if home, err := c.server.Home(ctx, c.session().Actor); err == nil && home != v.Scope {
			scope = home
		}
	}
	if scope == "" {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	moved := *c.s
	moved.Scope = scope
	c.s = &moved
	c.joined[scope] = true
	if c.moved != nil {
		c.moved()
	}
}

// reply is an answer with a word about what waits for the caller.
func (c *connection) reply(ctx context.Context, text string, data object) *mcp.CallToolResult {
	text, data = shorten(text, data)
	s := c.session()
	if answer, err := s.Do(ctx, "due", &cadre.Due{After: c.shown(s.Scope)}); err == nil {
		if due := answer.(*cadre.DueView); due.Unread+due.Asks > 0 {
			data["waiting"] = due
			text += fmt.Sprintf("\nYou have %d unread, %d asks: ReadInbox or Sync.", due.Unread, due.Asks)
		}
	}
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}, StructuredContent: data}
}

// refused tells why not and what to do. Nothing to do within the time is no error.
func (c *connection) refused(ctx context.Context, s *coord.Session, t *tool, err error) *mcp.CallToolResult {
	if p, ok := errors.AsType[posed](err); ok {
		c.posed.Do(func() {
			s.Posed(ctx, s.Actor.Name, "called tools with parameters that say who it is or where it belongs")
		})
		err = cadre.Refuse(cadre.RuleRead, "", "this connection is %s in %s, known by its %s; no parameter changes that: leave %q out", s.Actor, s.Scope, s.Actor.Proof, clip(p.param))
	}
	e := *cadre.AsError(err)
	e.Hint = c.server.hint(e.Hint)
	if e.Code == cadre.CodeForbidden || e.Code == cadre.CodePerson || e.Code == cadre.CodeInternal && ctx.Err() == nil {
		c.server.Log.Warn("refused", "tool", t.name, "actor", s.Actor.String(), "scope", s.Scope, "proof", s.Actor.Proof, "rule", e.Rule, "why", e.Message)
		c.tell(ctx, fmt.Sprintf("%s was refused: %s", t.name, e.Message))
	}
	if e.Rule == cadre.RuleNothing || e.Rule == cadre.RuleTime {
		data := object{"task": nil, "reason": e.Message}
		if e.Rule == cadre.RuleTime {
			data["timedOut"] = true
		}
		return c.reply(ctx, quote.Item(e.Message), data)
	}
	text := quote.Item(e.Message)
	if e.Hint != "" {
		text += "\nTry: " + e.Hint
	}
	result := c.reply(ctx, text, object{"error": e})
	result.IsError = true
	return result
}

func clip(s string) string { return s[:min(len(s), 40)] }

// tell sends a word to the client's log, if it asked for such.
func (c *connection) tell(ctx context.Context, text string) {
	c.mu.Lock()
	client := c.client
	c.mu.Unlock()
	if client != nil {
		//lint:ignore SA1019 clients of today's versions of the protocol ask for it
		_ = client.Log(ctx, &mcp.LoggingMessageParams{Level: "warning", Logger: "cadre", Data: text})
	}
}

// argumentNames lists what a call gave, without the task it is about.
func argumentNames(arguments json.RawMessage) []string {
	given := map[string]json.RawMessage{}
	_ = json.Unmarshal(arguments, &given) // it was read before
	delete(given, "taskId")
	return slices.Sorted(maps.Keys(given))
}

// renew keeps a guest's claims alive for as long as it is connected.
func (c *connection) renew() {
	ticks := time.NewTicker(cadre.GuestLease / 3)
	defer ticks.Stop()
	for {
		select {
		case <-c.ctx.Done():
			return
		case <-ticks.C:
		}
		s, scopes := c.everywhere()
		for _, scope := range scopes {
			s.Scope = scope
			if _, err := s.Do(c.ctx, "guest renew", &cadre.GuestRenew{}); err != nil && !errors.Is(err, cadre.ErrNotFound) && c.ctx.Err() == nil {
				c.server.Log.Warn("a guest's claims could not be renewed", "scope", scope, "why", err)
			}
		}
	}
}

// everywhere is the caller, and all the lists where it may have become a member.
func (c *connection) everywhere() (*coord.Session, []cadre.Scope) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := *c.s
	return &s, slices.Collect(maps.Keys(c.joined))
}

// leave takes a guest out of the teams it joined or leads: nobody can come back as it.
func (c *connection) leave() {
	s, scopes := c.everywhere()
	if s.Actor.Kind != cadre.ActorGuest {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	for _, scope := range scopes {
		s.Scope = scope
		if _, err := s.Do(ctx, "member leave", &cadre.MemberLeave{}); err != nil && !errors.Is(err, cadre.ErrNotFound) {
			c.server.Log.Log(ctx, slog.LevelWarn, "a guest could not leave", "scope", scope, "why", err)
		}
	}
}
