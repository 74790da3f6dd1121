package container

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clientcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	clienttesting "k8s.io/client-go/testing"
)

// serviceAccountPod returns a Pod with the volume that the API server adds to each.
func serviceAccountPod(expires int64, command ...string) *corev1.Pod {
	pod := newPod(command...)
	pod.Spec.ServiceAccountName = "default"
	pod.Spec.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: "api", MountPath: "/api", ReadOnly: true}}
	ca := corev1.VolumeProjection{ConfigMap: &corev1.ConfigMapProjection{LocalObjectReference: corev1.LocalObjectReference{Name: "kube-root-ca.crt"}}}
	token := corev1.VolumeProjection{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{Path: "token", ExpirationSeconds: &expires}}
	pod.Spec.Volumes = []corev1.Volume{{Name: "api", VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{
		DefaultMode: new(int32(0o644)), Sources: []corev1.VolumeProjection{token, ca},
	}}}}
	return pod
}

// podOf returns what the runtime keeps of a Pod.
func (f *fixture) podOf(of *corev1.Pod) *pod {
	s := f.active()
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.pods[of.UID]
}

// countTokens answers requests for tokens with their number.
func (f *fixture) countTokens() *atomic.Int64 { return f.countTokensFor(time.Hour) }

// countTokensFor is countTokens with tokens that are valid for a time, whatever is requested.
func (f *fixture) countTokensFor(lifetime time.Duration) *atomic.Int64 {
	made := &atomic.Int64{}
	f.client.PrependReactor("create", "serviceaccounts", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, newToken(fmt.Sprintf("token-%d", made.Add(1)), lifetime), nil
	})
	return made
}

func newToken(token string, lifetime time.Duration) *authenticationv1.TokenRequest {
	return &authenticationv1.TokenRequest{
		Spec:   authenticationv1.TokenRequestSpec{ExpirationSeconds: new(int64(lifetime.Seconds()))},
		Status: authenticationv1.TokenRequestStatus{Token: token, ExpirationTimestamp: metav1.NewTime(time.Now().Add(lifetime))},
	}
}

// TestTokensAreMadeWhenUsed runs commands that read their token, and that do not.
func TestTokensAreMadeWhenUsed(t *testing.T) {
	for script, want := range map[string]int64{"echo hi; ls /tmp": 0, "cat /api/token; cat /api/ca.crt": 1, "ls /api": 1} {
		f := newFixture(t, rootCA)
		made := f.countTokens()
		pod := serviceAccountPod(3600, "sh", "-c", script)
		f.start(pod)
		if end := f.await(pod, Ended); end.ExitCode != 0 || made.Load() != want {
			t.Errorf("%s: got %+v, %d tokens, want %d: %s", script, end, made.Load(), want, f.logOf(pod))
		}
	}
}

// TestTokenAsSubPath mounts a token alone: it is not made before that.
func TestTokenAsSubPath(t *testing.T) {
	f := newFixture(t, rootCA)
	f.countTokens()
	pod := serviceAccountPod(3600, "cat", "/token")
	pod.Spec.Containers[0].VolumeMounts[0].MountPath, pod.Spec.Containers[0].VolumeMounts[0].SubPath = "/token", "token"
	f.start(pod)
	if end := f.await(pod, Ended); end.ExitCode != 0 || f.logOf(pod) != "token-1" {
		t.Errorf("got %+v, log %q", end, f.logOf(pod))
	}
}

// TestNoPreparationIfTheRootCAIsKnown starts a second Pod of a namespace at once.
func TestNoPreparationIfTheRootCAIsKnown(t *testing.T) {
	f := newFixture(t, rootCA)
	pod := serviceAccountPod(3600, "true")
	if state := f.start(pod); state.Phase != Preparing {
		t.Errorf("the first: %+v", state)
	}
	f.await(pod, Ended)
	second := pod.DeepCopy()
	second.UID = "second"
	if state := f.start(second); !state.Command { // it is known at once
		t.Errorf("the second: %+v", state)
	}
}

