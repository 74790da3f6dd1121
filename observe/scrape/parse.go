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

	"github.com/ctrlplane/ctrlplane/internal/words"
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
		if err != nil {
			return nil, fmt.Errorf("the metrics cannot be parsed: %s: %s", words.OneLine(err.Error()), advice)
		}
		return families, nil
	case kind == "text/html" || text[0] == '<':
		return nil, fmt.Errorf("the answer is an HTML page%s, not metrics: %s", quoteStart(text), advice)
	case kind == "application/json" || text[0] == '{' || text[0] == '[':
		return nil, fmt.Errorf("the answer is JSON%s, not metrics: %s", quoteStart(text), advice)
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	byName, err := parser.TextToMetricFamilies(bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("the answer is text that is not metrics%s: %s: %s", quoteStart(text), words.OneLine(err.Error()), advice)
	}
	families := make([]*dto.MetricFamily, 0, len(byName))
	for _, f := range byName {
		families = append(families, f)
	}
	return families, nil
}

// parseDelimited parses the protobuf format. Unlike expfmt's decoder, it rejects
// lengths greater than that of a whole body.
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
