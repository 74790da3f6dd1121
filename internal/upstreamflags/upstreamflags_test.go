package upstreamflags

import (
	"errors"
	"strings"
	"testing"
	"time"

	cliflag "k8s.io/component-base/cli/flag"

	"github.com/ctrlplane/ctrlplane/internal/usage"
)

type testComponent struct {
	syncs  int
	debug  bool
	period time.Duration
	extra  []string
}

func (c *testComponent) flags() cliflag.NamedFlagSets {
	var fss cliflag.NamedFlagSets
	fss.FlagSet("one").IntVar(&c.syncs, "concurrent-syncs", 5, "")
	fss.FlagSet("one").BoolVar(&c.debug, "debug", false, "")
	fss.FlagSet("two").DurationVar(&c.period, "period", 0, "")
	fss.FlagSet("two").StringSliceVar(&c.extra, "extra", nil, "")
	fss.FlagSet("two").String("master", "", "")
	fss.FlagSet("three").Int("verbosity", 0, "")
	return fss
}

func TestSet(t *testing.T) {
	var c testComponent
	args := []string{"concurrent-syncs=7", "--debug", "period=3s", "extra=a,b", "extra=c=d"}
	if err := Set("--arg", c.flags(), Owned{}, args); err != nil {
		t.Fatal(err)
	}
	if c.syncs != 7 || !c.debug || c.period != 3*time.Second || strings.Join(c.extra, " ") != "a b c=d" {
		t.Errorf("got %+v", c)
	}
}

func TestSetRefuses(t *testing.T) {
	owned := Owned{Sections: map[string]string{"three": "use -v"}, Flags: map[string]string{"master": "use --other"}}
	for _, tc := range []struct{ arg, want string }{
		{"concurent-syncs=1", `--arg concurent-syncs=1: unknown flag "concurent-syncs": did you mean "concurrent-syncs"?`},
		{"zzz=1", `--arg zzz=1: unknown flag "zzz"`},
		{"period", `--arg period: flag "period" needs a value: write period=VALUE`},
		{"concurrent-syncs=x", `--arg concurrent-syncs=x: invalid argument`},
		{"master=here", `--arg master=here: "master" cannot be set: use --other`},
		{"verbosity=4", `--arg verbosity=4: "verbosity" cannot be set: use -v`},
		{"", `--arg : unknown flag ""`},
	} {
		var c testComponent
		err := Set("--arg", c.flags(), owned, []string{tc.arg})
		if err == nil || !strings.HasPrefix(err.Error(), tc.want) {
			t.Errorf("%s: got %v, want %s", tc.arg, err, tc.want)
			continue
		}
		if !errors.As(err, new(usage.Error)) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: no usage error of one line: %v", tc.arg, err)
		}
	}
}
