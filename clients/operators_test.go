package clients

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ctrlplane/ctrlplane/observe"
)

// unknownCause is the true cause of a write that follows from a timer or an internal channel.
const unknownCause = "unknown"

// rateOperator rates the recording of an operator whose lines have the true causes, or the syncs that the module has reported.
func rateOperator(t *testing.T, name string, lines []trafficLine) (right, unknown, wrong int) {
	return rateCauses(t, name, lines, replayTraffic(t, lines))
}

func rateCauses(t *testing.T, name string, lines []trafficLine, likely map[int]*observe.Delivered) (right, unknown, wrong int) {
	reported := readTruth(lines)
	for i, l := range lines {
		l.Cause = cmp.Or(l.Cause, reported.nameOfCause(l.Sync))
		if l.Cause == "" {
			continue
		}
		got := nameOfCause(likely[i])
		switch {
		case isRight(l.Cause, cmp.Or(got, unknownCause)):
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

// nameOfCause returns the cause of a write that was made in a sync, as recordings name it; "" if that is not known.
func (t truth) nameOfCause(sync string) string {
	if t.isByTimer(sync) {
		return unknownCause
	}
	e := t.causeOf(sync)
	if e == nil {
		return ""
	}
	return fmt.Sprint(e.Kind, " ", e.Name, " ", e.ResourceVersion)
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
// External Secrets 2.9 has reported its syncs while users created and changed what it works for; it refreshes some every 5 s.
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
		{"cert-manager with one user agent", oneAgent, 47, 15},
		{"Karpenter", readTraffic(t, "testdata/operators/karpenter.jsonl.gz"), 145, 5},
		{"External Secrets", readTraffic(t, "testdata/operators/external-secrets.jsonl.gz"), 121, 11},
		{"Cluster API", readTraffic(t, "testdata/operators/cluster-api.jsonl.gz"), 124, 142},
	} {
		t.Run(test.name, func(t *testing.T) {
			if right, _, wrong := rateOperator(t, test.name, test.lines); right < test.right || wrong > test.wrong {
				t.Errorf("want %d right, at most %d wrong", test.right, test.wrong)
			}
		})
	}
}

// The kustomize-controller 1.9 of Flux writes the status of a Kustomization three to six times in a sync, and its watch leaves out
// what these change. So the event of such a write is seldom a cause, but the change with which the chain of causes begins has to be
// right. A sync that is repeated after 5 s, because another Kustomization was not ready, belongs to the change before, or is by a timer.
func TestLikelyCausesOfFluxBeginRight(t *testing.T) {
	lines := readTraffic(t, "testdata/operators/flux.jsonl.gz")
	likely, madeBy := replayTraffic(t, lines), map[string]int{}
	for i, l := range lines {
		var answer metav1.PartialObjectMetadata
		if l.Method != "" && json.Unmarshal(l.Answer, &answer) == nil && answer.ResourceVersion != "" {
			if _, known := madeBy[answer.ResourceVersion]; !known { // a later write of the same version has changed nothing
				madeBy[answer.ResourceVersion] = i
			}
		}
	}
	begins := map[int]*observe.Delivered{}
	for i, c := range likely {
		at := i
		for c != nil {
			by, own := madeBy[c.ResourceVersion]
			if !own || by >= at {
				break
			}
			at, c = by, likely[by]
		}
		begins[i] = c
	}
	if right, _, wrong := rateCauses(t, "Flux", lines, begins); right < 258 || wrong > 12 {
		t.Error("want 258 right, at most 12 wrong")
	}
}
