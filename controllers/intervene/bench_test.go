package intervene

import (
	"net/http"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/ctrlplane/ctrlplane/controllers/recording"
	"github.com/ctrlplane/ctrlplane/observe"
)

// noContent answers each request with an empty body.
type noContent struct{}

func (noContent) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: http.NoBody}, nil
}

// BenchmarkRecordedWrite sends writes that are recorded and pass a gate, as those of each controller.
func BenchmarkRecordedWrite(b *testing.B) {
	o := observe.New(observe.Options{})
	defer o.Close()
	cfg := recording.ObserveCalls(InterceptCalls(&rest.Config{}, NewGate(ObjectReader{})), o.Recorder("c"))
	transport := cfg.WrapTransport(noContent{})
	req, err := http.NewRequest(http.MethodPatch, "http://x"+pods+"/web/status", nil)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		resp, err := transport.RoundTrip(req)
		if err != nil {
			b.Fatal(err)
		}
		resp.Body.Close()
	}
}
