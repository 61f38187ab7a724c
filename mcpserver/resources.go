package mcpserver

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"cadre"
	"cadre/coord"
)

// Resources are about the list that the connection works on: no address leads to
// another team's.
const (
	scheme    = "cadre:"
	boardURI  = scheme + "//board"
	logURI    = scheme + "//log"
	taskURI   = scheme + "//task/"
	memberURI = scheme + "//member/"
	mailURI   = scheme + "//message/"
)

func (c *connection) addResources() {
	c.mcp.AddResource(&mcp.Resource{
		URI: boardURI, Name: "board", Title: "The board", MIMEType: "application/json",
		Description: fmt.Sprintf("The team, its members, and its open tasks, at most %d", mostOnBoard),
	}, c.read)
	c.mcp.AddResource(&mcp.Resource{
		URI: logURI, Name: "log", Title: "The log", MIMEType: "application/json", Description: "The last 50 events: who did what, when, through which door",
	}, c.read)
	for _, t := range []*mcp.ResourceTemplate{
		{URITemplate: taskURI + "{id}", Name: "task", Title: "A task", Description: "A task whole, however long"},
		{URITemplate: memberURI + "{name}/log", Name: "transcript", Title: "What a member did", Description: "The last 50 events of one member"},
		{URITemplate: mailURI + "{id}", Name: "message", Title: "A message", Description: "A message to you, whole, however long"},
	} {
		t.MIMEType = "application/json"
		c.mcp.AddResourceTemplate(t, c.read)
	}
}

// read reads one resource.
func (c *connection) read(ctx context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
	uri := req.Params.URI
	if len(uri) > maxURI {
		return nil, invalid("there is no resource %.80q", uri)
	}
	answer, err := c.look(ctx, uri)
	if cadre.AsError(err) != nil && cadre.AsError(err).Code == cadre.CodeNotFound {
		return nil, mcp.ResourceNotFoundError(uri)
	}
	if err != nil {
		return nil, err
	}
	data, err := json.Marshal(answer)
	if err != nil {
		return nil, err
	}
	if len(data) > maxResource && !strings.HasPrefix(uri, taskURI) && !strings.HasPrefix(uri, mailURI) {
		data = mustJSON(shrink(data, maxResource))
	}
	return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: uri, MIMEType: "application/json", Text: string(data)}}}, nil
}

// board is what is open, on one page.
type board struct {
	Team  object     `json:"team"`
	Tasks []taskLine `json:"tasks"`

	More int    `json:"more,omitempty"`       // open tasks that are not on it
	Next string `json:"nextCursor,omitempty"` // with it, TaskList has them
}

const (
	mostEvents  = 50
	mostOnBoard = 200
)

func (c *connection) look(ctx context.Context, uri string) (any, error) {
	s := c.session()
	missing := cadre.Refuse(cadre.RuleMissing, "", "there is no resource %.80q", uri)
	switch {
	case uri == boardURI:
		team, err := s.Do(ctx, "team show", &cadre.TeamShow{})
		if err != nil {
			return nil, err
		}
		answer, err := s.Do(ctx, "task list", &cadre.TaskList{Open: true, Limit: mostOnBoard})
		if err != nil {
			return nil, err
		}
		view, tasks := team.(*cadre.TeamView), linesOf(answer.([]*cadre.TaskView))
		_, status := presentStatus(view)
		b := board{Team: status, Tasks: tasks[:fits(tasks, maxResource/2)]}
		if n := len(b.Tasks); n > 0 { // else what was counted is gone meanwhile
			b.More = max(0, view.Tasks[cadre.Pending]+view.Tasks[cadre.InProgress]-n)
		}
		if b.More > 0 {
			b.Next = listCursor(s.Scope, b.Tasks[len(b.Tasks)-1].ID)
		}
		return b, nil
	case uri == logURI:
		return s.Do(ctx, "log", &coord.Log{Limit: mostEvents})
	case strings.HasPrefix(uri, taskURI):
		return s.Do(ctx, "task show", &cadre.TaskShow{ID: cadre.TaskID(strings.TrimPrefix(uri, taskURI))})
	case strings.HasPrefix(uri, memberURI) && strings.HasSuffix(uri, "/log"):
		name := strings.TrimSuffix(strings.TrimPrefix(uri, memberURI), "/log")
		return s.Do(ctx, "log", &coord.Log{Limit: mostEvents, By: name})
	case strings.HasPrefix(uri, mailURI):
		answer, err := s.Do(ctx, "msg inbox", &cadre.MsgInbox{All: true})
		if err != nil {
			return nil, err
		}
		for _, m := range answer.([]*cadre.MessageView) {
			if string(m.ID) == strings.TrimPrefix(uri, mailURI) {
				return m, nil
			}
		}
	}
	return nil, missing
}

