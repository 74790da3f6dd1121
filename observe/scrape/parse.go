package scrape

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"mime"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"google.golang.org/protobuf/encoding/protodelim"
)

// parseMetrics returns the metrics of an answer.
func parseMetrics(body []byte, contentType string) ([]*dto.MetricFamily, error) {
	const advice = "give --metrics the address of metrics in the format of Prometheus"
	kind, _, err := mime.ParseMediaType(contentType)
	if err != nil {
		kind = "" // the body tells
	}
	text := bytes.TrimSpace(body)
	switch {
	case len(text) == 0:
		return nil, fmt.Errorf("it answers with nothing: %s", advice)
	case kind == expfmt.ProtoType:
		families, err := parseDelimited(body)
		if err != nil {
			return nil, fmt.Errorf("its metrics cannot be read: %s: %s", oneLine(err.Error()), advice)
		}
		return families, nil
	case kind == "text/html" || text[0] == '<':
		return nil, fmt.Errorf("it answers with an HTML page%s, not with metrics: %s", quoteStart(text), advice)
	case kind == "application/json" || text[0] == '{' || text[0] == '[':
		return nil, fmt.Errorf("it answers with JSON%s, not with metrics: %s", quoteStart(text), advice)
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	byName, err := parser.TextToMetricFamilies(bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("it answers with text that is not metrics%s: %s: %s", quoteStart(text), oneLine(err.Error()), advice)
	}
	families := make([]*dto.MetricFamily, 0, len(byName))
	for _, f := range byName {
		families = append(families, f)
	}
	return families, nil
}

// parseDelimited reads the protobuf form. Unlike expfmt's decoder it believes no
// length that is more than a whole body may have.
func parseDelimited(body []byte) ([]*dto.MetricFamily, error) {
	var (
		families []*dto.MetricFamily
		reader   = bytes.NewReader(body)
		options  = protodelim.UnmarshalOptions{MaxSize: maxBody}
	)
	for {
		f := new(dto.MetricFamily)
		err := options.UnmarshalFrom(reader, f)
		if errors.Is(err, io.EOF) {
			return families, nil
		}
		if err != nil {
			return nil, err
		}
		families = append(families, f)
	}
}
