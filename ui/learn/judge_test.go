package learn

import (
	"strings"
	"testing"

	"github.com/ctrlplane/ctrlplane/observe"
)

func TestJudgeAnswer(t *testing.T) {
	choices := &Ask{Choices: []Choice{{Text: "x", Why: "not x"}, {Text: "y", Right: true}}}
	text := &Ask{Pattern: "replica-?set(-controller)?", Answer: "replicaset", Wrong: []WrongAnswer{{"deployment.*", "no Pods"}}}
	n := 4.0
	num := &Ask{Number: &n, Wrong: []WrongAnswer{{"5", "one is yours"}}}
	command := &Ask{Pattern: "kubectl delete cm a", Answer: "kubectl delete cm a", Wrong: []WrongAnswer{{"kubectl delete .*", "something else"}}}
	word := &Ask{Pattern: "next", Answer: "next", Wrong: []WrongAnswer{{"kubectl.*", "no command"}}}
	for _, tc := range []struct {
		ask    *Ask
		answer string
		want   verdict
	}{
		{choices, "b", verdict{right: true}},
		{choices, " B ", verdict{right: true}},
		{choices, "2", verdict{right: true}},
		{choices, "a", verdict{why: "not x"}},
		{choices, "c", verdict{notAnAnswer: true, why: `Type the letter of one of the answers. "! COMMAND" runs a command.`}},
		{choices, "0", verdict{notAnAnswer: true, why: `Type the letter of one of the answers. "! COMMAND" runs a command.`}},
		{choices, "y", verdict{notAnAnswer: true, why: `Type the letter of one of the answers. "! COMMAND" runs a command.`}},
		{choices, "", verdict{notAnAnswer: true, why: `Type the letter of one of the answers. "! COMMAND" runs a command.`}},
		{text, "ReplicaSet", verdict{right: true}},
		{text, "replica-set-controller ", verdict{right: true}},
		{text, "the replicaset", verdict{}},
		{text, "deployment-controller", verdict{why: "no Pods"}},
		{text, "kubectl delete deploy web", verdict{notAnAnswer: true, why: `Type a word or a name. "! COMMAND" runs a command.`}},
		{num, "4", verdict{right: true}},
		{num, "4.0", verdict{right: true}},
		{num, "5", verdict{why: "one is yours"}},
		{num, "3", verdict{}},
		{num, "kubectl get pods", verdict{notAnAnswer: true, why: `Type a number. "! COMMAND" runs a command.`}},
		{choices, "kubectl get pods", verdict{notAnAnswer: true, why: `Type the letter of one of the answers. "! COMMAND" runs a command.`}},
		{command, "kubectl delete cm b", verdict{why: "something else"}},
		{command, "kubectl get cm a", verdict{}},
		{word, "kubectl get cm", verdict{why: "no command"}},
		{word, "ctrlplane why", verdict{notAnAnswer: true, why: `Type a word or a name. "! COMMAND" runs a command.`}},
		{num, "four", verdict{notAnAnswer: true, why: `Type a number. "! COMMAND" runs a command.`}},
	} {
		if got := tc.ask.judgeAnswer(tc.answer, n); got != tc.want {
			t.Errorf("%q: got %+v, want %+v", tc.answer, got, tc.want)
		}
	}
	for _, a := range []*Ask{choices, text, num} {
		if s := a.rightAnswer(n); !a.judgeAnswer(s, n).right {
			t.Errorf("the right answer %q is judged as wrong", s)
		}
	}
}

func TestCheckHolds(t *testing.T) {
	three, four := "3", 4.0
	pod := "pod/x"
	for _, tc := range []struct {
		name  string
		check Check
		is    value
		want  bool
	}{
		{"is", Check{Count: "pods", Is: &three}, numberValue(3), true},
		{"is, as a number", Check{Object: pod, Path: ".a", Is: &three}, value{text: " 3.0\n"}, true},
		{"is not", Check{Count: "pods", Is: &three}, numberValue(2), false},
		{"is, of nothing", Check{Object: pod, Path: ".a", Is: &three}, value{absent: true}, false},
		{"not", Check{Count: "pods", Not: &three}, numberValue(2), true},
		{"not, but is", Check{Count: "pods", Not: &three}, numberValue(3), false},
		{"at least", Check{Count: "pods", AtLeast: &four}, numberValue(4), true},
		{"less", Check{Count: "pods", AtLeast: &four}, numberValue(3), false},
		{"at most", Check{Count: "pods", AtMost: &four}, numberValue(5), false},
		{"no number", Check{Command: "ls", AtLeast: &four}, value{text: "x"}, false},
		{"matches", Check{Command: "ls", Matches: "^a$"}, value{text: "a"}, true},
		{"matches not", Check{Command: "ls", Matches: "^a$"}, value{text: "ab"}, false},
		{"there", Check{Object: pod}, value{text: "x"}, true},
		{"not there", Check{Object: pod}, value{absent: true}, false},
		{"gone", Check{Object: pod, Gone: true}, value{absent: true}, true},
		{"not gone", Check{Object: pod, Gone: true}, value{text: "x"}, false},
		{"all gone", Check{Count: "pods", Gone: true}, numberValue(0), true},
		{"one left", Check{Count: "pods", Gone: true}, numberValue(1), false},
		{"some", Check{Count: "pods"}, numberValue(1), true},
		{"none", Check{Count: "pods"}, numberValue(0), false},
		{"empty field", Check{Object: pod, Path: ".a"}, value{}, false},
		{"command", Check{Command: "true"}, value{}, true},
		{"command fails", Check{Command: "false"}, value{absent: true}, false},
		{"settled", Check{Settled: true}, value{text: "true"}, true},
		{"not settled", Check{Settled: true}, value{}, false},
	} {
		if got := tc.check.isMetBy(tc.is); got != tc.want {
			t.Errorf("%s: got %t", tc.name, got)
		}
	}
}

