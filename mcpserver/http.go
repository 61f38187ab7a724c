package mcpserver

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"cadre"
	"cadre/coord"
)

// carrierKey is where a call finds the HTTP request that carries its answer.
const carrierKey = "carrier"

// idle is how long a client over HTTP may say nothing before its connection is over.
const idle = time.Hour

type connectionKey struct{}

// Handler serves any number of clients over Streamable HTTP. Each request has a bearer
// token, which caller says who holds. A page of another origin, or a name that merely
// resolves to this machine, is refused.
func (srv *Server) Handler(ctx context.Context, caller func(context.Context, string) (*coord.Session, error)) http.Handler {
	versions := mcp.NewServer(&mcp.Implementation{Name: "cadre", Version: srv.Version}, nil)
	streams := mcp.NewStreamableHTTPHandler(func(r *http.Request) *mcp.Server {
		if slot, ok := r.Context().Value(connectionKey{}).(*slot); ok {
			return slot.connection().mcp
		}
		return versions
	}, &mcp.StreamableHTTPOptions{Logger: slog.New(slog.DiscardHandler), MaxRequestBodyBytes: maxRequest, SessionTimeout: idle})

	visitors := &visitors{of: map[string][]*visit{}}
	sessions := func(w http.ResponseWriter, r *http.Request) {
		info := auth.TokenInfoFromContext(r.Context())
		id := r.Header.Get("Mcp-Session-Id")
		if r.Method != http.MethodPost && id == "" {
			streams.ServeHTTP(w, r) // says what is missing
			return
		}
		visit, err := visitors.enter(info.UserID, id)
		if err != nil {
			http.Error(w, err.Error(), http.StatusTooManyRequests)
			return
		}
		if visit != nil {
			defer visitors.answered(visit)
		}
		if visit != nil && r.Method == http.MethodPost {
			visit.calls.Add(1)
			defer visit.calls.Add(-1)
		}
		if id != "" {
			streams.ServeHTTP(w, r)
			return
		}
		srv.busy.Add(1)
		defer srv.busy.Done()
		s := &slot{server: srv, ctx: ctx, s: info.Extra[sessionKey].(*coord.Session), visit: visit}
		defer s.forget(func() { visitors.left(info.UserID, visit) })
		streams.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), connectionKey{}, s)))
	}
	verify := func(ctx context.Context, token string, r *http.Request) (*auth.TokenInfo, error) {
		s, err := caller(ctx, token)
		if e := cadre.AsError(err); err != nil && e.Code == cadre.CodeForbidden {
			srv.Log.Warn("refused", "remote", r.RemoteAddr, "why", e.Message)
			return nil, fmt.Errorf("%w: %s", auth.ErrInvalidToken, e.Message)
		}
		if err != nil {
			return nil, err
		}
		return &auth.TokenInfo{UserID: s.Actor.Token, Extra: map[string]any{carrierKey: r.Context(), sessionKey: s}}, nil
	}
	protected := auth.RequireBearerToken(verify, &auth.RequireBearerTokenOptions{AllowMissingExpiration: true})(http.HandlerFunc(sessions))
	return sameOrigin(http.NewCrossOriginProtection().Handler(protected))
}

const sessionKey = "session"

// slot is a connection that is made when a client really begins one.
type slot struct {
	server *Server
	ctx    context.Context
	s      *coord.Session
	c      *connection
	visit  *visit
}

func (s *slot) connection() *connection {
	if s.c == nil {
		s.c = s.server.connect(s.ctx, s.s)
		s.c.unanswered = func() bool { return s.visit.calls.Load() > 0 }
		s.c.begun = func(client *mcp.ServerSession) {
			s.visit.client.Store(client)
			context.AfterFunc(s.c.ctx, func() { s.c.hangUp(client) })
		}
	}
	return s.c
}

// forget ends what was made for a request that began no session, and sees to the end of
// one that did.
func (s *slot) forget(gone func()) {
	client := s.visit.client.Load()
	if client == nil {
		gone()
		if s.c != nil {
			s.c.end()
		}
		return
	}
	s.server.busy.Go(func() {
		_ = client.Wait()
		gone()
		s.c.leave()
		s.c.end()
	})
}

// sameOrigin refuses what a browser sends for a page of another origin, and what came
// under a name that is not this machine's.
func sameOrigin(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !ownName(r) {
			http.Error(w, "this server does not answer to that name", http.StatusForbidden)
			return
		}
		if origin := r.Header.Get("Origin"); origin != "" && origin != "http://"+r.Host && origin != "https://"+r.Host {
			http.Error(w, "requests of another origin are refused", http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// ownName says whether a request names the address it came in at.
func ownName(r *http.Request) bool {
	host, _, err := net.SplitHostPort(r.Host)
	if err != nil {
		host = r.Host
	}
	if host == "localhost" {
		return true
	}
	local, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	if !ok {
		return false
	}
	own, _, err := net.SplitHostPort(local.String())
	ip := net.ParseIP(host)
	return err == nil && ip != nil && (ip.IsLoopback() || host == own)
}

// Listen serves over HTTP until the context ends. Only this machine can connect: what
// goes over a network needs more than a token.
func (srv *Server) Listen(ctx context.Context, address string, ready func(url string), caller func(context.Context, string) (*coord.Session, error)) error {
	host, _, err := net.SplitHostPort(address)
	if err != nil || !loopback(host) {
		return cadre.Refuse(cadre.RuleValue, "cadre mcp --listen 127.0.0.1:7333", "%.60q is no address of this machine alone", address)
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return cadre.Fault(err, "cadre mcp --listen 127.0.0.1:0", "listening on %s", address)
	}
	server := &http.Server{Handler: srv.Handler(ctx, caller), ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute}
	defer srv.busy.Wait()
	defer context.AfterFunc(ctx, func() { _ = server.Close() })()
	ready("http://" + listener.Addr().String() + "/mcp")
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return ctx.Err()
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
