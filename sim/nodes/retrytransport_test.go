package nodes

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// fakeTransport answers with these status codes, then with 200.
type fakeTransport struct {
	codes []int
	calls int
}

func (a *fakeTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	code := http.StatusOK
	if a.calls < len(a.codes) {
		code = a.codes[a.calls]
	}
	a.calls++
	body := `{"kind":"Pod","apiVersion":"v1","metadata":{"name":"p"}}`
	return &http.Response{
		StatusCode: code, Request: r, Body: io.NopCloser(strings.NewReader(body)),
		Header: http.Header{"Content-Type": {"application/json"}},
	}, nil
}

// client-go retries a patch, and nothing else, after a server error.
func TestRetryTransportRetriesFailedPatches(t *testing.T) {
	for name, c := range map[string]struct {
		codes []int
		patch bool
		calls int
		fails bool
	}{
		"patch, failed in the server": {[]int{500, 504}, true, 3, false},
		"patch, refused":              {[]int{422}, true, 1, true},
		"patch, conflict":             {[]int{409}, true, 1, true},
		"get, failed in the server":   {[]int{500}, false, 1, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := &fakeTransport{codes: c.codes}
				cfg := &rest.Config{Host: "http://server", QPS: -1, Transport: server}
				cfg.Wrap(func(next http.RoundTripper) http.RoundTripper { return retryTransport{next} })
				client, err := kubernetes.NewForConfig(cfg)
				if err != nil {
					t.Fatal(err)
				}
				pods := client.CoreV1().Pods("n")
				if c.patch {
					_, err = pods.Patch(t.Context(), "p", types.StrategicMergePatchType, []byte("{}"), metav1.PatchOptions{}, "status")
				} else {
					_, err = pods.Get(t.Context(), "p", metav1.GetOptions{})
				}
				if diff := cmp.Diff(c.calls, server.calls); diff != "" || (err != nil) != c.fails {
					t.Errorf("error %v; calls: %s", err, diff)
				}
			})
		})
	}
}