func TestRecordsMatch(t *testing.T) {
	yes, no := true, false
	called := &observe.Called{Controller: "c", Verb: "update", Object: observe.Object{Resource: "deployments", Namespace: "lesson-1"}, Subresource: "status", Status: 409, Conflict: true, Error: "too old"}
	synced := &observe.Synced{Queue: "deployment", Key: "lesson-1/web", Retried: true, Error: "too old"}
	logged := &observe.Logged{Message: "Setting expectations", Attrs: []observe.Attr{{Key: "e", Value: "{add:2 del:0 key:lesson-1/web}"}}}
	delivered := &observe.Delivered{Change: observe.Added, Object: observe.Object{Resource: "namespaces", Name: "lesson-1-house"}}
	for _, tc := range []struct {
		r    Records
		e    observe.Event
		want bool
	}{
		{Records{}, called, true},
		{Records{Verb: "update", Resource: "deployments/status", Status: 409, Conflict: &yes, Failed: &yes, Says: "old"}, called, true},
		{Records{Resource: "deployments"}, called, false},
		{Records{Verb: "create"}, called, false},
		{Records{Conflict: &no}, called, false},
		{Records{Status: 200}, called, false},
		{Records{Says: "new"}, called, false},
		{Records{Queue: "deployment", Retried: &yes}, synced, true},
		{Records{Queue: "replicaset"}, synced, false},
		{Records{Says: "e={add:2 "}, logged, true},
		{Records{Says: "fulfilled"}, logged, false},
		{Records{Verb: "added", Resource: "namespaces"}, delivered, true},
		{Records{Verb: "deleted"}, delivered, false},
	} {
		if got := tc.r.matches(tc.e); got != tc.want {
			t.Errorf("%v of %+v: got %t", &tc.r, tc.e, got)
		}
	}
	ours, others := &shell{namespace: "lesson-1"}, &shell{namespace: "lesson-10"}
	for _, e := range []observe.Event{called, synced, logged, delivered} {
		if !ours.inLesson(e) || others.inLesson(e) {
			t.Errorf("%+v: ours %t, others' %t", e, ours.inLesson(e), others.inLesson(e))
		}
	}
	ten := &observe.Called{Object: observe.Object{Resource: "pods", Namespace: "lesson-10"}}
	if ours.inLesson(ten) {
		t.Error("an object in lesson-10 counts as in lesson-1")
	}
}

// requireAnswers requires that the questions of the lessons that an answer selects accept what spellings returns for it.
func requireAnswers(t *testing.T, least int, spellings func(answer string) []string) {
	t.Helper()
	all, err := All()
	if err != nil {
		t.Fatal(err)
	}
	checked := 0
	for _, l := range all {
		for _, s := range l.Steps {
			for _, p := range s.Parts {
				a, ok := p.(*Ask)
				if !ok {
					continue
				}
				accepted := spellings(a.Answer)
				checked += min(len(accepted), 1)
				for _, answer := range accepted {
					if !a.judgeAnswer(answer, 0).right {
						t.Errorf("%s, line %d: %q is refused", l.Name, a.Line, answer)
					}
				}
			}
		}
	}
	if checked < least {
		t.Errorf("only %d questions", checked)
	}
}

// A kind is an answer in each way in which it is written.
func TestNamesOfKindsAreAnswers(t *testing.T) {
	requireAnswers(t, 2, func(answer string) []string {
		if !strings.HasPrefix(answer, "Replica") {
			return nil
		}
		return []string{strings.Replace(answer, "Replica", "Replica ", 1), strings.Replace(answer, "Replica", "replica-", 1), strings.ToLower(answer)}
	})
}

// A question for a controller takes its name as it is spoken.
func TestNamesOfControllersAreAnswers(t *testing.T) {
	requireAnswers(t, 5, func(answer string) []string {
		short, is := strings.CutSuffix(answer, "-controller")
		if !is {
			return nil
		}
		return []string{short, "the " + short, short + " controller", "the " + strings.ReplaceAll(answer, "-", " ")}
	})
}
