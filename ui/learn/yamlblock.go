package learn

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"reflect"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/ctrlplane/ctrlplane/internal/suggest"
)

// Commands are command lines for a shell; in YAML a text or a list.
type Commands []string

// UnmarshalYAML implements yaml.Unmarshaler.
func (c *Commands) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind == yaml.ScalarNode {
		*c = Commands{n.Value}
		return nil
	}
	return n.Decode((*[]string)(c))
}

// yamlBlock is a block of YAML in a lesson.
type yamlBlock struct {
	startLine int // the line of the file on which it begins
	text      string
}

// decode decodes the block into v. Unknown fields and values of another type are errors, which leave the rest of v
// decoded; ok is false if nothing is.
func (b yamlBlock) decode(v any) (m *mistakes, ok bool) {
	d := yaml.NewDecoder(bytes.NewBufferString(b.text))
	d.KnownFields(true)
	err := d.Decode(v)
	m = &mistakes{block: b, partial: err != nil}
	typed, ok := errors.AsType[*yaml.TypeError](err)
	switch {
	case errors.Is(err, io.EOF):
		m.add(parseErrorf(b.startLine, "the block is empty"))
	case ok:
		for _, text := range typed.Errors {
			m.add(b.explainError(text, v))
		}
	case err != nil:
		m.add(b.explainError(err.Error(), v))
	}
	return m, err == nil || ok
}

var (
	// The messages of the decoder: "yaml: line 3: …", "line 3: field x not found in type learn.Do".
	yamlLine  = regexp.MustCompile(`line (\d+): (.*)`)
	yamlField = regexp.MustCompile(`field (\S+) not found in type (\S+)`)
	yamlType  = regexp.MustCompile("cannot unmarshal \\S+ `?(.*?)`? into (.*)")
)

// explainError turns a message of the decoder into an error with the line of the file.
func (b yamlBlock) explainError(text string, v any) error {
	line := b.startLine
	if m := yamlLine.FindStringSubmatch(text); m != nil {
		n, _ := strconv.Atoi(m[1]) // the expression matches digits only
		line, text = b.startLine+n-1, m[2]
	}
	if m := yamlField.FindStringSubmatch(text); m != nil {
		hint := ""
		if near, ok := suggest.Nearest(m[1], fieldNames(reflect.TypeOf(v), m[2])); ok {
			hint = fmt.Sprintf(": did you mean %q?", near)
		}
		return parseErrorf(line, "unknown field %q%s", m[1], hint)
	}
	if m := yamlType.FindStringSubmatch(text); m != nil {
		return parseErrorf(line, "%q is not %s", strings.Trim(m[1], "`"), describeType(m[2]))
	}
	return parseErrorf(line, "%s", strings.TrimPrefix(text, "yaml: "))
}

// describeType describes a Go type.
func describeType(goType string) string {
	switch {
	case strings.Contains(goType, "Duration"):
		return "a duration such as 30s"
	case strings.HasPrefix(goType, "[]"):
		return "a list"
	case strings.Contains(goType, "float"), strings.Contains(goType, "int"):
		return "a number"
	case strings.Contains(goType, "bool"):
		return "true or false"
	case strings.Contains(goType, "string"):
		return "a text"
	}
	return "a valid value"
}

// fieldNames returns the YAML names of the fields of the named type within t.
func fieldNames(t reflect.Type, name string) (list []string) {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct {
		return nil
	}
	for f := range t.Fields() {
		tag, _, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		if t.String() == name && tag != "-" {
			list = append(list, tag)
		} else {
			list = append(list, fieldNames(f.Type, name)...)
		}
	}
	return list
}

// lineOf returns the line of the file with the value at path, which consists of keys
// and indices. If there is no such value, it is the line of the innermost one on the
// path.
func (b yamlBlock) lineOf(path ...any) int {
	var root yaml.Node
	if yaml.Unmarshal([]byte(b.text), &root) != nil || len(root.Content) == 0 {
		return b.startLine
	}
	at := root.Content[0]
	for _, step := range path {
		next := childNode(at, step)
		if next == nil {
			break
		}
		at = next
	}
	return b.startLine + at.Line - 1
}

func childNode(n *yaml.Node, step any) *yaml.Node {
	switch s := step.(type) {
	case int:
		if n.Kind == yaml.SequenceNode && s < len(n.Content) {
			return n.Content[s]
		}
	case string:
		for i := 0; n.Kind == yaml.MappingNode && i+1 < len(n.Content); i += 2 {
			if n.Content[i].Value == s {
				return n.Content[i+1]
			}
		}
	}
	return nil
}