// TestRootCAIsKnownAfterAPodHasFinished starts a Pod of a namespace whose other Pods have
// finished, like those of Jobs.
func TestRootCAIsKnownAfterAPodHasFinished(t *testing.T) {
	f := newFixture(t, rootCA)
	pod := serviceAccountPod(3600, "true")
	f.start(pod)
	f.await(pod, Ended)
	for range 2 { // it is called at each update of a Pod that has finished
		f.StopPod(pod, time.Now())
	}
	second := pod.DeepCopy()
	second.UID = "second"
	if state := f.start(second); !state.Command { // it is known at once
		t.Errorf("got %+v", state)
	}
	f.await(second, Ended)
}

// TestRootCAIsForgottenWithTheLastPod starts a Pod of a namespace that has been created
// again and has no certificate yet.
func TestRootCAIsForgottenWithTheLastPod(t *testing.T) {
	f := newFixture(t, rootCA)
	pod := serviceAccountPod(3600, "true")
	f.start(pod)
	f.await(pod, Ended)
	f.Remove(pod.UID)
	if err := f.client.CoreV1().ConfigMaps("ns").Delete(t.Context(), rootCA.Name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	again := pod.DeepCopy()
	again.UID = "again"
	f.start(again)
	if state := f.await(again, Blocked); state.Mounted || state.Reason != "" {
		t.Errorf("got %+v", state)
	}
	if _, err := f.client.CoreV1().ConfigMaps("ns").Create(t.Context(), rootCA, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	f.await(again, Ended)
}

// TestVolumesChangeWhileATokenIsMade changes another volume of a Pod while a command waits for
// the token that it reads.
func TestVolumesChangeWhileATokenIsMade(t *testing.T) {
	settings := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "m"}, Data: map[string]string{"a": "1"}}
	f := newFixture(t, rootCA, settings)
	f.Stop()
	client := waitingTokens{f.client, make(chan struct{}), make(chan struct{})}
	f.startWith(client)
	pod := serviceAccountPod(3600, "sleep", "infinity")
	c := &pod.Spec.Containers[0]
	c.VolumeMounts = append(c.VolumeMounts, corev1.VolumeMount{Name: "v", MountPath: "/v"})
	pod.Spec.Volumes = append([]corev1.Volume{{Name: "v", VolumeSource: configMapSource("m")}}, pod.Spec.Volumes...)
	f.start(pod)
	f.await(pod, Running)
	if got := f.exec(pod, "cat /v/a"); got != "1" {
		t.Fatalf("got %q", got)
	}
	token := make(chan string, 1)
	go func() { token <- f.exec(pod, "cat /api/token") }()
	<-client.asked
	refreshed := make(chan struct{}, 10)
	f.client.PrependReactor("get", "configmaps", func(a clienttesting.Action) (bool, runtime.Object, error) {
		if a.(clienttesting.GetAction).GetName() == "m" {
			refreshed <- struct{}{} // it has the lock of the volumes now
		}
		return false, nil, nil
	})
	settings.Data["a"] = "2"
	if _, err := f.client.CoreV1().ConfigMaps("ns").Update(t.Context(), settings, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	<-refreshed
	close(client.made)
	if got := <-token; got != "token" {
		t.Errorf("the command has read %q", got)
	}
	f.awaitExec(pod, "cat /v/a 2>/dev/null || :", "2")
}

// waitingTokens is a client that makes tokens when the test allows it. A reactor of the fake would hold its
// lock meanwhile.
type waitingTokens struct {
	*fake.Clientset
	asked, made chan struct{}
}

func (w waitingTokens) CoreV1() clientcorev1.CoreV1Interface {
	return waitingCore{w.Clientset.CoreV1(), w}
}

type waitingCore struct {
	clientcorev1.CoreV1Interface
	tokens waitingTokens
}

func (w waitingCore) ServiceAccounts(namespace string) clientcorev1.ServiceAccountInterface {
	return waitingAccounts{w.CoreV1Interface.ServiceAccounts(namespace), w.tokens}
}

type waitingAccounts struct {
	clientcorev1.ServiceAccountInterface
	tokens waitingTokens
}

func (w waitingAccounts) CreateToken(context.Context, string, *authenticationv1.TokenRequest, metav1.CreateOptions) (*authenticationv1.TokenRequest, error) {
	close(w.tokens.asked)
	<-w.tokens.made
	return newToken("token", time.Hour), nil
}

// The API server may make tokens for a shorter time than is requested.
func TestTokensAreRenewed(t *testing.T) {
	f := newFixture(t, rootCA)
	f.countTokensFor(time.Second)
	pod := serviceAccountPod(3600, "sh", "-c", "sleep 1000; true")
	f.start(pod)
	f.await(pod, Running)
	last := 0
	for range 3 { // a busy machine may miss a token
		f.awaitOutput(pod, "cat /api/token", fmt.Sprintf("a token after number %d", last), func(got string) bool {
			number := 0
			if _, err := fmt.Sscanf(got, "token-%d", &number); err != nil || number <= last {
				return false
			}
			last = number
			return true
		})
	}
}

// newMountedFixture returns a runtime with a Pod that has a token and the ConfigMap m.
func newMountedFixture(t *testing.T) (f *fixture, of *corev1.Pod, p *pod, settings *corev1.ConfigMap) {
	t.Helper()
	settings = &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "m"}, Data: map[string]string{"a": "1"}}
	f = newFixture(t, rootCA, settings)
	f.countTokens()
	of = serviceAccountPod(3600, "sleep", "infinity")
	c := &of.Spec.Containers[0]
	c.VolumeMounts = append(c.VolumeMounts, corev1.VolumeMount{Name: "v", MountPath: "/v"})
	of.Spec.Volumes = append(of.Spec.Volumes, corev1.Volume{Name: "v", VolumeSource: configMapSource("m")})
	f.start(of)
	f.await(of, Running)
	f.requireFiles(of, "token-1", "1")
	return f, of, f.podOf(of), settings
}

