package trace

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ctrlplane/ctrlplane/internal/words"
)

// The messages of opentelemetry/proto/trace/v1 in the JSON mapping of OTLP:
// identifiers in hex, 64-bit numbers as strings, enums as numbers.
type (
	otlpData struct {
		ResourceSpans []otlpResourceSpans `json:"resourceSpans"`
	}
	otlpResourceSpans struct {
		Resource struct {
			Attributes []otlpAttribute `json:"attributes"`
		} `json:"resource"`
		ScopeSpans []otlpScopeSpans `json:"scopeSpans"`
	}
	otlpScopeSpans struct {
		Scope struct {
			Name string `json:"name"`
		} `json:"scope"`
		Spans []otlpSpan `json:"spans"`
	}
	otlpSpan struct {
		TraceID      string          `json:"traceId"`
		SpanID       string          `json:"spanId"`
		ParentSpanID string          `json:"parentSpanId,omitempty"`
		Name         string          `json:"name"`
		Kind         int             `json:"kind"`
		Start        string          `json:"startTimeUnixNano"`
		End          string          `json:"endTimeUnixNano"`
		Attributes   []otlpAttribute `json:"attributes,omitempty"`
		Links        []otlpLink      `json:"links,omitempty"`
		Status       *otlpStatus     `json:"status,omitempty"`
	}
	otlpLink struct {
		TraceID    string          `json:"traceId"`
		SpanID     string          `json:"spanId"`
		Attributes []otlpAttribute `json:"attributes,omitempty"`
	}
	otlpStatus struct {
		Message string `json:"message,omitempty"`
		Code    int    `json:"code"`
	}
	otlpAttribute struct {
		Key   string    `json:"key"`
		Value otlpValue `json:"value"`
	}
	otlpValue struct {
		String *string `json:"stringValue,omitempty"`
		Bool   *bool   `json:"boolValue,omitempty"`
		Int    *string `json:"intValue,omitempty"`
	}
)

// Kinds of spans, and the status of a failed span.
const (
	otlpInternal = 1
	otlpClient   = 3
	otlpConsumer = 5
	otlpFailed   = 2
)

// writeOTLP writes one line of the OTLP file format, with one resource per controller or client.
// A certain cause is the parent of a span, a likely one a link.
func (t *Tree) writeOTLP(w io.Writer) error {
	p := t.phrases()
	trace := hexDigest(16, t.About.String(), t.Start.Format(time.RFC3339Nano))
	byService := map[string][]otlpSpan{}
	var services []string
	for _, n := range t.nodesByTime() {
		service := n.laneName()
		if byService[service] == nil {
			services = append(services, service)
		}
		byService[service] = append(byService[service], p.newSpan(n, trace))
	}
	all := otlpData{ResourceSpans: []otlpResourceSpans{}}
	for _, service := range services {
		var r otlpResourceSpans
		r.Resource.Attributes = []otlpAttribute{newAttribute("service.name", service), newAttribute("service.namespace", "ctrlplane")}
		s := otlpScopeSpans{Spans: byService[service]}
		s.Scope.Name = "ctrlplane/trace"
		r.ScopeSpans = []otlpScopeSpans{s}
		all.ResourceSpans = append(all.ResourceSpans, r)
	}
	return writeJSONLine(w, all)
}

func (p phrases) newSpan(n *Node, trace string) otlpSpan {
	s := otlpSpan{
		TraceID: trace, SpanID: hexDigest(8, trace, n.ID), Name: p.nodeTitle(n), Kind: otlpInternal,
		Start: strconv.FormatInt(n.Time.UnixNano(), 10), End: strconv.FormatInt(n.End().UnixNano(), 10),
	}
	switch n.Kind {
	case Call:
		s.Kind = otlpClient
	case Event:
		s.Kind = otlpConsumer
	}
	d := nodeDetails(n)
	for _, key := range slices.Sorted(maps.Keys(d)) {
		s.Attributes = append(s.Attributes, newAttribute("ctrlplane."+key, d[key]))
	}
	if n.Failed {
		s.Status = &otlpStatus{Message: words.OneLine(n.Error), Code: otlpFailed}
	}
	switch {
	case n.Cause == nil || n.root:
	case n.isLikely():
		s.Links = []otlpLink{{trace, hexDigest(8, trace, n.Cause.ID), []otlpAttribute{newAttribute("ctrlplane.certainty", string(Likely))}}}
	default:
		s.ParentSpanID = hexDigest(8, trace, n.Cause.ID)
	}
	return s
}

// hexDigest returns n bytes in hex that depend only on the parts.
func hexDigest(n int, parts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(parts, "\n")))
	return hex.EncodeToString(sum[:n])
}

func newAttribute(key string, value any) otlpAttribute {
	a := otlpAttribute{Key: key}
	switch v := value.(type) {
	case bool:
		a.Value.Bool = &v
	case int, int64:
		s := fmt.Sprint(v)
		a.Value.Int = &s
	default:
		s := fmt.Sprint(v)
		a.Value.String = &s
	}
	return a
}
