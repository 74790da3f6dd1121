package rest

import (
	"encoding/json"
	"errors"
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ctrlplane/ctrlplane/control"
	"github.com/ctrlplane/ctrlplane/internal/usage"
)

// writeAnswer writes v or the error. Clients try again if it passes by itself.
func writeAnswer(w http.ResponseWriter, v any, err error) {
	if err != nil {
		if errors.Is(err, control.ErrNotReady) || errors.As(err, new(tooManyError)) { // passes by itself
			w.Header().Set("Retry-After", "1")
		}
		writeError(w, codeOf(err), err.Error())
		return
	}
	writeJSON(w, http.StatusOK, v)
}

// codeOf returns the HTTP status of an error.
func codeOf(err error) int {
	switch {
	case errors.As(err, new(stalledBodyError)):
		return http.StatusRequestTimeout
	case errors.As(err, new(timeoutError)):
		return http.StatusGatewayTimeout
	case errors.As(err, new(usage.Error)):
		return http.StatusBadRequest
	case errors.As(err, new(notFoundError)):
		return http.StatusNotFound
	case errors.As(err, new(goneError)):
		return http.StatusGone
	case errors.Is(err, control.ErrRestoreRunning):
		return http.StatusConflict
	case errors.As(err, new(tooManyError)):
		return http.StatusTooManyRequests
	case errors.Is(err, control.ErrNotReady), errors.As(err, new(endedError)):
		return http.StatusServiceUnavailable
	}
	return http.StatusInternalServerError
}

// reasons are the reasons that the API server gives for a status.
var reasons = map[int]metav1.StatusReason{
	http.StatusBadRequest:          metav1.StatusReasonBadRequest,
	http.StatusNotFound:            metav1.StatusReasonNotFound,
	http.StatusMethodNotAllowed:    metav1.StatusReasonMethodNotAllowed,
	http.StatusRequestTimeout:      metav1.StatusReasonTimeout,
	http.StatusConflict:            metav1.StatusReasonConflict,
	http.StatusGone:                metav1.StatusReasonGone,
	http.StatusTooManyRequests:     metav1.StatusReasonTooManyRequests,
	http.StatusInternalServerError: metav1.StatusReasonInternalError,
	http.StatusServiceUnavailable:  metav1.StatusReasonServiceUnavailable,
	http.StatusGatewayTimeout:      metav1.StatusReasonTimeout,
}

// writeError writes an error in the format of the API server, so that its clients can read it.
func writeError(w http.ResponseWriter, code int, message string) {
	writeJSON(w, code, metav1.Status{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"},
		Status:   metav1.StatusFailure,
		Message:  message,
		Reason:   reasons[code],
		Code:     int32(code),
	})
}

// writeJSON writes one line: what a shell prints next, such as its prompt, does not stand behind it.
func writeJSON(w http.ResponseWriter, code int, v any) {
	data, err := json.Marshal(v)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_, _ = w.Write(append(data, '\n')) // an error means that the client has disconnected
}

// withStatus serves what mux has no handler for in the format of the API server, too.
func withStatus(mux *http.ServeMux) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		refuse, pattern := mux.Handler(req)
		if pattern != "" {
			mux.ServeHTTP(w, req)
			return
		}
		refused := codeWriter{ResponseWriter: w}
		refuse.ServeHTTP(&refused, req)
		if refused.code == http.StatusMethodNotAllowed {
			writeError(w, refused.code, req.Method+" is not allowed for "+req.URL.Path+": use "+w.Header().Get("Allow"))
			return
		}
		writeError(w, http.StatusNotFound, "unknown path "+req.URL.Path)
	})
}

// codeWriter notes the status of an answer that is not sent. Its headers are.
type codeWriter struct {
	http.ResponseWriter
	code int
}

func (w *codeWriter) WriteHeader(code int) { w.code = code }

func (w *codeWriter) Write(data []byte) (int, error) { return len(data), nil }
