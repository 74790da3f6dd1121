package web

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/cookiejar"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ctrlplane/ctrlplane/control"
	"github.com/ctrlplane/ctrlplane/internal/testutil"
	"github.com/ctrlplane/ctrlplane/observe"
)

// fakeSource has records that a test adds.
type fakeSource struct {
	mu        sync.Mutex
	records   []observe.Record
	snapshots int
	err       error
}

func (f *fakeSource) Snapshot(context.Context) (observe.Snapshot, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.snapshots++
	return observe.Snapshot{
		Process:     observe.Process{Name: "test", State: observe.Ready, Settled: true},
		Controllers: []observe.Controller{{Name: "deployment-controller", State: "running"}},
		Journal:     observe.JournalStats{Last: uint64(len(f.records))},
	}, f.err
}

func (f *fakeSource) Records(_ context.Context, q observe.Query) (observe.Page, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	page := observe.Page{Next: max(q.After, uint64(len(f.records)))}
	for _, r := range f.records {
		if r.Seq > q.After && q.Match(&r) {
			page.Records = append(page.Records, r)
		}
	}
	return page, f.err
}

func (f *fakeSource) add(events ...observe.Event) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, e := range events {
		f.records = append(f.records, observe.Record{Seq: uint64(len(f.records) + 1), Time: time.Now(), Event: e})
	}
}

// fakeInterventions notes what was paused.
type fakeInterventions struct {
	control.Interventions
	mu     sync.Mutex
	paused []string
}

func (f *fakeInterventions) Change(_ context.Context, names []string, c control.Change) ([]string, error) {
	if c.Verb != control.Pause {
		return nil, errors.New("not expected: " + c.Verb)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.paused = append(f.paused, names...)
	return names, nil
}

func (f *fakeInterventions) pausedNames() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]string{}, f.paused...)
}

func startServer(t *testing.T, o Options) *Server {
	t.Helper()
	if o.Source == nil {
		o.Source = &fakeSource{}
	}
	if o.Interventions == nil {
		o.Interventions = &fakeInterventions{}
	}
	s, err := Start(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// visitor is a browser: it keeps cookies.
type visitor struct {
	t      *testing.T
	base   string
	client *http.Client
	key    string // of its session
}

func newVisitor(t *testing.T, s *Server) *visitor {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	// The certificate of a test is compared by its fingerprint where that is the subject.
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}
	t.Cleanup(transport.CloseIdleConnections)
	return &visitor{t: t, base: s.url, client: &http.Client{Jar: jar, Transport: transport, Timeout: 20 * time.Second}}
}

// do sends a request and returns the status and the body.
func (v *visitor) do(method, path, body string, change func(*http.Request)) (int, string) {
	v.t.Helper()
	req, err := http.NewRequestWithContext(v.t.Context(), method, strings.TrimSuffix(v.base, "/")+path, strings.NewReader(body))
	if err != nil {
		v.t.Fatal(err)
	}
	if v.key != "" {
		req.Header.Set(keyHeader, v.key)
	}
	if change != nil {
		change(req)
	}
	response, err := v.client.Do(req)
	if err != nil {
		v.t.Fatal(err)
	}
	defer response.Body.Close()
	data, err := io.ReadAll(response.Body)
	if err != nil {
		v.t.Fatal(err)
	}
	return response.StatusCode, string(data)
}

func (v *visitor) expect(want int, method, path, body string, change func(*http.Request)) string {
	v.t.Helper()
	got, text := v.do(method, path, body, change)
	if got != want {
		v.t.Errorf("%s %s: status %d, want %d: %s", method, path, got, want, text)
	}
	return text
}

// open opens a link: it exchanges its token.
func (v *visitor) open(link string) int {
	v.t.Helper()
	_, token, _ := strings.Cut(link, "#")
	body, err := json.Marshal(map[string]string{"token": token})
	if err != nil {
		v.t.Fatal(err)
	}
	status, text := v.do(http.MethodPost, "/api/session", string(body), nil)
	var answer struct{ Key string }
	testutil.DecodeJSON(v.t, text, &answer)
	v.key = answer.Key
	return status
}

const pauseBody = `{"names":["deployment-controller"]}`

// stream is an open stream of a page.
type stream struct {
	t    *testing.T
	body io.ReadCloser
	scan *bufio.Scanner
}

func (v *visitor) stream() *stream {
	v.t.Helper()
	req, err := http.NewRequestWithContext(v.t.Context(), http.MethodGet, v.base+"api/stream", nil)
	if err != nil {
		v.t.Fatal(err)
	}
	client := *v.client
	client.Timeout = 0
	response, err := client.Do(req)
	if err != nil {
		v.t.Fatal(err)
	}
	if response.StatusCode != http.StatusOK {
		v.t.Fatalf("stream: status %d", response.StatusCode)
	}
	s := &stream{v.t, response.Body, bufio.NewScanner(response.Body)}
	s.scan.Buffer(nil, 1<<20)
	v.t.Cleanup(func() { s.body.Close() })
	return s
}

// next returns the next line of data that contains text.
func (s *stream) next(text string) string {
	s.t.Helper()
	for s.scan.Scan() {
		if line, ok := strings.CutPrefix(s.scan.Text(), "data: "); ok && strings.Contains(line, text) {
			return line
		}
	}
	s.t.Fatalf("the stream ended before %q: %v", text, s.scan.Err())
	return ""
}

// nextEvent reads up to the next event of a type.
func (s *stream) nextEvent(name string) {
	s.t.Helper()
	for s.scan.Scan() {
		if s.scan.Text() == "event: "+name {
			return
		}
	}
	s.t.Fatalf("the stream ended before the event %q: %v", name, s.scan.Err())
}
