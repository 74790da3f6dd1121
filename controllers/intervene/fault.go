package intervene

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/ctrlplane/ctrlplane/control"
	"github.com/ctrlplane/ctrlplane/controllers/recording"
	"github.com/ctrlplane/ctrlplane/internal/usage"
	"github.com/ctrlplane/ctrlplane/observe"
)

// ValidateFault returns a usage error for a fault that cannot occur.
func ValidateFault(f control.Fault) error {
	switch {
	case !(f.Rate > 0 && f.Rate <= 1): // so that NaN is refused
		return usage.Errorf("rate %v: choose more than 0 and at most 1; the verb clear ends faults", f.Rate)
	case !slices.Contains(control.FaultCodes, f.Code):
		return usage.Errorf("code %q: choose one of %s", f.Code, strings.Join(control.FaultCodes, ", "))
	case f.Verb != "" && !slices.Contains(observe.Verbs, f.Verb):
		return usage.Errorf("verb %q: choose one of %s", f.Verb, strings.Join(observe.Verbs, ", "))
	case f.Code == "409" && observe.IsRead(f.Verb):
		return usage.Errorf("verb %s: only writes have conflicts: choose another verb or code", f.Verb)
	case f.Code == "410" && f.Verb != "" && !slices.Contains(expiringVerbs, f.Verb):
		return usage.Errorf("verb %s: only lists and watches expire: choose list, watch, or another code", f.Verb)
	case f.Code == "422" && f.Verb != "" && !slices.Contains(validatedVerbs, f.Verb):
		return usage.Errorf("verb %s: only objects that are written are validated: choose one of %s, or another code", f.Verb, strings.Join(validatedVerbs, ", "))
	}
	name, _, _ := strings.Cut(f.Resource, "/")
	if f.Resource != "" && schema.ParseGroupResource(name).Resource == "" { // it would match all resources
		return usage.Errorf("resource %q: missing name: use RESOURCE or RESOURCE.GROUP, or one of them with /SUBRESOURCE", f.Resource)
	}
	return nil
}

// validatedVerbs are those of writes whose objects are validated.
var validatedVerbs = []string{"create", "update", "patch"}

// expiringVerbs are those of reads from a version that may be compacted.
var expiringVerbs = []string{"list", "watch"}

// SetFault makes calls fail from now on; the zero Fault stops that. One of watches ends those that a server has open, too.
func (g *Gate) SetFault(f control.Fault) error {
	return g.setCallEffects(func(i *observe.Interventions) {
		i.Fault = f
		g.endWatches(f)
	})
}

// injectFault returns the response with which a call fails; nil if it does not.
func (g *Gate) injectFault(req *http.Request) *http.Response {
	for _, p := range g.path {
		if resp := p.injectOwnFault(req); resp != nil {
			return resp
		}
	}
	return nil
}

func (g *Gate) injectOwnFault(req *http.Request) *http.Response {
	if !g.affectsCalls.Load() {
		return nil
	}
	g.mu.Lock()
	f := g.current.Fault
	g.mu.Unlock()
	if f.Rate == 0 {
		return nil
	}
	call := recording.DescribeRequest(req)
	if !faultMatches(f, call) || g.random() >= f.Rate {
		return nil
	}
	return newStatusResponse(req, faultStatus(f.Code, call))
}

// faultMatches reports whether a fault applies to a call. It applies to a single Lease, as for one that is renewed, only if it names
// the resource: the holder would lose it and end.
func faultMatches(f control.Fault, call *observe.Called) bool {
	served := schema.GroupResource{Group: call.Object.Group, Resource: call.Object.Resource}
	resource, subresource, one := strings.Cut(f.Resource, "/")
	return (f.Code != "409" || call.IsWrite()) &&
		(f.Code != "410" || slices.Contains(expiringVerbs, call.Verb)) &&
		(f.Code != "422" || slices.Contains(validatedVerbs, call.Verb)) &&
		(f.Verb == "" || f.Verb == call.Verb) &&
		(resource == "" && !isOneLease(call) || resource == served.Resource || resource == served.String()) &&
		(!one || subresource == call.Subresource)
}

// isOneLease reports whether a call is for a Lease rather than for several, as an informer's.
func isOneLease(call *observe.Called) bool {
	return call.Object.IsLease() && !slices.Contains(expiringVerbs, call.Verb) && call.Verb != "deletecollection"
}

// retryAfterSeconds is how long clients wait after an injected 429.
const retryAfterSeconds = 1

// faultStatus returns the error with which a call fails. Its message says that it was injected.
func faultStatus(code string, call *observe.Called) metav1.Status {
	resource, name := schema.GroupResource{Group: call.Object.Group, Resource: call.Object.Resource}, call.Object.Name
	injected := errors.New(observe.InjectedFault)
	switch code {
	case "403":
		return apierrors.NewForbidden(resource, name, injected).Status()
	case "404":
		s := apierrors.NewNotFound(resource, name).Status()
		s.Message += ": " + observe.InjectedFault
		return s
	case "409":
		return apierrors.NewConflict(resource, name, injected).Status()
	case "410":
		return apierrors.NewResourceExpired(observe.InjectedFault).Status()
	case "422":
		kind := schema.GroupKind{Group: call.Object.Group, Kind: cmp.Or(call.Object.Kind, call.Object.Resource)}
		return apierrors.NewInvalid(kind, name, field.ErrorList{field.Forbidden(field.NewPath("spec"), observe.InjectedFault)}).Status()
	case "429":
		return apierrors.NewTooManyRequests(observe.InjectedFault, retryAfterSeconds).Status()
	case "503":
		return apierrors.NewServiceUnavailable(observe.InjectedFault).Status()
	case "timeout":
		return apierrors.NewTimeoutError(observe.InjectedFault, 0).Status()
	}
	return apierrors.NewInternalError(injected).Status()
}

// newStatusResponse returns an error as the API server would send it.
func newStatusResponse(req *http.Request, s metav1.Status) *http.Response {
	s.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}
	data, err := json.Marshal(s)
	if err != nil {
		panic("intervene: encode a Status: " + err.Error())
	}
	header := http.Header{"Content-Type": {"application/json"}}
	if s.Details != nil && s.Details.RetryAfterSeconds > 0 {
		header.Set("Retry-After", strconv.Itoa(int(s.Details.RetryAfterSeconds)))
	}
	return &http.Response{
		Status:        strconv.Itoa(int(s.Code)) + " " + http.StatusText(int(s.Code)),
		StatusCode:    int(s.Code),
		Proto:         "HTTP/1.1",
		ProtoMajor:    1,
		ProtoMinor:    1,
		Header:        header,
		Body:          io.NopCloser(bytes.NewReader(data)),
		ContentLength: int64(len(data)),
		Request:       req,
	}
}
