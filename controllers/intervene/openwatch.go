package intervene

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"net/http"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/ctrlplane/ctrlplane/control"
	"github.com/ctrlplane/ctrlplane/controllers/recording"
	"github.com/ctrlplane/ctrlplane/observe"
)

// openWatch is a watch that a server serves through a gate.
type openWatch struct {
	call *observe.Called
	end  context.CancelCauseFunc
}

// watchEnd is why a fault ends a watch.
type watchEnd struct{ status metav1.Status }

func (watchEnd) Error() string { return observe.InjectedFault }

// mayBeWatch reports whether a request may be a watch, without parsing its URL.
func mayBeWatch(req *http.Request) bool {
	return req.Method == http.MethodGet && (strings.Contains(req.URL.RawQuery, "watch") || strings.Contains(req.URL.Path, "/watch/"))
}

// endsWatches reports whether a fault ends the watches that are open. Others fail what is requested from now on only.
func endsWatches(f control.Fault) bool { return f.Verb == "watch" || f.Code == "410" }

// serveWatch handles a request that may be a watch, and ends it with an event of an error if a fault says so.
func (g *Gate) serveWatch(w http.ResponseWriter, req *http.Request, next http.Handler) {
	ctx, end := context.WithCancelCause(req.Context())
	defer end(nil)
	open := &openWatch{recording.DescribeRequest(req), end}
	if open.call.Verb != "watch" {
		next.ServeHTTP(w, req)
		return
	}
	g.setOpen(open, true)
	defer g.setOpen(open, false)
	next.ServeHTTP(w, req.WithContext(ctx))
	if why, ok := errors.AsType[watchEnd](context.Cause(ctx)); ok && req.Header.Get("Upgrade") == "" {
		// An error means that the client has gone.
		_, _ = w.Write(newErrorEvent(w.Header().Get("Content-Type"), why.status))
	}
}

func (g *Gate) setOpen(o *openWatch, isOpen bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, p := range g.path {
		if isOpen {
			p.watches[o] = true
		} else {
			delete(p.watches, o)
		}
	}
}

// endWatches ends the open watches to which a fault applies, or its share of them. The caller holds the lock.
func (g *Gate) endWatches(f control.Fault) {
	if f.Rate == 0 || !endsWatches(f) {
		return
	}
	for o := range g.watches {
		if faultMatches(f, o.call) && g.random() < f.Rate {
			o.end(watchEnd{faultStatus(f.Code, o.call)})
		}
	}
}

// newErrorEvent returns the event with which the API server ends a watch in a format; nil if that is not known: then the watch
// ends without one.
func newErrorEvent(contentType string, s metav1.Status) []byte {
	s.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}
	mediaType, _, _ := strings.Cut(contentType, ";")
	switch mediaType {
	case "application/json":
		data, err := json.Marshal(metav1.WatchEvent{Type: string(watch.Error), Object: runtime.RawExtension{Object: &s}})
		if err != nil {
			panic("intervene: encode a watch event: " + err.Error())
		}
		return append(data, '\n')
	case runtime.ContentTypeProtobuf:
		object, err := runtime.Encode(protobuf.NewSerializer(nil, nil), &s)
		if err != nil {
			panic("intervene: encode a Status: " + err.Error())
		}
		data, err := (&metav1.WatchEvent{Type: string(watch.Error), Object: runtime.RawExtension{Raw: object}}).Marshal()
		if err != nil {
			panic("intervene: encode a watch event: " + err.Error())
		}
		return append(binary.BigEndian.AppendUint32(nil, uint32(len(data))), data...)
	}
	return nil
}
