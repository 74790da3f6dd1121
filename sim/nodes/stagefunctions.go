package nodes

import (
	"fmt"
	"strings"
	"sync"

	"github.com/Masterminds/sprig/v3"
	"sigs.k8s.io/kwok/pkg/utils/gotpl"
	"sigs.k8s.io/kwok/pkg/utils/yaml"
)

// maxStageResult is the greatest number, and about the longest text, of a function whose result is as
// large as its arguments say. The API server takes no larger objects.
const maxStageResult = 1 << 20

// limitedFunctions returns replacements for the functions, which kwok gives to the templates of stages, that
// read the host's environment or use its network, or that a single number makes as large as one likes.
var limitedFunctions = sync.OnceValue(func() gotpl.FuncMap {
	sized := sprig.TxtFuncMap()
	functions := gotpl.FuncMap{}
	for _, name := range []string{"env", "expandenv", "getHostByName"} {
		functions[name] = func(...any) (string, error) {
			return "", fmt.Errorf("stages have no function %s: it would show the environment or the network of the machine", name)
		}
	}
	for _, name := range []string{"indent", "nindent", "randAlpha", "randAlphaNum", "randAscii", "randBytes", "randNumeric", "repeat", "seq", "until", "untilStep"} {
		functions[name] = limitResult(sized[name])
	}
	functions["YAML"] = limitedYAML
	return functions
})

// limitedYAML is kwok's YAML, with an error for an indent that is too large.
func limitedYAML(value any, indent ...int) (string, error) {
	data, err := yaml.Marshal(value)
	if err != nil || len(indent) != 1 || indent[0] <= 0 {
		return string(data), err
	}
	text := "\n" + string(data)
	if err := checkResult(2*strings.Count(text, "\n"), indent[0]); err != nil {
		return "", err
	}
	return strings.ReplaceAll(text, "\n", "\n"+strings.Repeat(" ", 2*indent[0])), nil
}

// limitResult returns a function of sprig with an error for a result that is too large.
func limitResult(function any) any {
	switch f := function.(type) {
	case func(int) string:
		return func(n int) (string, error) { return orTooLarge(func() string { return f(n) }, 1, n) }
	case func(int) (string, error):
		return func(n int) (string, error) {
			if err := checkResult(1, n); err != nil {
				return "", err
			}
			return f(n)
		}
	case func(int, string) string:
		return func(n int, s string) (string, error) {
			return orTooLarge(func() string { return f(n, s) }, len(s)+1, n)
		}
	case func(...int) string:
		return func(n ...int) (string, error) { return orTooLarge(func() string { return f(n...) }, 1, n...) }
	case func(int) []int:
		return func(n int) ([]int, error) { return orTooLarge(func() []int { return f(n) }, 1, n) }
	case func(int, int, int) []int:
		return func(start, stop, step int) ([]int, error) {
			return orTooLarge(func() []int { return f(start, stop, step) }, 1, start, stop, step)
		}
	}
	panic(fmt.Sprintf("sprig has changed: a function is a %T", function))
}

func orTooLarge[T any](result func() T, size int, numbers ...int) (none T, err error) {
	if err := checkResult(size, numbers...); err != nil {
		return none, err
	}
	return result(), nil
}

// checkResult returns an error for numbers of something of a size.
func checkResult(size int, numbers ...int) error {
	for _, n := range numbers {
		if most := maxStageResult / size; n > most || n < -most {
			return fmt.Errorf("%d is too many: use at most %d", n, most)
		}
	}
	return nil
}
