//go:build !windows

package command_test

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/cookiejar"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ctrlplane/ctrlplane/internal/testutil"
	"github.com/ctrlplane/ctrlplane/internal/testutil/program"
)

// page is a page that a command serves.
type page struct {
	t      *testing.T
	url    string
	client *http.Client
	key    string // of its session
}

// openPage reads the next link that a command prints, and opens it.
func openPage(t *testing.T, out *bufio.Scanner) *page {
	t.Helper()
	var link string
	for out.Scan() {
		if link = strings.TrimSpace(out.Text()); strings.HasPrefix(link, "http") {
			break
		}
	}
	url, token, found := strings.Cut(link, "#")
	if !found {
		t.Fatalf("no link was printed, but %q", link)
	}
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	p := &page{t: t, url: url, client: &http.Client{Jar: jar, Timeout: program.Timeout}}
	var session struct{ Key string }
	testutil.DecodeJSON(t, p.do(http.StatusOK, http.MethodPost, "api/session", `{"token":"`+token+`"}`), &session)
	p.key = session.Key
	return p
}

func (p *page) do(want int, method, path, body string) string {
	p.t.Helper()
	req, err := http.NewRequestWithContext(p.t.Context(), method, p.url+path, strings.NewReader(body))
	if err != nil {
		p.t.Fatal(err)
	}
	req.Header.Set("Ctrlplane-Page-Key", p.key)
	response, err := p.client.Do(req)
	if err != nil {
		p.t.Fatal(err)
	}
	defer response.Body.Close()
	data, err := io.ReadAll(response.Body)
	if err != nil {
		p.t.Fatal(err)
	}
	if response.StatusCode != want {
		p.t.Errorf("%s %s: status %d, want %d: %s", method, path, response.StatusCode, want, data)
	}
	return string(data)
}

// stream is an open stream of a page.
type stream struct {
	*bufio.Scanner
	cancel context.CancelFunc
}

// openStream opens the stream of the page. It ends with the test.
func (p *page) openStream() *stream {
	p.t.Helper()
	ctx, cancel := context.WithCancel(p.t.Context())
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, p.url+"api/stream", nil)
	if err != nil {
		p.t.Fatal(err)
	}
	client := &http.Client{Jar: p.client.Jar} // a Timeout would count until the end of the stream
	limit := time.AfterFunc(program.Timeout, cancel)
	response, err := client.Do(req)
	limit.Stop()
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { response.Body.Close() })
	lines := bufio.NewScanner(response.Body)
	lines.Buffer(nil, 4<<20)
	return &stream{lines, cancel}
}

// awaitLine reads until a line has all the texts.
func awaitLine(t *testing.T, lines *stream, texts ...string) {
	t.Helper()
	defer time.AfterFunc(program.Timeout, lines.cancel).Stop()
	for lines.Scan() {
		missing := false
		for _, text := range texts {
			missing = missing || !strings.Contains(lines.Text(), text)
		}
		if !missing {
			return
		}
	}
	t.Fatalf("the stream ended before %q: %v", texts, lines.Err())
}

// TestWebPage opens the pages of "up --web" and "top --web" for the same control plane. Both print events, too.
func TestWebPage(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	up := program.Command(t, "up", "--ui", "plain", "--web", "--data-dir", dir, "--nodes", "1")
	upOut, err := up.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	plane := program.Start(t, up, dir)
	ours := openPage(t, bufio.NewScanner(upOut))

	top := program.Command(t, "--data-dir", dir, "top", "--web", "--ui", "plain")
	topOut, err := top.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := top.Start(); err != nil {
		t.Fatal(err)
	}
	links := bufio.NewScanner(topOut)
	theirs := openPage(t, links)
	second := openPage(t, links) // each use of a link prints another one

	lines := theirs.openStream()
	awaitLine(t, lines, `"controllers":[`, `"deployment-controller"`)
	ours.do(http.StatusOK, http.MethodPost, "ctrlplane/v1/controllers/pause", `{"names":["replicaset"]}`)
	awaitLine(t, lines, `"kind":"controllerChanged"`, `"replicaset-controller"`, `"paused"`)
	awaitLine(t, &stream{links, func() { _ = top.Process.Kill() }}, "replicaset", "paused")
	name := program.CreateWeb(t, dir, 1)
	awaitLine(t, lines, `"kind":"called"`, `"create"`, `"replicasets"`, name)
	var held struct{ Total int }
	plane.Await(t, "holding a write", func() bool {
		text := second.do(http.StatusOK, http.MethodGet, "ctrlplane/v1/controllers/held?name=replicaset-controller", "")
		return json.Unmarshal([]byte(text), &held) == nil && held.Total > 0
	})
	second.do(http.StatusOK, http.MethodPut, "ctrlplane/v1/speed", `{"speed":"1/2"}`)
	awaitLine(t, lines, `"speed":"1/2"`)
	second.do(http.StatusOK, http.MethodPost, "ctrlplane/v1/controllers/resume", `{"names":["replicaset"]}`)
	awaitLine(t, lines, `"kind":"called"`, `"create"`, `"pods"`, name)
	about := "?group=apps&resource=deployments&kind=Deployment&namespace=default&name=" + name
	plane.Await(t, "traced to its Pods", func() bool {
		return strings.Contains(second.do(http.StatusOK, http.MethodGet, "api/trace"+about, ""), `"replicaset-controller"`)
	})
	if text := second.do(http.StatusOK, http.MethodGet, "api/object"+about, ""); !strings.Contains(text, "kind: Deployment") {
		t.Errorf("object: %s", text)
	}
	if text := second.do(http.StatusOK, http.MethodGet, "api/explain?name=replicaset-controller", ""); !strings.Contains(text, "concurrent-replicaset-syncs") {
		t.Errorf("explain: %s", text)
	}

	// The page of top outlives the control plane, that of up does not.
	plane.Stop(t, syscall.SIGINT)
	awaitLine(t, lines, `"kind":"disconnected"`)
	program.Signal(t, top, syscall.SIGINT)
	if err := top.Wait(); err != nil {
		t.Errorf("top: %v", err)
	}
}
