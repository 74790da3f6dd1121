package kubelet

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/ctrlplane/ctrlplane/sim/container"
)

// kubeletAPI serves the API of kubelets. It authorizes nothing: only the API server
// can reach it, and that has authorized the request.
type kubeletAPI struct {
	client     kubernetes.Interface
	commands   *container.Runtime
	explainLog func(pod *corev1.Pod, container string, run int32) string
	standby    func() error
}

func (a *kubeletAPI) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /containerLogs/{namespace}/{pod}/{container}", handleErrors(a.serveLogs))
	mux.HandleFunc("GET /logs/pods/{pod}/{container}/{file}", handleErrors(a.serveLogFile))
	for verb, handler := range map[string]func(http.ResponseWriter, *http.Request) error{"exec": a.serveExec, "attach": a.serveAttach, "run": a.serveRun} {
		mux.HandleFunc("/"+verb+"/{namespace}/{pod}/{container}", handleErrors(handler))
		mux.HandleFunc("/"+verb+"/{namespace}/{pod}/{uid}/{container}", handleErrors(handler))
	}
	mux.HandleFunc("/portForward/{namespace}/{pod}", handleErrors(a.servePortForward))
	mux.HandleFunc("/portForward/{namespace}/{pod}/{uid}", handleErrors(a.servePortForward))
	mux.HandleFunc("GET /pods", handleErrors(a.servePods))
	mux.HandleFunc("GET /pods/{$}", handleErrors(a.servePods))
	mux.HandleFunc("GET /runningpods/{$}", handleErrors(a.servePods))
	mux.HandleFunc("GET /stats/summary", handleErrors(a.serveSummary))
	mux.HandleFunc("GET /metrics/resource", handleErrors(a.serveResourceMetrics))
	mux.HandleFunc("GET /configz", handleErrors(serveConfigz))
	healthz := func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "ok") }
	mux.HandleFunc("GET /healthz", healthz)
	mux.HandleFunc("GET /healthz/", healthz)
	mux.HandleFunc("/", handleErrors(func(_ http.ResponseWriter, r *http.Request) error {
		return statusError{http.StatusNotFound, fmt.Sprintf("the kubelet of simulated node %s does not serve %s", nodesFromContext(r.Context())[0], r.URL.Path)}
	}))
	return mux
}

// statusError is an error response.
type statusError struct {
	code    int
	message string
}

func (r statusError) Error() string { return r.message }

// checkStandby fails if the containers run in another process: what this one knows of them would be a
// false answer.
func (a *kubeletAPI) checkStandby() error {
	if err := a.standby(); err != nil {
		return statusError{http.StatusServiceUnavailable, err.Error()}
	}
	return nil
}

// abortedError is why a response ends before it is complete.
type abortedError struct{ error }

// handleErrors responds with the error that handler returns.
func handleErrors(handler func(http.ResponseWriter, *http.Request) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		err := handler(w, r)
		if err == nil {
			return
		}
		if _, aborted := errors.AsType[abortedError](err); aborted {
			panic(http.ErrAbortHandler) // the client must not take the response for complete
		}
		code := http.StatusInternalServerError
		if status, ok := errors.AsType[statusError](err); ok {
			code = status.code
		}
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		w.WriteHeader(code)
		fmt.Fprint(w, err.Error()) // without a newline: clients quote it
	}
}

func writeJSON(w http.ResponseWriter, v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	if _, err = w.Write(data); err != nil {
		return abortedError{err}
	}
	return nil
}
