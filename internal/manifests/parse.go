package manifests

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"

	"github.com/ctrlplane/ctrlplane/internal/limitread"
	"github.com/ctrlplane/ctrlplane/internal/oneline"
	"github.com/ctrlplane/ctrlplane/internal/usage"
)

// maxFileBytes is far above any file of manifests: the largest bundles of
// CustomResourceDefinitions have some 10 MiB.
const maxFileBytes = 128 << 20

// lineError is an error at a line of a part; 0 = unknown.
type lineError struct {
	line int
	err  error
}

func (e *lineError) Error() string { return e.err.Error() }
func (e *lineError) Unwrap() error { return e.err }

// loadFile reads the objects of a file; its errors name file and line.
func loadFile(ctx context.Context, path string) ([]Object, []error) {
	data, err := limitread.FileContext(ctx, path, maxFileBytes)
	if err != nil {
		return nil, []error{pathError(path, err)}
	}
	return parseFile(path, data)
}

// parseFile reads the objects of a file's content, and returns the errors of its documents: these are mistakes in the file.
func parseFile(path string, data []byte) (all []Object, errs []error) {
	all, errs = parseDocuments(path, data)
	for i, err := range errs {
		errs[i] = usage.Errorf("%w", err)
	}
	return all, errs
}

func parseDocuments(path string, data []byte) (all []Object, errs []error) {
	// A byte order mark decides: PowerShell writes UTF-16.
	data, _, err := transform.Bytes(unicode.BOMOverride(transform.Nop), data)
	if err != nil {
		return nil, []error{fmt.Errorf("%s: %w", path, err)}
	}
	for _, part := range splitDocuments(data) {
		docs, err := part.decode()
		if err != nil {
			errs = append(errs, locateError(path, part.line, err))
		}
		for _, doc := range docs {
			objs, failed := doc.decodeObjects(path)
			errs = append(errs, failed...)
			all = append(all, objs...)
		}
	}
	return all, errs
}

var lineNumber = regexp.MustCompile(`(?:yaml: )?line (\d+): `)

// locateError adds the file and the line to err. The line is the one of a lineError, or
// the one in the error's text (both count from 1 at the part's first line), or else the
// first line of the part.
func locateError(path string, first int, err error) error {
	msg := oneline.Error(err).Error()
	msg = strings.TrimPrefix(msg, "error converting YAML to JSON: ")
	line := 1
	if at, ok := errors.AsType[*lineError](err); ok {
		line = at.line
	} else if m := lineNumber.FindStringSubmatchIndex(msg); m != nil {
		n, convErr := strconv.Atoi(msg[m[2]:m[3]])
		if convErr == nil {
			line = n
		}
		// The lines in the text of further errors would be relative to the part.
		msg = msg[m[1]:]
		if next := lineNumber.FindStringIndex(msg); next != nil {
			msg = msg[:next[0]]
		}
	}
	return fmt.Errorf("%s:%d: %s", path, first+line-1, strings.TrimSpace(msg))
}

// documentPart is the text between two document separators of a file.
type documentPart struct {
	line int // of the file, its first
	data []byte
}

// splitDocuments splits a file at YAML's document markers, and leaves out parts that
// contain only comments and directives.
func splitDocuments(data []byte) []documentPart {
	var parts []documentPart
	current := documentPart{line: 1}
	empty := true
	flush := func() {
		if !empty {
			parts = append(parts, current)
		}
	}
	line := 0
	for text := range bytes.Lines(data) {
		line++
		if isMarker(text, "---") || isMarker(text, "...") {
			flush()
			current, empty = documentPart{line: line}, true
			text = append([]byte("   "), text[3:]...) // what follows --- belongs to the document
		}
		if hasContent(text) {
			if empty { // the part starts after comments and blank lines
				current.line, current.data = line, nil
			}
			empty = false
		}
		if !empty {
			current.data = append(current.data, text...)
		}
	}
	flush()
	return parts
}

func isMarker(line []byte, marker string) bool {
	rest, ok := bytes.CutPrefix(line, []byte(marker))
	return ok && (len(bytes.TrimSpace(rest)) == 0 || rest[0] == ' ' || rest[0] == '\t')
}

func hasContent(line []byte) bool {
	text := bytes.TrimSpace(line)
	return len(text) > 0 && text[0] != '#' && line[0] != '%'
}
