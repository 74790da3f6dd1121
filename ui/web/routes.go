package web

import (
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/ctrlplane/ctrlplane/control/rest"
	"github.com/ctrlplane/ctrlplane/internal/usage"
	"github.com/ctrlplane/ctrlplane/observe"
	"github.com/ctrlplane/ctrlplane/observe/trace"
	"github.com/ctrlplane/ctrlplane/ui"
	"github.com/ctrlplane/ctrlplane/ui/explain"
)

//go:embed assets
var assets embed.FS

func (s *Server) routes() http.Handler {
	files, err := fs.Sub(assets, "assets")
	if err != nil {
		panic(err) // the path is not valid
	}
	mux := http.NewServeMux()
	mux.Handle("/", http.FileServerFS(files))
	mux.HandleFunc("GET /js/tables.js", serveTables)
	mux.HandleFunc("POST /api/session", s.beginSession)

	api := http.NewServeMux()
	api.HandleFunc("GET /api/session", s.showSession)
	api.HandleFunc("GET /api/stream", s.serveStream)
	api.HandleFunc("POST /api/playback", s.changePlayback)
	api.HandleFunc("GET /api/explain", s.serveExplain)
	api.HandleFunc("GET /api/object", s.serveObject)
	api.HandleFunc("GET /api/trace", s.serveCauses(s.buildTrace))
	api.HandleFunc("GET /api/why", s.serveCauses(s.explainWhy))
	api.Handle(rest.Path+"/", s.refreshAfter(rest.InterventionsHandler(rest.Services{
		Source: s.options.Source, Interventions: s.options.Interventions, Clients: s.options.ClientInterventions, Speed: s.options.Speed,
	})))
	mux.Handle("/api/", s.guard.requireSession(api))
	mux.Handle(rest.Path+"/", s.guard.requireSession(api))
	return mux
}

// beginSession exchanges a token for a cookie and a key.
func (s *Server) beginSession(w http.ResponseWriter, req *http.Request) {
	var body struct {
		Token string `json:"token"`
	}
	if err := json.NewDecoder(http.MaxBytesReader(w, req.Body, 1<<10)).Decode(&body); err != nil {
		writeError(w, http.StatusBadRequest, errors.New("request body: not valid JSON"))
		return
	}
	given, access, err := s.sessions.exchange(body.Token, s.guard.credentialsOf(req))
	if err != nil {
		writeError(w, http.StatusUnauthorized, err)
		return
	}
	http.SetCookie(w, &http.Cookie{
		Name: s.guard.cookie, Value: given.cookie, Path: "/", HttpOnly: true, Secure: req.TLS != nil, SameSite: http.SameSiteStrictMode,
	})
	if s.guard.readOnly {
		access = Viewer
	}
	if s.options.Opened != nil {
		from, _, err := net.SplitHostPort(req.RemoteAddr)
		if err != nil {
			from = req.RemoteAddr
		}
		s.options.Opened(Visit{from, access})
	}
	writeJSON(w, http.StatusOK, struct {
		Key string `json:"key"`
	}{given.key})
}

// showSession says what the page can do.
func (s *Server) showSession(w http.ResponseWriter, req *http.Request) {
	writeJSON(w, http.StatusOK, struct {
		ReadOnly bool `json:"readOnly"`
		Objects  bool `json:"objects"` // whether objects can be shown
		// Speeds are those that the page can set.
		Speeds []observe.Speed `json:"speeds,omitempty"`
		Focus  []string        `json:"focus,omitempty"` // controllers
		// Replay is set if the page shows a recording, Plays if it can also control it.
		Replay bool `json:"replay,omitempty"`
		Plays  bool `json:"plays,omitempty"`
	}{
		visitOf(req).access < Operator || s.options.Interventions == nil, s.inspector() != nil, s.speeds(), s.options.Focus,
		s.options.Player != nil, s.options.Player != nil && visitOf(req).access == Operator,
	})
}

func (s *Server) speeds() []observe.Speed {
	if s.options.Speed == nil {
		return nil
	}
	return observe.Speeds
}

