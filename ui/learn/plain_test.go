package learn

import (
	"regexp"
	"strings"
	"testing"
)

func TestPlainWords(t *testing.T) {
	is, least, empty := "2", 3.0, ""
	same := func(s string) string { return s }
	for want, m := range map[string]unmetCheck{
		"configmap/note does not exist.":                                            {&Check{Object: "configmap/note"}, value{absent: true}},
		"the server has no resource \"podz\".":                                      {&Check{Count: "podz"}, value{text: "0", noKind: "podz"}},
		"“There is a note”: configmap/note does not exist.":                         {&Check{Object: "configmap/note", Say: "There is a note."}, value{absent: true}},
		"pod/x still exists.":                                                       {&Check{Object: "pod/x", Gone: true}, value{text: "x"}},
		"ready replicas of deployment/web: 0, needed: 2.":                           {&Check{Object: "deployment/web", Path: ".status.readyReplicas", Is: &is}, value{text: "0"}},
		"reason of condition ReplicaFailure of deployment/web: not set, needed: 2.": {&Check{Object: "deployment/web", Path: `.status.conditions[?(@.type=="ReplicaFailure")].reason`, Is: &is}, value{}},
		"annotation n of deployment/web: \"x\".":                                    {&Check{Object: "deployment/web", Path: ".metadata.annotations.n", Not: &empty}, value{text: "x"}},
		"number of pods with a=b: 1, needed: at least 3.":                           {&Check{Count: "pods", Where: "a=b", AtLeast: &least}, value{text: "1"}},
		"it has happened once so far, needed: at least 3.":                          {&Check{Records: &Records{}, AtLeast: &least}, value{text: "1"}},
		"number of waiting keys of queue deployment: 0, needed: at least 3.":        {&Check{Queue: "deployment", Of: "depth", AtLeast: &least}, value{text: "0"}},
		"queue site does not exist.":                                                {&Check{Queue: "site", Of: "depth"}, value{absent: true}},
		"job is \"running\", needed: 2.":                                            {&Check{Controller: "job", Is: &is}, value{text: "running"}},
		"writes that job holds: 0.":                                                 {&Check{Held: "job"}, value{text: "0"}},
		"the control plane has not settled yet: job: sync of x/y running for 2s.":   {&Check{Settled: true}, value{busy: "job: sync of x/y running for 2s"}},
		"The program does not exist.":                                               {&Check{Command: "test -x controller", Say: "It exists.", Missing: "The program does not exist."}, value{absent: true}},
		"there was no answer in time.":                                              {&Check{Command: "test -x controller", Missing: "The program does not exist."}, value{unanswered: true}},
		"the command \"test -x controller\" fails.":                                 {&Check{Command: "test -x controller"}, value{absent: true}},
		"the command \"cat job-1.log\" prints nothing, needed: 2.":                  {&Check{Command: "cat job-1.log", Is: &is}, value{}},
	} {
		if got := m.plain(same); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}

// No check of a built-in lesson is described to a student by the path of a field.
func TestBuiltInChecksAreSaidInPlainWords(t *testing.T) {
	all, err := All()
	if err != nil {
		t.Fatal(err)
	}
	raw := regexp.MustCompile(`\.(status|spec|metadata)\b|\[|\?\(|has to be|must not`)
	checked := 0
	for _, l := range all {
		for _, s := range l.Steps {
			for _, p := range s.Parts {
				d, ok := p.(*Do)
				if !ok {
					continue
				}
				for _, c := range d.Until {
					for _, v := range []value{{text: "0"}, {}, {absent: true}} {
						m := unmetCheck{c, v}
						if text := m.plain(func(s string) string { return s }); raw.MatchString(text) || strings.Contains(text, "the command ") {
							t.Errorf("%s, line %d: %s", l.Name, c.Line, text)
						}
						checked++
					}
				}
			}
		}
	}
	if checked < 100 {
		t.Errorf("only %d checks", checked)
	}
}
