package manifests

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	yamlv3 "go.yaml.in/yaml/v3"
)

// origin is where an object was read: a document of a file, or an item of a list in one.
type origin struct {
	file  string
	line  int                 // of the document
	node  func() *yamlv3.Node // of the document, parsed at the first call; its items share it
	items []int               // index of the item in the list, and so on if that is a list
}

// String returns the file and the line, for messages.
func (o origin) String() string { return o.at(o.line) }

func (o origin) at(line int) string {
	text := fmt.Sprintf("%s:%d", o.file, line)
	for _, item := range o.items {
		text += fmt.Sprintf(", item %d", item+1)
	}
	return text
}

// item returns the origin of an item, if the object is a list.
func (o origin) item(i int) origin {
	o.items = append(o.items[:len(o.items):len(o.items)], i)
	return o
}

// fieldPath matches a path of a field in the message of an API server, such as `.spec.template.spec.containers[name="app"].x: `,
// `spec.ports[0].port: ` and `"spec.x"`.
// A field of the object itself has a dot before it: other words with a colon are not paths.
var fieldPath = regexp.MustCompile(`(?:(?:^|\s)\.([A-Za-z][\w-]*(?:\.[\w/-]+|\[[^\]]*\])*)|([A-Za-z][\w-]*(?:\.[\w/-]+|\[[^\]]*\])+))[:"]`)

// fieldStep matches a step of a path: the name of a field, or what selects the item of a list or the entry of a map.
var fieldStep = regexp.MustCompile(`\[[^\]]*\]|[^.\[\]]+`)

// ofMessage is String with the line of the first field that a message names, or of the one that lacks it.
func (o origin) ofMessage(message string) string {
	paths := fieldPath.FindAllStringSubmatch(message, -1)
	if len(paths) == 0 || o.node == nil { // most messages name no field: the document is not parsed for them
		return o.String()
	}
	object := o.node()
	for _, i := range o.items {
		items, _ := findField(object, "items")
		object = findItem(items, strconv.Itoa(i))
	}
	for _, path := range paths {
		if line := lineOfField(object, fieldStep.FindAllString(path[1]+path[2], -1)); line > 0 {
			return o.at(o.line + line - 1)
		}
	}
	return o.String()
}

// otherBreaks matches what is a line break for yaml.v3, not for an editor.
var otherBreaks = regexp.MustCompile(`\r[^\n]|[\x{85}\x{2028}\x{2029}]`)

// parseNode returns the value of a document with its lines; nil if it has none, or other lines than an editor shows.
func parseNode(text []byte) *yamlv3.Node {
	var document yamlv3.Node
	if otherBreaks.Match(text) || yamlv3.Unmarshal(text, &document) != nil || len(document.Content) != 1 {
		return nil
	}
	return document.Content[0]
}

// lineOfField returns the line of a field, or of the last one on its path that exists; 0 if none does.
func lineOfField(node *yamlv3.Node, path []string) (line int) {
	for len(path) > 0 {
		value, at, steps := findStep(node, path)
		if value == nil {
			return line
		}
		node, line, path = value, at, path[steps:]
	}
	return line
}

// findStep returns what the first steps of a path lead to, its line, and how many steps these are: a key of a map may have dots.
func findStep(node *yamlv3.Node, path []string) (value *yamlv3.Node, line, steps int) {
	if item := findItem(node, strings.Trim(path[0], "[]")); item != nil {
		return item, item.Line, 1
	}
	for steps = len(path); steps > 0; steps-- {
		name := strings.Join(path[:steps], ".")
		if value, line = findField(node, strings.Trim(name, "[]")); value != nil {
			break
		}
	}
	return value, line, steps
}

// findField returns the value of a field, and the line of its name.
func findField(node *yamlv3.Node, name string) (value *yamlv3.Node, line int) {
	if node = target(node); node == nil || node.Kind != yamlv3.MappingNode {
		return nil, 0
	}
	for i := 0; i+1 < len(node.Content); i += 2 {
		if node.Content[i].Value == name {
			return node.Content[i+1], node.Content[i].Line
		}
	}
	return nil, 0
}

// findItem returns the item of a list that an index, or values of fields as in `name="app"`, selects; nil if none does.
func findItem(node *yamlv3.Node, selector string) *yamlv3.Node {
	if node = target(node); node == nil || node.Kind != yamlv3.SequenceNode {
		return nil
	}
	if i, err := strconv.Atoi(selector); err == nil {
		if i >= 0 && i < len(node.Content) {
			return node.Content[i]
		}
		return nil
	}
	for _, item := range node.Content {
		if hasFields(item, selector) {
			return item
		}
	}
	return nil
}

// hasFields reports whether an item has the values of a selector. Of several, it may lack some: these have defaults.
func hasFields(item *yamlv3.Node, selector string) (found bool) {
	for field := range strings.SplitSeq(selector, ",") {
		name, want, _ := strings.Cut(field, "=")
		value, _ := findField(item, name)
		if value != nil && value.Value != strings.Trim(want, `"`) {
			return false
		}
		found = found || value != nil
	}
	return found
}

// target follows an alias.
func target(node *yamlv3.Node) *yamlv3.Node {
	if node != nil && node.Kind == yamlv3.AliasNode {
		return node.Alias
	}
	return node
}
