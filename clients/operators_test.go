package clients

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/ctrlplane/ctrlplane/observe"
)

// unknownCause is the true cause of a write that follows from a timer or an internal channel.
const unknownCause = "unknown"

// rateOperator rates the recording of an operator whose lines have the true causes.
func rateOperator(t *testing.T, name string, lines []trafficLine) (right, unknown, wrong int) {
	likely := replayTraffic(t, lines)
	for i, l := range lines {
		if l.Cause == "" {
			continue
		}
		got := nameOfCause(likely[i])
		switch {
		case isRight(l.Cause, got), l.Cause == unknownCause && got == "":
			right++
			continue
		case got == "":
			unknown++
		default:
			wrong++
		}
		t.Logf("%s %s %s at %s: %q, is because of %q", strings.Split(l.Agent, "/")[0], l.Method, l.Path, l.Began, got, l.Cause)
	}
	t.Logf("%s: %d right, %d unknown, %d wrong", name, right, unknown, wrong)
	return right, unknown, wrong
}

func nameOfCause(c *observe.Delivered) string {
	if c == nil {
		return ""
	}
	return fmt.Sprint(c.Object.Kind, " ", c.Object.Name, " ", c.ResourceVersion)
}

// Argo Rollouts 1.8 and cert-manager 1.19 have made these writes on a busy machine. Their logs and their sources tell the
// causes. The objects are reduced to what names others. With a single user agent, the controllers of cert-manager are one client.
// Karpenter 1.15 has many controllers with one user agent, and half of its writes follow from timers; an event of the right
// object is right.
// Of Cluster API 1.14, whose module has reported the true causes of its four programs, the right event is right, or a later one of
// its object that came before the sync began.
func TestLikelyCausesOfOperatorsAreTrue(t *testing.T) {
	certManager := readTraffic(t, "testdata/operators/cert-manager.jsonl.gz")
	oneAgent := slices.Clone(certManager)
	for i := range oneAgent {
		oneAgent[i].Agent = "cert-manager/v1.19.1"
	}
	for _, test := range []struct {
		name         string
		lines        []trafficLine
		right, wrong int // at least, and at most
	}{
		{"Argo Rollouts", readTraffic(t, "testdata/operators/argo-rollouts.jsonl.gz"), 21, 4},
		{"cert-manager", certManager, 78, 8},
		{"cert-manager with one user agent", oneAgent, 44, 15},
		{"Karpenter", readTraffic(t, "testdata/operators/karpenter.jsonl.gz"), 143, 7},
		{"Cluster API", readTraffic(t, "testdata/operators/cluster-api.jsonl.gz"), 124, 142},
	} {
		t.Run(test.name, func(t *testing.T) {
			if right, _, wrong := rateOperator(t, test.name, test.lines); right < test.right || wrong > test.wrong {
				t.Errorf("want %d right, at most %d wrong", test.right, test.wrong)
			}
		})
	}
}
