package trace

import (
	"go/ast"
	"go/parser"
	"go/token"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/ctrlplane/ctrlplane/internal/testutil"
)

func jsonPage(t *testing.T) string {
	t.Helper()
	return strings.ReplaceAll(testutil.ReadFile(t, "../../docs/json.md"), "\r\n", "\n")
}

// TestFieldsAreDocumented compares what is written as JSON with docs/json.md.
func TestFieldsAreDocumented(t *testing.T) {
	text := jsonPage(t)
	for section, types := range map[string][]reflect.Type{
		"trace": {reflect.TypeFor[Tree]()}, "why": {reflect.TypeFor[Chain]()}, "node": {reflect.TypeFor[Node](), reflect.TypeFor[Cause]()},
	} {
		_, words, _ := strings.Cut(text, "\n### `"+section+"`\n")
		words, _, _ = strings.Cut(words, "\n#")
		for _, of := range types {
			for _, field := range reflect.VisibleFields(of) {
				name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
				if name != "" && !strings.Contains(words, "`"+name+"`") {
					t.Errorf("section %s does not mention %s", section, name)
				}
			}
		}
	}
}

// declaredRules reads the constants of the type Rule, with their names.
func declaredRules(t *testing.T) map[string]Rule {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "node.go", nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	rules := map[string]Rule{}
	ast.Inspect(file, func(n ast.Node) bool {
		v, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		if of, ok := v.Type.(*ast.Ident); ok && of.Name == "Rule" {
			value, err := strconv.Unquote(v.Values[0].(*ast.BasicLit).Value)
			if err != nil {
				t.Fatal(err)
			}
			rules[v.Names[0].Name] = Rule(value)
		}
		return true
	})
	return rules
}

// Each rule is explained in the package comment, has words for the web page, and is a value of the API.
func TestEveryRuleIsExplained(t *testing.T) {
	rules, comment := declaredRules(t), testutil.ReadFile(t, "doc.go")
	_, values, _ := strings.Cut(jsonPage(t), "\n### `node`\n")
	_, values, _ = strings.Cut(values, "\n| `cause` |")
	values, _, _ = strings.Cut(values, "\n")
	for name, rule := range rules {
		if !strings.Contains(comment, "//   - "+name+": ") {
			t.Errorf("doc.go does not explain %s", name)
		}
		if ruleWords[rule] == "" {
			t.Errorf("ruleWords has no words for %s", name)
		}
		if !strings.Contains(values, "`"+string(rule)+"`") {
			t.Errorf("the field cause in docs/json.md does not name the rule %q", rule)
		}
	}
	if len(rules) == 0 || len(ruleWords) != len(rules) {
		t.Errorf("%d rules, and words for %d", len(rules), len(ruleWords))
	}
}
