package manifests

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	kjson "sigs.k8s.io/json"
)

// decodedDocument is the value of a YAML or JSON document.
type decodedDocument struct {
	line  int // in the file, of its first line
	text  []byte
	value any // of the types that JSON has, with int64 for whole numbers
}

// decode reads the documents of a part: one YAML document, or any number of JSON documents.
func (p documentPart) decode() ([]decodedDocument, error) {
	if bytes.HasPrefix(bytes.TrimSpace(p.data), []byte("{")) {
		return p.decodeFlow()
	}
	var value any
	if err := unmarshalYAML(p.data, &value); err != nil {
		return nil, err
	}
	return []decodedDocument{{p.line, p.data, value}}, nil
}

// decodeFlow reads a part that begins like JSON but may be YAML.
func (p documentPart) decodeFlow() ([]decodedDocument, error) {
	docs, jsonErr := p.decodeJSON()
	if jsonErr == nil {
		return docs, nil
	}
	// As the item of a list, because the decoder ignores what follows an object.
	var value any
	err := unmarshalYAML(slices.Concat([]byte("["), p.data, []byte("\n]")), &value)
	if list, ok := value.([]any); err == nil && ok && len(list) == 1 {
		return []decodedDocument{{p.line, p.data, list[0]}}, nil
	}
	return nil, jsonErr
}

func (p documentPart) decodeJSON() ([]decodedDocument, error) {
	lineAt := func(offset int64) int {
		offset = max(0, min(offset, int64(len(p.data))))
		return 1 + bytes.Count(p.data[:offset], []byte("\n"))
	}
	var docs []decodedDocument
	for dec := json.NewDecoder(bytes.NewReader(p.data)); ; {
		var raw json.RawMessage
		err := dec.Decode(&raw)
		if errors.Is(err, io.EOF) {
			return docs, nil
		}
		if err != nil {
			offset := int64(len(bytes.TrimRight(p.data, " \t\r\n"))) // for an unexpected end
			if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
				offset = syntax.Offset
			}
			return nil, &lineError{lineAt(offset), fmt.Errorf("JSON: %w", err)}
		}
		line := lineAt(dec.InputOffset() - int64(len(raw)))
		var value any
		strict, err := kjson.UnmarshalStrict(raw, &value)
		if err := errors.Join(append(strict, err)...); err != nil {
			return nil, &lineError{line, fmt.Errorf("JSON: %w", err)}
		}
		docs = append(docs, decodedDocument{p.line + line - 1, raw, value})
	}
}
