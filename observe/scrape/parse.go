package scrape

import (
	"bytes"
	"errors"
	"fmt"
	"mime"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
)

// parseMetrics parses an answer in the text or protobuf format.
func parseMetrics(body []byte, contentType string) ([]*dto.MetricFamily, error) {
	const advice = "use the address of an endpoint with metrics in the Prometheus format"
	kind, _, err := mime.ParseMediaType(contentType)
	if err != nil {
		kind = "" // decide by the body
	}
	text := bytes.TrimSpace(body)
	switch {
	case len(text) == 0:
		return nil, fmt.Errorf("the answer is empty: %s", advice)
	case kind == expfmt.ProtoType:
		families, err := parseDelimited(body)
		if errors.Is(err, errTooManyParts) {
			return nil, err
		}
		if err != nil {
			return nil, fmt.Errorf("the metrics cannot be parsed: %s: %s", foreignText(err.Error()), advice)
		}
		return families, nil
	case kind == "text/html" || text[0] == '<':
		return nil, fmt.Errorf("the answer is an HTML page%s, not metrics: %s", quoteStart(text), advice)
	case kind == "application/json" || text[0] == '{' || text[0] == '[':
		return nil, fmt.Errorf("the answer is JSON%s, not metrics: %s", quoteStart(text), advice)
	}
	if countTextParts(text) > maxParts {
		return nil, errTooManyParts
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	byName, err := parser.TextToMetricFamilies(bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("the answer is text that is not metrics%s: %s: %s", quoteStart(text), foreignText(err.Error()), advice)
	}
	families := make([]*dto.MetricFamily, 0, len(byName))
	for _, f := range byName {
		families = append(families, f)
	}
	return families, nil
}

// parseDelimited parses the protobuf format. Unlike expfmt's decoder, it rejects
// lengths greater than that of the body, and messages of too many parts.
func parseDelimited(body []byte) (families []*dto.MetricFamily, err error) {
	parts := 0
	for len(body) > 0 {
		encoded, n := protowire.ConsumeBytes(body)
		if n < 0 {
			return nil, protowire.ParseError(n)
		}
		f := new(dto.MetricFamily)
		if parts += countMessages(encoded, f.ProtoReflect().Descriptor()); parts > maxParts {
			return nil, errTooManyParts
		}
		if err := proto.Unmarshal(encoded, f); err != nil {
			return nil, err
		}
		families = append(families, f)
		body = body[n:]
	}
	return families, nil
}
