package observe

import (
	"bytes"
	"fmt"
	"runtime/pprof"
	"strings"
)

// Stacks returns the stacks of the goroutines that work for a controller, as
// /debug/pprof/goroutine writes them: each stack once, with the number of goroutines.
func Stacks(controller string) (string, error) {
	var all bytes.Buffer
	if err := pprof.Lookup("goroutine").WriteTo(&all, 1); err != nil {
		return "", fmt.Errorf("stacks of %s: %w", controller, err)
	}
	label := fmt.Sprintf("# labels: {%q:%q", labelKey, controller)
	var found []string
	for stack := range strings.SplitSeq(all.String(), "\n\n") {
		if strings.Contains(stack, label) {
			found = append(found, stack)
		}
	}
	return strings.Join(found, "\n\n"), nil
}
