package nodes

import (
	"errors"
	"strings"
	"testing"

	"github.com/ctrlplane/ctrlplane/internal/usage"
)

func TestConfigCheck(t *testing.T) {
	for name, c := range map[string]struct {
		cfg  Config
		want string // in the error; empty means no error
	}{
		"zero value":         {Config{}, ""},
		"all set":            {Config{Count: 5000, CPU: "500m", Memory: "1Gi", Pods: 10, Zones: 26, Labels: []string{"example.com/a=b", "c="}, Taints: []string{"a=b:NoSchedule", "a:NoExecute"}}, ""},
		"negative count":     {Config{Count: -1}, "-1 nodes: choose 0 to 10000"},
		"absurd count":       {Config{Count: 10001}, "choose 0 to 10000"},
		"CPU":                {Config{CPU: "many"}, `--node-cpu "many": not a quantity above zero`},
		"negative CPU":       {Config{CPU: "-1"}, "above zero"},
		"memory":             {Config{Memory: "1GiB"}, `--node-memory "1GiB"`},
		"no memory":          {Config{Memory: "0"}, "above zero"},
		"too much memory":    {Config{Memory: "1e30"}, "up to 1Pi"},
		"too much CPU":       {Config{CPU: "1e18"}, "up to 1M"},
		"pods":               {Config{Pods: -1}, "-1 pods per node"},
		"too many pods":      {Config{Pods: 1000001}, "1000001 pods per node"},
		"zones":              {Config{Zones: 27}, "27 zones: choose 1 to 26"},
		"negative zones":     {Config{Zones: -1}, "-1 zones: choose 1 to 26"},
		"label without =":    {Config{Labels: []string{"a"}}, `node label "a": write key=value`},
		"label key":          {Config{Labels: []string{"-=b"}}, `node label "-=b":`},
		"label value":        {Config{Labels: []string{"a=b c"}}, `node label "a=b c":`},
		"slash in a value":   {Config{Labels: []string{"a=b/c"}}, `node label "a=b/c":`},
		"reserved label":     {Config{Labels: []string{"ctrlplane/fleet=x"}}, "this label is set by ctrlplane"},
		"label twice":        {Config{Labels: []string{"a=b", "a=c"}}, `the label already has the value "b"`},
		"taint w/o effect":   {Config{Taints: []string{"a=b"}}, "write key=value:Effect"},
		"taint effect":       {Config{Taints: []string{"a=b:Never"}}, `effect "Never": choose NoSchedule`},
		"taint key":          {Config{Taints: []string{"=b:NoSchedule"}}, `node taint "=b:NoSchedule":`},
		"taint effect twice": {Config{Taints: []string{"a=b:NoSchedule", "a=c:NoSchedule"}}, "a taint with this key and effect already exists"},
	} {
		t.Run(name, func(t *testing.T) {
			err := c.cfg.Check()
			switch {
			case c.want == "" && err != nil:
				t.Errorf("Check: %v", err)
			case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n")):
				t.Errorf("Check: %v, want one line with %q", err, c.want)
			case c.want != "" && !errors.As(err, new(usage.Error)):
				t.Errorf("Check: %T is not a usage.Error", err)
			}
		})
	}
}