func (f *fixture) requireFiles(of *corev1.Pod, token, content string) {
	f.t.Helper()
	if got := f.exec(of, "cat /api/token; echo; cat /v/a"); got != token+"\n"+content {
		f.t.Errorf("got %q, want %q and %q", got, token, content)
	}
}

// requireRetry fails if no reading of the volumes is due within a minute, and reads them as its timer does.
func (f *fixture) requireRetry(p *pod) {
	f.t.Helper()
	p.renewal.mu.Lock()
	isDue, in := p.renewal.timer != nil, p.renewal.at.Sub(p.renewal.clock())
	p.renewal.mu.Unlock()
	if !isDue || in > refreshRetryInterval {
		f.t.Errorf("a retry is due: %v, in %v", isDue, in)
	}
	f.active().renew(p)
}

// setClock sets the time by which the tokens of a Pod are renewed.
func (p *pod) setClock(after time.Duration) {
	p.renewal.mu.Lock()
	defer p.renewal.mu.Unlock()
	p.renewal.now = func() time.Time { return time.Now().Add(after) }
}

// A ConfigMap that cannot be read once arrives a minute later, and the token stays meanwhile.
func TestFailedRefreshIsRepeated(t *testing.T) {
	f, of, p, settings := newMountedFixture(t)
	var failures atomic.Int64
	f.client.PrependReactor("get", "configmaps", func(a clienttesting.Action) (bool, runtime.Object, error) {
		if a.(clienttesting.GetAction).GetName() != "m" || failures.Add(1) > 2 {
			return false, nil, nil
		}
		return true, nil, apierrors.NewInternalError(errors.New("twice"))
	})
	settings.Data["a"] = "2"
	if _, err := f.client.CoreV1().ConfigMaps("ns").Update(t.Context(), settings, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if event := <-f.events; !strings.HasPrefix(event, "FailedMount") {
			t.Errorf("got the event %q", event)
		}
		f.requireFiles(of, "token-1", "1")
		f.requireRetry(p)
	}
	f.requireFiles(of, "token-1", "2")
}

