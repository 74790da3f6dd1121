//go:build linux

package main

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/cookiejar"
	"os"
	"regexp"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// maxGrowth is how many bytes more memory changes may cost while readers do not read. If
// all of it were kept for each reader, it would be several times as much.
const maxGrowth = 250 << 20

// stuckReaders opens every stream and reads none of them, while objects of half a
// megabyte change. Writes must go on, and memory must not grow more than without readers:
// etcd keeps what was written last in memory.
func stuckReaders(r *round) error {
	c, err := r.up(r.join("data"), "--web")
	if err != nil {
		return err
	}
	if err := r.awaitControllers(c); err != nil {
		return err
	}
	without, err := r.growth(c)
	if err != nil {
		return err
	}
	if err := r.openStreams(c); err != nil {
		return err
	}
	with, err := r.growth(c)
	if err != nil {
		return err
	}
	if with > without+maxGrowth {
		return fmt.Errorf("it has grown by %d MB with readers that do not read, by %d MB without", with>>20, without>>20)
	}
	if _, err := r.verb(c.dir, "status"); err != nil {
		return err
	}
	return c.stop()
}

// growth returns by how much the memory grows with changes, once others have filled what
// has a limit.
func (r *round) growth(c *controlPlane) (int64, error) {
	const changes = 150
	if err := r.changeLarge(c, changes); err != nil {
		return 0, err
	}
	before, err := residentSize(c)
	if err != nil {
		return 0, err
	}
	if err := r.changeLarge(c, changes); err != nil {
		return 0, err
	}
	after, err := residentSize(c)
	r.logf("resident: %d MB before %d changes, %d MB after", before>>20, changes, after>>20)
	return after - before, err
}

// openStreams opens streams that are never read until the round ends.
func (r *round) openStreams(c *controlPlane) error {
	for range 5 {
		body, err := c.client.CoreV1().RESTClient().Get().AbsPath("/api/v1/namespaces/default/configmaps").Param("watch", "1").Stream(r.ctx)
		if err != nil {
			return fmt.Errorf("watch: %w", err)
		}
		r.cleanup = append(r.cleanup, body.Close)
	}
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "talks", Labels: map[string]string{ownLabel: "yes"}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "registry.invalid/talks"}}},
	}
	if _, err := c.client.CoreV1().Pods("default").Create(r.ctx, pod, metav1.CreateOptions{}); err != nil {
		return err
	}
	if err := r.await("log of a Pod", waitTimeout, func() error {
		body, err := c.client.CoreV1().Pods("default").GetLogs("talks", &corev1.PodLogOptions{Follow: true}).Stream(r.ctx)
		if err == nil {
			r.cleanup = append(r.cleanup, body.Close)
		}
		return err
	}); err != nil {
		return err
	}
	for _, args := range [][]string{
		{"top", "--ui", "json"}, {"top", "--ui", "plain"}, {"logs", "-f"}, {"kubectl", "get", "configmaps", "-w", "-o", "yaml"},
		{"kubectl", "exec", "talks", "--", "sh", "-c", "while true; do echo talks; done"},
	} {
		if err := r.stuckVerb(c, args...); err != nil {
			return err
		}
	}
	return r.openPage(c)
}

// pageLink matches the link of the page that up prints.
var pageLink = regexp.MustCompile(`(http://[^#\s]+/)#(\S+)`)

// openPage opens the streams of the page for a projector.
func (r *round) openPage(c *controlPlane) error {
	link := pageLink.FindStringSubmatch(c.output.String())
	if link == nil {
		return errors.New("up --web has printed no link")
	}
	jar, err := cookiejar.New(nil)
	if err != nil {
		return err
	}
	page := &http.Client{Jar: jar}
	if err := r.request(page, http.MethodPost, link[1]+"api/session", fmt.Sprintf(`{"token":%q}`, link[2])); err != nil {
		return err
	}
	for range 3 {
		if err := r.request(page, http.MethodGet, link[1]+"api/stream", ""); err != nil {
			return err
		}
	}
	return nil
}

// request makes a request whose answer is not read.
func (r *round) request(client *http.Client, method, url, body string) error {
	req, err := http.NewRequestWithContext(r.ctx, method, url, strings.NewReader(body))
	if err != nil {
		return err
	}
	response, err := client.Do(req) //nolint:bodyclose // a stuck reader: closed by cleanup
	if err != nil {
		return err
	}
	r.cleanup = append(r.cleanup, response.Body.Close)
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s %s: %s", method, url, response.Status)
	}
	return nil
}

// stuckVerb starts a verb whose output is a pipe without a reader.
func (r *round) stuckVerb(c *controlPlane, args ...string) error {
	reader, writer, err := os.Pipe()
	if err != nil {
		return err
	}
	r.cleanup = append(r.cleanup, reader.Close)
	cmd := r.command(r.ctrlplane, append([]string{"--data-dir", c.dir}, args...)...)
	cmd.Stdout = writer
	_, err = r.start(cmd, "")
	if closeErr := writer.Close(); err == nil {
		err = closeErr
	}
	return err
}

// changeLarge changes an object of half a megabyte n times.
func (r *round) changeLarge(c *controlPlane, n int) error {
	noise := make([]byte, 400<<10)
	source := rand.NewChaCha8([32]byte{})
	cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{GenerateName: "large-", Labels: map[string]string{ownLabel: "yes"}}, BinaryData: map[string][]byte{"noise": noise}}
	cm, err := configMaps(c.client).Create(r.ctx, cm, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	cm.BinaryData, cm.ResourceVersion = map[string][]byte{"noise": noise}, ""
	for range n {
		if _, err := io.ReadFull(source, noise); err != nil {
			return err
		}
		began := time.Now()
		if _, err := configMaps(c.client).Update(r.ctx, cm, metav1.UpdateOptions{}); err != nil {
			return err
		}
		if took := time.Since(began); took > 10*time.Second {
			return fmt.Errorf("a write took %v while readers do not read", took)
		}
	}
	return nil
}

// residentSize returns the resident memory of a control plane in bytes.
func residentSize(c *controlPlane) (int64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", c.Process.Pid))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(text)) {
		if value, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			kb, err := strconv.ParseInt(strings.Fields(value)[0], 10, 64)
			return kb << 10, err
		}
	}
	return 0, fmt.Errorf("process %d has no VmRSS", c.Process.Pid)
}