func (s *Server) inspector() observe.Inspector {
	i, _ := s.options.Source.(observe.Inspector)
	return i
}

// refreshAfter reads the status after each intervention, so that all pages show it at once.
func (s *Server) refreshAfter(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		next.ServeHTTP(w, req)
		if req.Method != http.MethodGet {
			s.hub.refresh(req.Context())
		}
	})
}

// serveExplain sends the page of one controller as "explain -o json" prints it.
func (s *Server) serveExplain(w http.ResponseWriter, req *http.Request) {
	name := req.URL.Query().Get("name")
	var facts explain.Facts
	if s.options.Facts != nil {
		var err error
		if facts, err = s.options.Facts(req.Context()); err != nil {
			facts = explain.Facts{} // the page is useful without them, also while the control plane does not answer
		}
	}
	page, ok := explain.FindPage(name)
	if !ok {
		page, ok = explain.ReportedPage(facts.Snapshot, name)
	}
	if !ok {
		writeError(w, http.StatusNotFound, fmt.Errorf("%q has no page: it is a client or a controller of your own that does not report", name))
		return
	}
	writeJSON(w, http.StatusOK, page.NewEntry(facts))
}

func (s *Server) serveObject(w http.ResponseWriter, req *http.Request) {
	about, err := rest.ParseObject(req.URL.Query())
	if err == nil && s.inspector() == nil {
		err = usage.Errorf("objects cannot be shown: the source has none")
	}
	if err != nil {
		writeError(w, http.StatusBadRequest, err)
		return
	}
	found, err := s.inspector().Inspect(req.Context(), about)
	if err != nil && found.YAML == "" && !found.Gone {
		writeError(w, http.StatusBadGateway, err)
		return
	}
	writeJSON(w, http.StatusOK, found)
}

// buildTrace traces an object as "trace -o json" does.
func (s *Server) buildTrace(_ context.Context, about observe.Object, records []observe.Record, o trace.Options) (any, error) {
	return trace.Build(records, about, o)
}

// explainWhy explains an object as "why -o json" does: the change that is asked for, if that is recorded.
func (s *Server) explainWhy(ctx context.Context, about observe.Object, records []observe.Record, o trace.Options) (any, error) {
	if err := o.ReadFailing(ctx, s.options.Source, records, about); err != nil {
		return nil, err
	}
	q := ui.Why{About: about, Options: o, State: ui.ObjectState{Recorded: s.options.Player != nil}}
	if d, ok := s.options.Source.(ui.Describer); ok {
		q.Describe = func(o observe.Object) ui.ObjectState { return d.Describe(ctx, o) }
		q.State = q.Describe(about)
	}
	return q.ChainOrFirst(records, trace.Style{Zone: time.Local})
}

// serveCauses sends what build makes of all records.
func (s *Server) serveCauses(build func(context.Context, observe.Object, []observe.Record, trace.Options) (any, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, req *http.Request) {
		about, err := rest.ParseObject(req.URL.Query())
		var o trace.Options
		if err == nil {
			o.What, err = trace.ParseWhat(req.URL.Query().Get("what"))
		}
		if err != nil {
			writeError(w, http.StatusBadRequest, err)
			return
		}
		release, err := s.limits.takeTrace(req.Context(), visitOf(req).id, req.RemoteAddr)
		if err != nil {
			writeError(w, http.StatusTooManyRequests, err)
			return
		}
		defer release()
		select { // a trace reads all records: two at a time leave the process to its work
		case s.traces <- struct{}{}:
		case <-req.Context().Done():
			return
		}
		made := sync.OnceFunc(func() { <-s.traces })
		defer made()
		records, err := o.ReadRecords(req.Context(), s.options.Source)
		if err != nil {
			writeError(w, http.StatusBadGateway, err)
			return
		}
		result, err := build(req.Context(), about, records, o)
		made() // the answer may be read slowly
		if err != nil {
			writeError(w, http.StatusNotFound, err)
			return
		}
		writeJSON(w, http.StatusOK, result)
	}
}
