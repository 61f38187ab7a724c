package mcpserver

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// What one token may have at the same time: far more than an agent needs, and so little
// that one that runs wild takes nothing from the others.
const (
	mostSessions = 100 // over HTTP
	mostRequests = 500 // over HTTP, with streams that stay open
	mostCalls    = 200 // that are being answered; most of those wait
)

// visitors are the clients over HTTP, by the token that they came with.
type visitors struct {
	mu sync.Mutex
	of map[string][]*visit // the one that was heard of longest ago first
}

// visit is one client's session.
type visit struct {
	client atomic.Pointer[mcp.ServerSession] // nil until it has begun
	open   int                               // requests that are not answered yet
	calls  atomic.Int32                      // those of them that are no streams
}

// enter lets a request in: one of a session, or, without one, a request that may begin a
// session. Where a token has too many, the one that was silent longest and has no open
// request ends: its client is gone, or can begin another. A request of a session that is
// not there has no visit.
func (v *visitors) enter(token, session string) (*visit, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	all, open := v.of[token], 0
	for _, one := range all {
		open += one.open
	}
	if open >= mostRequests {
		return nil, fmt.Errorf("%d requests with this token are open: let some of them end first", open)
	}
	if session != "" {
		i := slices.IndexFunc(all, func(one *visit) bool { return one.client.Load() != nil && one.client.Load().ID() == session })
		if i < 0 {
			return nil, nil
		}
		one := all[i]
		one.open++
		v.of[token] = append(slices.Delete(all, i, i+1), one)
		return one, nil
	}
	if len(all) >= mostSessions {
		i := slices.IndexFunc(all, func(one *visit) bool { return one.open == 0 && one.client.Load() != nil })
		if i < 0 {
			return nil, fmt.Errorf("%d sessions with this token are in use: end some of them first", len(all))
		}
		idle := all[i].client.Load()
		go func() { _ = idle.Close() }()
		all = slices.Delete(all, i, i+1)
	}
	one := &visit{open: 1}
	v.of[token] = append(all, one)
	return one, nil
}

// answered says that a request of a visit is over.
func (v *visitors) answered(one *visit) {
	v.mu.Lock()
	defer v.mu.Unlock()
	one.open--
}

// left says that a session is over.
func (v *visitors) left(token string, one *visit) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if all := slices.DeleteFunc(v.of[token], func(o *visit) bool { return o == one }); len(all) > 0 {
		v.of[token] = all
	} else {
		delete(v.of, token)
	}
}