// A token that cannot be replaced is used until it expires, as by a kubelet.
func TestFailedRenewalIsRepeated(t *testing.T) {
	f, of, p, _ := newMountedFixture(t)
	var works atomic.Bool
	f.client.PrependReactor("create", "serviceaccounts", func(clienttesting.Action) (bool, runtime.Object, error) {
		if works.Load() {
			return true, newToken("token-2", 3*time.Hour), nil
		}
		return true, nil, apierrors.NewInternalError(errors.New("no tokens"))
	})
	p.setClock(50 * time.Minute) // it is due after 48
	f.active().renew(p)
	f.requireFiles(of, "token-1", "1")
	if len(f.events) > 0 {
		t.Errorf("got the event %q while the token is valid", <-f.events)
	}
	p.setClock(70 * time.Minute)
	f.requireRetry(p)
	if event := <-f.events; !strings.HasPrefix(event, "FailedMount") {
		t.Errorf("got the event %q", event)
	}
	works.Store(true)
	f.requireRetry(p)
	f.requireFiles(of, "token-2", "1")
}

// A Pod is removed while a command waits for its token.
func TestNoRenewalAfterRemoval(t *testing.T) {
	f := newFixture(t, rootCA)
	f.Stop()
	client := waitingTokens{f.client, make(chan struct{}), make(chan struct{})}
	f.startWith(client)
	pod := serviceAccountPod(3600, "cat", "/api/token")
	f.start(pod)
	<-client.asked
	p := f.podOf(pod)
	f.Remove(pod.UID)
	close(client.made)
	f.Stop() // waits for the command
	p.renewal.mu.Lock()
	defer p.renewal.mu.Unlock()
	if p.renewal.timer != nil {
		t.Errorf("a renewal is due at %v", p.renewal.at)
	}
}

func TestRenewalTime(t *testing.T) {
	for lifetime, want := range map[time.Duration]time.Duration{time.Hour: 48 * time.Minute, 100 * time.Hour: 24 * time.Hour} {
		made := newToken("token", lifetime)
		if got := lifetime - made.Status.ExpirationTimestamp.Sub(renewalTime(made)); got != want {
			t.Errorf("%v: renewed after %v, want %v", lifetime, got, want)
		}
	}
}

// The clock goes on while the machine sleeps, timers do not.
func TestRenewalFollowsTheClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asleep atomic.Int64
		r := &renewal{now: func() time.Time { return time.Now().Add(time.Duration(asleep.Load())) }}
		renewed := make(chan struct{}, 10)
		renew := func() { r.stop(); renewed <- struct{}{} }
		r.schedule(time.Now().Add(time.Hour), renew)
		time.Sleep(10 * time.Minute)
		asleep.Store(int64(2 * time.Hour))
		began := time.Now()
		<-renewed
		if took := time.Since(began); took > renewalCheckInterval {
			t.Errorf("renewed %v after the machine has slept, want at most %v", took, renewalCheckInterval)
		}
		r.schedule(r.now().Add(time.Hour), renew)
		r.schedule(r.now().Add(time.Minute/2), renew)
		r.schedule(r.now().Add(2*time.Hour), renew)
		began = time.Now()
		<-renewed
		if took := time.Since(began); took != time.Minute/2 {
			t.Errorf("renewed after %v, want the earliest", took)
		}
		r.schedule(r.now().Add(time.Minute), renew)
		r.stop()
		time.Sleep(3 * time.Hour)
		if len(renewed) > 0 {
			t.Error("renewed after it was stopped")
		}
	})
}
