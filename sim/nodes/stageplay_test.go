package nodes

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/kubernetes/scheme"
	clienttesting "k8s.io/client-go/testing"
)

// stageTest is a fleet with a running Pod n/p, which Stages of the label "fails" select.
type stageTest struct {
	*testing.T
	*Fleet
	client  *fake.Clientset
	version int                              // of the Pod
	answers []error                          // to the first attempts to create a ConfigMap
	takes   time.Duration                    // until such an answer
	applied atomic.Int32                     // attempts to create a ConfigMap
	created func(*unstructured.Unstructured) // called at each of them
	hold    time.Duration                    // what each step takes that applies something
	held    atomic.Int32                     // how many have begun
	log     bytes.Buffer
}

// slowMapper keeps a step waiting, as a webhook does: the fake clients hold a lock during a call.
type slowMapper struct {
	meta.RESTMapper
	*stageTest
}

// RESTMapping implements meta.RESTMapper.
func (m slowMapper) RESTMapping(kind schema.GroupKind, versions ...string) (*meta.RESTMapping, error) {
	m.held.Add(1)
	time.Sleep(m.hold)
	return m.RESTMapper.RESTMapping(kind, versions...)
}

// runStageTest runs a test in a bubble of its own.
func runStageTest(t *testing.T, test func(s *stageTest)) {
	synctest.Test(t, func(t *testing.T) {
		s := &stageTest{T: t, client: fake.NewClientset()}
		objects := dynamicfake.NewSimpleDynamicClient(scheme.Scheme)
		objects.PrependReactor("create", "configmaps", func(a clienttesting.Action) (bool, runtime.Object, error) {
			s.applied.Add(1)
			if s.created != nil {
				s.created(a.(clienttesting.CreateAction).GetObject().(*unstructured.Unstructured))
			}
			if len(s.answers) == 0 {
				return true, a.(clienttesting.CreateAction).GetObject(), nil
			}
			err := s.answers[0]
			s.answers = s.answers[1:]
			time.Sleep(s.takes)
			return true, nil, err
		})
		mapper := meta.NewDefaultRESTMapper(nil)
		mapper.Add(corev1.SchemeGroupVersion.WithKind("ConfigMap"), meta.RESTScopeNamespace)
		var err error
		cfg := Config{Count: 1, Informers: runInformers(t, s.client), Logger: slog.New(slog.NewTextHandler(&s.log, nil))}
		if s.Fleet, err = startWithClients(t.Context(), cfg, s.client, stageClients{dynamic: objects, mapper: slowMapper{mapper, s}}, newPlayed(nil)); err != nil {
			t.Fatal(err)
		}
		pod := testPod(func(p *corev1.Pod) {
			p.Labels, p.Spec.NodeName, p.ResourceVersion = map[string]string{"fails": "yes"}, nodeName(1), "0"
		})
		if _, err := s.client.CoreV1().Pods("n").Create(t.Context(), pod, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		s.wait(time.Second)
		s.expect(corev1.PodRunning)
		test(s)
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
}

// wait waits until a time has passed and everything has been handled.
func (s *stageTest) wait(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func (s *stageTest) pod() *corev1.Pod {
	s.Helper()
	pod, err := s.client.CoreV1().Pods("n").Get(s.Context(), "p", metav1.GetOptions{})
	if err != nil {
		s.Fatal(err)
	}
	return pod
}

func (s *stageTest) expect(phase corev1.PodPhase) {
	s.Helper()
	if got := s.pod().Status.Phase; got != phase {
		s.Errorf("the Pod is %s, want %s", got, phase)
	}
}

func (s *stageTest) expectDue(want ...time.Duration) {
	s.Helper()
	var got []time.Duration
	for _, due := range s.NextDue() {
		got = append(got, time.Until(due.At))
	}
	if !slices.Equal(got, want) {
		s.Errorf("due in %v, want %v", got, want)
	}
}

// change makes a new version of the Pod: the fake counts none.
func (s *stageTest) change(change func(*corev1.Pod)) {
	s.Helper()
	pod := s.pod()
	change(pod)
	s.version++
	pod.ResourceVersion = strconv.Itoa(s.version)
	if _, err := s.client.CoreV1().Pods("n").Update(s.Context(), pod, metav1.UpdateOptions{}); err != nil {
		s.Fatal(err)
	}
	synctest.Wait()
}

// events returns the reasons of the events about the Pod.
func (s *stageTest) events() (reasons []string) {
	s.Helper()
	list, err := s.client.CoreV1().Events("n").List(s.Context(), metav1.ListOptions{})
	if err != nil {
		s.Fatal(err)
	}
	for _, e := range list.Items {
		if strings.HasPrefix(e.Reason, "Stage") {
			reasons = append(reasons, e.Reason)
		}
	}
	return reasons
}

// set sets a Stage: podStage with another name and a delay.
func (s *stageTest) set(name, delay string, changes ...string) {
	s.Helper()
	change := strings.NewReplacer(append(changes, "name: fails", "name: "+name, "spec:\n", "spec:\n  delay: "+delay+"\n")...)
	stage := parseStage(s.T, change.Replace(podStage))
	stage.ResourceVersion = delay + strings.Join(changes, " ")
	if err := (stageFeed{s.simulation}).Add(stage); err != nil {
		s.Fatal(err)
	}
	synctest.Wait()
}

func (s *stageTest) remove(name string) {
	s.Helper()
	if err := (stageFeed{s.simulation}).Delete(parseStage(s.T, strings.Replace(podStage, "name: fails", "name: "+name, 1))); err != nil {
		s.Fatal(err)
	}
	synctest.Wait()
}

// fail makes the node fail, or recover.
func (s *stageTest) fail(do func(*Fleet) error) {
	s.Helper()
	if err := do(s.Fleet); err != nil {
		s.Fatal(err)
	}
	synctest.Wait()
}

const (
	patchNext = `next: {statusTemplate: "phase: Failed\nreason: Demo"}`
	applyNext = `steps: [{apply: {template: "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: of-{{ .metadata.name }}}"}}]`
	sixSecs   = "{durationMilliseconds: 6000}"
)

// TestStageIsRetried has answers after which a Stage is tried again, whatever they say.
func TestStageIsRetried(t *testing.T) {
	unavailable := apierrors.NewServiceUnavailable("come back")
	for name, answers := range map[string][]error{
		"too many requests":        {apierrors.NewTooManyRequestsError("slow down")},
		"timeout":                  {apierrors.NewTimeoutError("it took too long", 0)},
		"unavailable":              {unavailable},
		"unavailable, three times": {unavailable, unavailable, unavailable},
	} {
		t.Run(name, func(t *testing.T) {
			runStageTest(t, func(s *stageTest) {
				s.answers = answers
				s.set("fails", "{}", patchNext, applyNext)
				for i := range answers {
					if int(s.applied.Load()) != i+1 {
						s.Fatalf("%d attempts, want %d", s.applied.Load(), i+1)
					}
					due := s.NextDue()
					if len(due) != 1 || time.Until(due[0].At) != time.Second<<i {
						t.Fatalf("retry %d: due %+v", i, due)
					}
					s.wait(time.Until(due[0].At))
				}
				if int(s.applied.Load()) != len(answers)+1 {
					s.Errorf("%d attempts, want %d", s.applied.Load(), len(answers)+1)
				}
				s.expectDue()
				if got := s.events(); len(got) > 0 {
					s.Errorf("events %q although it has succeeded", got)
				}
			})
		})
	}
}

// TestStageRetries has a Stage whose second step fails: the first one is not repeated, and the version of the Pod is the one
// for which the Stage was due.
func TestStageRetries(t *testing.T) {
	runStageTest(t, func(s *stageTest) {
		s.change(func(p *corev1.Pod) { p.Annotations = map[string]string{"round": "first"} })
		s.answers = tooMany(14)
		began, marks, pod := time.Now(), 0, s.pod()
		s.client.PrependReactor("patch", "pods", func(clienttesting.Action) (bool, runtime.Object, error) {
			marks++
			return true, pod, nil // it changes nothing
		})
		var at []time.Duration
		var texts []string
		s.created = func(object *unstructured.Unstructured) {
			at = append(at, time.Since(began))
			text, _, _ := unstructured.NestedString(object.Object, "data", "round")
			texts = append(texts, text)
		}
		s.set("fails", "{}", patchNext, `steps:
  - patch: {template: "metadata: {labels: {marked: really}}"}
  - apply: {template: "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata: {round: {{ .metadata.annotations.round }}}"}`)
		s.change(func(p *corev1.Pod) { p.Annotations = map[string]string{"round": "second"}; p.Labels = nil })
		s.wait(5 * time.Hour)
		want := []time.Duration{0}
		for i := range 14 {
			want = append(want, want[i]+min(time.Second<<i, 32*time.Minute))
		}
		if diff := cmp.Diff(want, at); diff != "" {
			t.Errorf("attempts (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(slices.Repeat([]string{"first"}, 15), texts); diff != "" || marks != 1 {
			t.Errorf("%d patches, want 1; what was applied (-want +got):\n%s", marks, diff)
		}
		s.expectDue()
	})
}

// TestStageSteps has what the steps of a Stage send, as with kwok.
func TestStageSteps(t *testing.T) {
	for name, test := range map[string]struct {
		next   string
		want   []string
		events []string
	}{
		"status": {patchNext, []string{`patch status application/strategic-merge-patch+json {"status":{"phase":"Failed","reason":"Demo"}}`}, nil},
		"patches": {`steps:
  - patch: {type: json, template: '[{op: add, path: /metadata/labels/a, value: {{ .metadata.name }}}]'}
  - patch: {type: merge, root: metadata, template: 'annotations: {a: "{{ NodePort }}{{ PodIP }}"}'}`, []string{
			`patch application/json-patch+json [{"op":"add","path":"/metadata/labels/a","value":"p"}]`,
			`patch application/merge-patch+json {"metadata":{"annotations":{"a":"0"}}}`,
		}, nil},
		"finalizer, event and deletion": {`next:
    finalizers: {add: [{value: example.com/a}]}
    event: {type: Normal, reason: StagePlayed, message: m}
    delete: true`, []string{
			`patch application/json-patch+json [{"op":"add","path":"/metadata/finalizers","value":["example.com/a"]}]`,
			"delete 0 s, UID u",
		}, []string{"StagePlayed"}},
		"impersonation": {`steps: [{patch: {template: "a: b", impersonation: {username: x}}}]`, nil, []string{"StageFailed"}},
	} {
		t.Run(name, func(t *testing.T) {
			runStageTest(t, func(s *stageTest) {
				s.client.ClearActions()
				s.set("fails", "{}", patchNext, test.next)
				var got []string
				for _, action := range s.client.Actions() {
					switch a := action.(type) {
					case clienttesting.PatchAction:
						got = append(got, strings.Join(strings.Fields(fmt.Sprintln("patch", a.GetSubresource(), a.GetPatchType(), string(a.GetPatch()))), " "))
					case clienttesting.DeleteActionImpl:
						got = append(got, fmt.Sprintf("delete %d s, UID %s", *a.DeleteOptions.GracePeriodSeconds, *a.DeleteOptions.Preconditions.UID))
					}
				}
				if diff := cmp.Diff(test.want, got[:min(len(test.want), len(got))]); diff != "" { // the default behaviour follows
					t.Errorf("-want +got:\n%s", diff)
				}
				if diff := cmp.Diff(test.events, s.events()); diff != "" {
					t.Errorf("events (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// TestStageIsRefused has an answer after which a Stage is not tried again, although it quotes others.
func TestStageIsRefused(t *testing.T) {
	runStageTest(t, func(s *stageTest) {
		s.answers = []error{apierrors.NewForbidden(corev1.Resource("configmaps"), "of-p", errors.New("Timeout: the namespace makes too many requests: connection refused"))}
		s.set("fails", "{}", patchNext, applyNext)
		s.expectDue()
		if got := s.events(); !slices.Equal(got, []string{"StageFailed"}) {
			s.Errorf("events %q", got)
		}
		s.set("other", "{}", `fails: "yes"`, `other: "yes"`)
		if s.applied.Load() != 2 {
			s.Errorf("%d attempts after a change of a Stage, want 2", s.applied.Load())
		}
	})
}

// TestStageIsNotPlayed has what happens during the delay of a Stage, during an attempt, or before it is tried again.
func TestStageIsNotPlayed(t *testing.T) {
	failed := func(s *stageTest) { s.fail(func(f *Fleet) error { return f.Fail(s.Context(), nodeName(1)) }) }
	for name, during := range map[string]func(*stageTest){
		"it is deleted":                   func(s *stageTest) { s.remove("fails") },
		"it is replaced":                  func(s *stageTest) { s.set("fails", sixSecs, `fails: "yes"`, `other: "yes"`) },
		"the Pod does not match any more": func(s *stageTest) { s.change(func(p *corev1.Pod) { p.Labels = nil }) },
		"the Pod does not match, then it is deleted": func(s *stageTest) {
			s.change(func(p *corev1.Pod) { p.Labels = nil })
			s.remove("fails")
		},
		"the node fails": failed,
		"the node fails, then it is deleted": func(s *stageTest) {
			failed(s)
			s.remove("fails")
		},
		"the Pod is deleted": func(s *stageTest) {
			if err := s.client.CoreV1().Pods("n").Delete(s.Context(), "p", metav1.DeleteOptions{}); err != nil {
				s.Error(err)
			}
			synctest.Wait()
		},
	} {
		t.Run("delay: "+name, func(t *testing.T) {
			runStageTest(t, func(s *stageTest) {
				s.set("fails", sixSecs)
				s.wait(2 * time.Second)
				s.expectDue(4 * time.Second)
				during(s)
				s.expectDue()
				s.wait(time.Hour)
				if name != "the Pod is deleted" {
					s.expect(corev1.PodRunning)
				}
				s.expectDue()
			})
		})
		if strings.HasPrefix(name, "the Pod does not match any more") {
			continue // it may be its first step that has changed the Pod
		}
		for when, takes := range map[string]time.Duration{"retry": 0, "attempt": 2 * time.Second} {
			t.Run(when+": "+name, func(t *testing.T) {
				runStageTest(t, func(s *stageTest) {
					s.answers, s.takes = tooMany(5), takes
					s.set("fails", "{}", patchNext, applyNext)
					s.wait(takes / 2)
					during(s)
					s.wait(takes / 2)
					s.expectDue()
					s.wait(time.Hour)
					s.expectDue()
					if s.applied.Load() != 1 {
						s.Errorf("%d attempts, want 1", s.applied.Load())
					}
				})
			})
		}
	}
}

func tooMany(n int) []error {
	return slices.Repeat([]error{apierrors.NewTooManyRequestsError("slow down")}, n)
}

// TestStageOfANodeIsNotPlayed has what happens during an attempt to play the Stage of a Node.
func TestStageOfANodeIsNotPlayed(t *testing.T) {
	for name, during := range map[string]func(*stageTest){
		"it is deleted": func(s *stageTest) { s.remove("fails") },
		"the Node is deleted": func(s *stageTest) {
			if err := s.client.CoreV1().Nodes().Delete(s.Context(), nodeName(1), metav1.DeleteOptions{}); err != nil {
				s.Error(err)
			}
			synctest.Wait()
		},
		"the node fails": func(s *stageTest) { s.fail(func(f *Fleet) error { return f.Fail(s.Context(), nodeName(1)) }) },
	} {
		t.Run(name, func(t *testing.T) {
			runStageTest(t, func(s *stageTest) {
				s.answers, s.takes = tooMany(5), 2*time.Second
				s.set("fails", "{}", forNodes(patchNext, strings.Replace(applyNext, "{name:", "{namespace: n, name:", 1))...)
				s.wait(time.Second)
				during(s)
				s.wait(time.Hour)
				if s.applied.Load() != 1 {
					s.Errorf("%d attempts, want 1", s.applied.Load())
				}
			})
		})
	}
}

// TestStageIsCorrected has a Stage that is replaced during an attempt, which fails: the new one is played, whether its
// delay ends before that, before the first would be tried again, or later.
func TestStageIsCorrected(t *testing.T) {
	for delay, after := range map[string]time.Duration{
		"{}":                           0,
		"{durationMilliseconds: 1200}": 1200 * time.Millisecond,
		"{durationMilliseconds: 5200}": 5200 * time.Millisecond,
	} {
		t.Run(delay, func(t *testing.T) {
			runStageTest(t, func(s *stageTest) {
				s.answers, s.takes = tooMany(5), 2*time.Second
				s.set("fails", "{}", patchNext, applyNext)
				s.wait(time.Second)
				s.set("fails", delay)
				s.wait(after)
				s.expect(corev1.PodFailed)
				s.wait(time.Hour)
				s.expectDue()
				if s.applied.Load() != 1 {
					s.Errorf("%d attempts of the first version, want 1", s.applied.Load())
				}
			})
		})
	}
}

// TestStageIsRetriedAfterAnother has a Stage that is to be tried again when the attempt for its earlier version fails.
func TestStageIsRetriedAfterAnother(t *testing.T) {
	runStageTest(t, func(s *stageTest) {
		s.answers, s.takes = tooMany(5), 1500*time.Millisecond
		patches := 0
		s.client.PrependReactor("patch", "pods", func(clienttesting.Action) (bool, runtime.Object, error) {
			patches++
			return patches == 1, nil, apierrors.NewTooManyRequestsError("slow down")
		})
		s.set("fails", "{}", patchNext, applyNext)
		s.wait(time.Second)
		s.set("fails", "{durationMilliseconds: 0}")
		s.expectDue(time.Second)
		s.wait(time.Second)
		s.expect(corev1.PodFailed)
		s.wait(time.Hour)
		if s.applied.Load() != 1 || patches != 3 {
			s.Errorf("%d attempts of the first version, %d patches", s.applied.Load(), patches)
		}
	})
}

// TestStageOfAFailedNode has a node that recovers after the delay of a Stage, which begins again.
func TestStageOfAFailedNode(t *testing.T) {
	runStageTest(t, func(s *stageTest) {
		s.set("fails", sixSecs)
		s.fail(func(f *Fleet) error { return f.Fail(s.Context(), nodeName(1)) })
		s.wait(10 * time.Second)
		s.expect(corev1.PodRunning)
		s.fail(func(f *Fleet) error { return f.Recover(s.Context(), nodeName(1)) })
		s.wait(5 * time.Second)
		s.expect(corev1.PodRunning)
		s.wait(time.Second)
		s.expect(corev1.PodFailed)
	})
}

// TestStageDelayGoesOn has what does not make the delay of a Stage begin again.
func TestStageDelayGoesOn(t *testing.T) {
	const sixAnnotated = `{durationFrom: {jq: {expression: '.metadata.annotations["delay"]'}}}`
	for name, test := range map[string]struct {
		delay string
		every func(s *stageTest)
	}{
		"a change of the Pod": {sixSecs, func(s *stageTest) {
			s.change(func(p *corev1.Pod) { p.Annotations["again"] = time.Now().String() })
		}},
		"another Stage":         {sixSecs, func(s *stageTest) { s.set("other", "{}", `fails: "yes"`, `other: "yes"`) }},
		"another that matches":  {sixSecs, func(s *stageTest) { s.set("other", sixSecs) }},
		"its own last version":  {sixSecs, func(s *stageTest) { s.set("fails", sixSecs) }},
		"an expression":         {sixAnnotated, func(s *stageTest) { s.change(func(p *corev1.Pod) { p.Annotations["again"] = time.Now().String() }) }},
		"a change of a command": {sixSecs, func(s *stageTest) { s.simulation.pods.processPod(s.pod(), true) }},
	} {
		t.Run(name, func(t *testing.T) {
			runStageTest(t, func(s *stageTest) {
				s.change(func(p *corev1.Pod) { p.Annotations = map[string]string{"delay": "6s"} })
				s.set("fails", test.delay)
				for range 5 {
					s.wait(time.Second)
					test.every(s)
				}
				s.expectDue(time.Second)
				s.expect(corev1.PodRunning)
				s.wait(time.Second)
				s.expect(corev1.PodFailed)
			})
		})
	}
	t.Run("but another delay does", func(t *testing.T) {
		runStageTest(t, func(s *stageTest) {
			s.change(func(p *corev1.Pod) { p.Annotations = map[string]string{"delay": "6s"} })
			s.set("fails", sixAnnotated)
			s.wait(5 * time.Second)
			s.change(func(p *corev1.Pod) { p.Annotations["delay"] = "4s" })
			s.expectDue(4 * time.Second)
		})
	})
}

// TestStageThatDoesNotEnd has a Stage that is being played, and does not end, when the simulation is stopped.
func TestStageThatDoesNotEnd(t *testing.T) {
	runStageTest(t, func(s *stageTest) {
		s.hold = time.Hour
		s.set("fails", "{}", patchNext, applyNext)
		began := time.Now()
		s.simulation.stop()
		if took := time.Since(began); took != maxStageStop {
			s.Errorf("stopped after %s, want %s", took, maxStageStop)
		}
		if got := s.log.String(); !strings.Contains(got, "stage=fails pod=n/p") {
			s.Errorf("the log does not name what is left behind: %s", got)
		}
		s.wait(time.Hour)
	})
}

// TestStageIsRetriedBesideTheDefault has a Stage whose first step makes its object stop matching, whose second step fails,
// and an object for which something is due by default.
func TestStageIsRetriedBesideTheDefault(t *testing.T) {
	t.Run("Pod", func(t *testing.T) {
		runStageTest(t, func(s *stageTest) {
			s.change(func(p *corev1.Pod) { p.Spec.ActiveDeadlineSeconds = new(int64(600)) })
			s.answers = tooMany(10)
			began := time.Now()
			s.set("fails", "{}", patchNext, applyNext)
			s.change(func(p *corev1.Pod) { p.Labels = nil })
			s.expectDue(time.Second)
			s.wait(530 * time.Second)
			if s.applied.Load() != 10 {
				s.Errorf("%d attempts, want 10", s.applied.Load())
			}
			s.expectDue(time.Until(began.Add(599 * time.Second))) // the deadline of the Pod, which started a second before
			s.wait(70 * time.Second)
			s.expect(corev1.PodFailed)
			s.expectDue(time.Until(began.Add(1023 * time.Second)))
			s.wait(time.Hour)
			if s.applied.Load() != 11 {
				s.Errorf("%d attempts, want 11", s.applied.Load())
			}
			s.expectDue()
		})
	})
	t.Run("Node", func(t *testing.T) {
		runStageTest(t, func(s *stageTest) {
			s.answers = tooMany(2)
			s.set("fails", "{}", forNodes(patchNext, strings.Replace(applyNext, "{name:", "{namespace: n, name:", 1))...)
			s.changeNode(func(n *corev1.Node) { n.Status.NodeInfo.MachineID = "marked" })
			s.wait(time.Hour)
			if s.applied.Load() != 3 {
				s.Errorf("%d attempts, want 3", s.applied.Load())
			}
		})
	})
}

// holdWorkers keeps all workers that play the stages of Pods for 12 s.
func (s *stageTest) holdWorkers() {
	s.Helper()
	s.hold = 12 * time.Second
	for i := range podWorkers {
		pod := testPod(func(p *corev1.Pod) {
			p.Name, p.UID = fmt.Sprint("holds-", i), types.UID(fmt.Sprint(i))
			p.Labels, p.Spec.NodeName, p.ResourceVersion = map[string]string{"holds": "yes"}, nodeName(1), "0"
		})
		if _, err := s.client.CoreV1().Pods("n").Create(s.Context(), pod, metav1.CreateOptions{}); err != nil {
			s.Fatal(err)
		}
	}
	s.wait(time.Second)
	s.set("holds", "{}", `fails: "yes"`, `holds: "yes"`, patchNext, applyNext)
	if got := s.held.Load(); got != podWorkers {
		s.Errorf("%d workers are held", got)
	}
}

// TestStageOfANodeDoesNotWait has a Node with a Stage, while all workers for Pods are held.
func TestStageOfANodeDoesNotWait(t *testing.T) {
	runStageTest(t, func(s *stageTest) {
		s.holdWorkers()
		s.set("marks", "{}", marksNodes...)
		if got := s.machineID(); got != "marked" {
			s.Errorf("machineID %q, want marked", got)
		}
		s.wait(time.Minute)
	})
}

// TestStageWaitsForAWorker has a Pod that changes after the delay of its Stage, before a worker is free.
func TestStageWaitsForAWorker(t *testing.T) {
	runStageTest(t, func(s *stageTest) {
		s.holdWorkers()
		s.set("fails", sixSecs, "reason: Demo", "reason: {{ .metadata.annotations.round }}")
		s.wait(8 * time.Second)
		s.change(func(p *corev1.Pod) { p.Annotations = map[string]string{"round": "Second"} })
		s.expect(corev1.PodRunning)
		s.wait(4 * time.Second)
		s.expect(corev1.PodFailed)
		if got := s.pod().Status.Reason; got != "Second" {
			s.Errorf("played for an earlier version: reason %q", got)
		}
	})
}

// TestStageIsDeletedBeforeItsPodsKnow has a Stage that is deleted, while the Pods that it is due for are still to be
// processed.
func TestStageIsDeletedBeforeItsPodsKnow(t *testing.T) {
	for when, answers := range map[string][]error{"delay": nil, "retry": tooMany(5)} {
		t.Run(when, func(t *testing.T) {
			runStageTest(t, func(s *stageTest) {
				s.answers = answers
				delay := sixSecs
				if answers != nil {
					delay = "{}"
				}
				s.set("fails", delay, patchNext, applyNext)
				began := s.applied.Load()
				s.simulation.stages.remove("fails")
				s.wait(time.Hour)
				if got := s.applied.Load() - began; got != 0 {
					s.Errorf("%d attempts after it was deleted", got)
				}
			})
		})
	}
}

// forNodes returns changes that make podStage select Nodes, and others.
func forNodes(changes ...string) []string {
	return append([]string{
		"kind: Pod", "kind: Node", "    matchLabels: {fails: \"yes\"}\n", "",
		"key: .status.phase, operator: In, values: [Running]", "key: .status.nodeInfo.machineID, operator: NotIn, values: [marked]",
	}, changes...)
}

// marksNodes are the changes that make podStage mark Nodes.
var marksNodes = forNodes("phase: Failed\\nreason: Demo", "nodeInfo: {machineID: marked}")

func (s *stageTest) machineID() string {
	s.Helper()
	return s.node().Status.NodeInfo.MachineID
}

func (s *stageTest) node() *corev1.Node {
	s.Helper()
	node, err := s.client.CoreV1().Nodes().Get(s.Context(), nodeName(1), metav1.GetOptions{})
	if err != nil {
		s.Fatal(err)
	}
	return node
}

// changeNode makes a new version of the Node.
func (s *stageTest) changeNode(change func(*corev1.Node)) {
	s.Helper()
	node := s.node()
	change(node)
	s.version++
	node.ResourceVersion = strconv.Itoa(s.version + 100)
	if _, err := s.client.CoreV1().Nodes().Update(s.Context(), node, metav1.UpdateOptions{}); err != nil {
		s.Fatal(err)
	}
	synctest.Wait()
}

// TestStageDelayOfANode has a Node that changes during the delay of a Stage.
func TestStageDelayOfANode(t *testing.T) {
	runStageTest(t, func(s *stageTest) {
		s.set("marks", sixSecs, marksNodes...)
		for i := range 6 {
			if s.machineID() == "marked" {
				s.Fatalf("marked after %d s", i)
			}
			s.changeNode(func(n *corev1.Node) { n.Labels["again"] = strconv.Itoa(i) })
			s.wait(time.Second)
		}
		if got := s.machineID(); got != "marked" {
			s.Errorf("machineID %q, want marked", got)
		}
	})
}

// TestStageOfADeletedPod has a Pod whose deletion fails once, with a Stage that matches its last status.
func TestStageOfADeletedPod(t *testing.T) {
	runStageTest(t, func(s *stageTest) {
		refused := false
		s.client.PrependReactor("delete", "pods", func(clienttesting.Action) (bool, runtime.Object, error) {
			if refused {
				return false, nil, nil
			}
			refused = true
			return true, nil, apierrors.NewForbidden(corev1.Resource("pods"), "p", errors.New("a webhook denies it"))
		})
		s.set("fails", "{}", "values: [Running]", "values: [Failed]}, {key: .status.reason, operator: NotIn, values: [Demo]")
		s.change(func(p *corev1.Pod) {
			p.DeletionTimestamp, p.DeletionGracePeriodSeconds = &metav1.Time{Time: time.Now()}, new(int64)
		})
		s.wait(time.Minute)
		if list, err := s.client.CoreV1().Pods("n").List(s.Context(), metav1.ListOptions{}); err != nil || !refused || len(list.Items) > 0 {
			s.Errorf("deletion refused: %v; %d Pods are left: %v", refused, len(list.Items), err)
		}
	})
}
