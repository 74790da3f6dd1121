package kubelet

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"

	"k8s.io/client-go/kubernetes"
)

// api is what a kubelet serves. Whoever asks has been authorized by the API
// server: there is no other way to get here.
type api struct {
	client kubernetes.Interface
}

func (a *api) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /containerLogs/{namespace}/{pod}/{container}", serve(a.logs))
	for _, verb := range []string{"exec", "attach", "run"} {
		mux.HandleFunc("/"+verb+"/{namespace}/{pod}/{container}", serve(a.refuseContainer))
		mux.HandleFunc("/"+verb+"/{namespace}/{pod}/{uid}/{container}", serve(a.refuseContainer))
	}
	mux.HandleFunc("/portForward/{namespace}/{pod}", serve(a.refusePort))
	mux.HandleFunc("/portForward/{namespace}/{pod}/{uid}", serve(a.refusePort))
	mux.HandleFunc("GET /pods", serve(a.pods))
	mux.HandleFunc("GET /pods/{$}", serve(a.pods))
	mux.HandleFunc("GET /runningpods/{$}", serve(a.pods))
	mux.HandleFunc("GET /stats/summary", serve(a.summary))
	mux.HandleFunc("GET /metrics/resource", serve(a.resourceMetrics))
	mux.HandleFunc("GET /configz", serve(configz))
	healthz := func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "ok") }
	mux.HandleFunc("GET /healthz", healthz)
	mux.HandleFunc("GET /healthz/", healthz)
	mux.HandleFunc("/", serve(func(_ http.ResponseWriter, r *http.Request) error {
		return refusal{http.StatusNotFound, fmt.Sprintf("the kubelet of simulated node %s has nothing at %s", nodesOf(r.Context())[0], r.URL.Path)}
	}))
	return mux
}

// refusal is an answer that is not what was asked for.
type refusal struct {
	code    int
	message string
}

func (r refusal) Error() string { return r.message }

// cut is why an answer ends before all of it is written.
type cut struct{ error }

// serve answers with the handler's error.
func serve(handler func(http.ResponseWriter, *http.Request) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		err := handler(w, r)
		if err == nil {
			return
		}
		code := http.StatusInternalServerError
		switch err := err.(type) {
		case cut:
			panic(http.ErrAbortHandler) // so that it does not look whole
		case refusal:
			code = err.code
		}
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		w.WriteHeader(code)
		io.WriteString(w, err.Error()) // no line end: clients quote it
	}
}

func writeJSON(w http.ResponseWriter, v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	if _, err = w.Write(data); err != nil {
		return cut{err}
	}
	return nil
}