// mostWatched is how many resources one client may subscribe to, and maxURI how long the
// address of one may be, in bytes.
const (
	mostWatched = 1000
	maxURI      = 300
)

// watchable says whether an address is one of a resource that there is or could be. Those
// of others are taken too, and never told of: the protocol's own suite has one.
func watchable(uri string) bool {
	if name, ok := strings.CutPrefix(uri, memberURI); ok {
		name, ok = strings.CutSuffix(name, "/log")
		return ok && name != ""
	}
	for _, prefix := range []string{taskURI, mailURI} {
		if id, ok := strings.CutPrefix(uri, prefix); ok {
			return id != ""
		}
	}
	return uri == boardURI || uri == logURI || uri != "" && !strings.HasPrefix(uri, scheme)
}

// subscribe tells a client from now on that a resource changed, also one that is not
// there yet.
func (c *connection) subscribe(_ context.Context, req *mcp.SubscribeRequest) error {
	uri := req.Params.URI
	if len(uri) > maxURI || !watchable(uri) {
		return invalid("there is no resource %.80q", uri)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.watching) == mostWatched && !c.watching[uri] {
		return invalid("%d resources are watched already: subscribe to %s instead", mostWatched, boardURI)
	}
	c.watching[uri] = true
	c.watches.Do(func() { c.server.busy.Go(c.watch) })
	return nil
}

// invalid is the protocol's error for parameters that make no sense.
func invalid(format string, args ...any) error {
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: fmt.Sprintf(format, args...)}
}

func (c *connection) unsubscribe(_ context.Context, req *mcp.UnsubscribeRequest) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.watching, req.Params.URI)
	return nil
}

// calm is how long changes are gathered before a client is told of them, and absent how
// long a list that is not there, or not for this caller, is left alone.
const (
	calm   = 50 * time.Millisecond
	absent = time.Second
)

// watch follows the log of the list that the connection works on, also when it goes to
// another, for as long as it lasts.
func (c *connection) watch() {
	for c.ctx.Err() == nil {
		here, moved := context.WithCancel(c.ctx)
		c.mu.Lock()
		c.moved = moved
		s := *c.s
		c.mu.Unlock()
		for anew := false; here.Err() == nil; anew = true {
			c.watchList(here, &s, anew)
			select {
			case <-time.After(absent): // an archived team may be restored
			case <-here.Done():
			}
		}
	}
}

// watchList tells the client of changes to one list, for as long as there is its log.
// Where that is there anew, anything may have changed.
func (c *connection) watchList(here context.Context, s *coord.Session, anew bool) {
	answer, err := s.Do(here, "watch", &coord.Watch{})
	if err != nil {
		return
	}
	events := make(chan cadre.Event)
	c.server.busy.Go(func() {
		defer close(events)
		for e, err := range answer.(coord.Stream).Events {
			if err != nil {
				return
			}
			select {
			case events <- e:
			case <-here.Done():
				return
			}
		}
	})
	touched := map[string]bool{}
	var due <-chan time.Time
	if anew {
		c.mu.Lock()
		maps.Copy(touched, c.watching)
		c.mu.Unlock()
		due = time.After(calm)
	}
	for {
		select {
		case e, ok := <-events:
			if !ok {
				return
			}
			if c.touch(touched, e); due == nil {
				due = time.After(calm)
			}
		case <-due:
			due = nil
			for uri := range touched {
				_ = c.mcp.ResourceUpdated(here, &mcp.ResourceUpdatedNotificationParams{URI: uri})
			}
			clear(touched)
		}
	}
}

// touch notes the resources that an event changed, among those that were asked for.
func (c *connection) touch(touched map[string]bool, e cadre.Event) {
	uris := []string{boardURI, logURI, memberURI + e.Actor.Name + "/log"}
	switch e.Object.Kind {
	case cadre.KindTask:
		uris = append(uris, taskURI+e.Object.ID)
	case cadre.KindComment:
		if comment, ok := e.After.(*cadre.Comment); ok {
			uris = append(uris, taskURI+string(comment.Task))
		}
	case cadre.KindMessage:
		uris = append(uris, mailURI+e.Object.ID)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, uri := range uris {
		if c.watching[uri] {
			touched[uri] = true
		}
	}
}
