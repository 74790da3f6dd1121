package web

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ctrlplane/ctrlplane/control"
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

func (f *fakeInterventions) Pause(_ context.Context, names []string) ([]string, error) {
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
	if err := json.Unmarshal([]byte(text), &answer); err != nil {
		v.t.Fatal(err)
	}
	v.key = answer.Key
	return status
}

const pauseBody = `{"names":["deployment-controller"]}`

func TestLinkOpensOnce(t *testing.T) {
	s := startServer(t, Options{})
	link := s.OnceLink()
	v := newVisitor(t, s)
	v.expect(http.StatusUnauthorized, "GET", "/api/session", "", nil)
	v.expect(http.StatusUnauthorized, "GET", "/api/stream", "", nil)
	v.expect(http.StatusUnauthorized, "POST", "/ctrlplane/v1/controllers/pause", pauseBody, nil)
	if got := v.open(link); got != http.StatusOK {
		t.Fatalf("the first use of a link: status %d", got)
	}
	v.expect(http.StatusOK, "GET", "/api/session", "", nil)
	if got := newVisitor(t, s).open(link); got != http.StatusUnauthorized {
		t.Errorf("the second use of a link: status %d", got)
	}
	for _, bad := range []string{"", "x", strings.Repeat("A", 26)} {
		if got := newVisitor(t, s).open("#" + bad); got != http.StatusUnauthorized {
			t.Errorf("token %q: status %d", bad, got)
		}
	}
	v.expect(http.StatusBadRequest, "POST", "/api/session", `{"token":`, nil)
}

func TestCookieIsRestricted(t *testing.T) {
	for _, public := range []bool{false, true} {
		s := startServer(t, Options{Listen: Listen{Public: public, Address: map[bool]string{true: "127.0.0.1:0"}[public]}})
		v := newVisitor(t, s)
		if got := v.open(s.OnceLink()); got != http.StatusOK {
			t.Fatalf("status %d", got)
		}
		_, token, _ := strings.Cut(s.OnceLink(), "#")
		response, err := v.client.Post(s.url+"api/session", "application/json", strings.NewReader(`{"token":"`+token+`"}`))
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		cookies := response.Cookies()
		if len(cookies) != 1 {
			t.Fatalf("cookies: %v", cookies)
		}
		c := cookies[0]
		if !c.HttpOnly || c.SameSite != http.SameSiteStrictMode || c.Secure != public || c.Domain != "" || !c.Expires.IsZero() {
			t.Errorf("cookie: %+v", c)
		}
		if u, err := url.Parse(s.url); err != nil || !strings.HasSuffix(c.Name, "-"+u.Port()) {
			t.Errorf("cookie %q does not name the port of %s", c.Name, s.url)
		}
	}
}

func TestClassLink(t *testing.T) {
	hands := &fakeInterventions{}
	s := startServer(t, Options{Interventions: hands})
	link := s.ClassLink()
	for range 3 {
		v := newVisitor(t, s)
		if got := v.open(link); got != http.StatusOK {
			t.Fatalf("status %d", got)
		}
		if text := v.expect(http.StatusOK, "GET", "/api/session", "", nil); !strings.Contains(text, `"readOnly":true`) {
			t.Errorf("session of a viewer: %s", text)
		}
		v.expect(http.StatusForbidden, "POST", "/ctrlplane/v1/controllers/pause", pauseBody, nil)
		v.expect(http.StatusForbidden, "PUT", "/ctrlplane/v1/controllers/pause", pauseBody, nil)
	}
	teacher := newVisitor(t, s)
	teacher.open(s.OnceLink())
	teacher.expect(http.StatusOK, "POST", "/ctrlplane/v1/controllers/pause", pauseBody, nil)
	if got := hands.pausedNames(); len(got) != 1 {
		t.Errorf("paused: %q, want only what the operator has paused", got)
	}
}

func TestReadOnlyRefusesOperators(t *testing.T) {
	hands := &fakeInterventions{}
	s := startServer(t, Options{Interventions: hands, ReadOnly: true})
	v := newVisitor(t, s)
	v.open(s.OnceLink())
	for _, who := range []string{"controllers", "clients"} {
		for _, verb := range []string{"pause", "resume", "step", "delay", "fail", "clear", "stop", "start", "scale"} {
			v.expect(http.StatusForbidden, "POST", "/ctrlplane/v1/"+who+"/"+verb, pauseBody, nil)
		}
	}
	if got := hands.pausedNames(); len(got) > 0 {
		t.Errorf("paused: %q", got)
	}
}

func TestHostIsChecked(t *testing.T) {
	s := startServer(t, Options{})
	_, port, err := net.SplitHostPort(strings.TrimSuffix(strings.TrimPrefix(s.url, "http://"), "/"))
	if err != nil {
		t.Fatal(err)
	}
	v := newVisitor(t, s)
	for host, want := range map[string]int{
		"127.0.0.1:" + port: http.StatusOK, "localhost:" + port: http.StatusOK, "LOCALHOST:" + port: http.StatusOK,
		"evil.example:" + port: http.StatusMisdirectedRequest, "127.0.0.1": http.StatusMisdirectedRequest, "127.0.0.1:1": http.StatusMisdirectedRequest,
		"192.0.2.1:" + port: http.StatusMisdirectedRequest, "localhost.evil.example:" + port: http.StatusMisdirectedRequest, "x": http.StatusMisdirectedRequest,
	} {
		v.expect(want, "GET", "/", "", func(req *http.Request) { req.Host = host })
		if want != http.StatusOK {
			_, token, _ := strings.Cut(s.OnceLink(), "#")
			v.expect(want, "POST", "/api/session", `{"token":"`+token+`"}`, func(req *http.Request) { req.Host = host })
		}
	}
}

func TestOtherSitesAreRefused(t *testing.T) {
	hands := &fakeInterventions{}
	s := startServer(t, Options{Interventions: hands})
	v := newVisitor(t, s)
	v.open(s.OnceLink())
	for _, headers := range []map[string]string{
		{"Origin": "http://evil.example"},
		{"Origin": "http://127.0.0.1:1"}, // another port is the same site, so its requests have the cookie
		{"Origin": "null"},
		{"Sec-Fetch-Site": "cross-site"}, {"Sec-Fetch-Site": "same-site"}, {"Sec-Fetch-Site": "none"},
	} {
		set := func(req *http.Request) {
			for name, value := range headers {
				req.Header.Set(name, value)
			}
		}
		if headers["Sec-Fetch-Site"] != "none" { // "none" is the user's own action
			v.expect(http.StatusForbidden, "POST", "/ctrlplane/v1/controllers/pause", pauseBody, set)
		}
		if headers["Origin"] == "" {
			v.expect(http.StatusForbidden, "GET", "/api/session", "", set)
			v.expect(http.StatusForbidden, "GET", "/api/stream", "", set)
		}
	}
	if got := hands.pausedNames(); len(got) > 0 {
		t.Errorf("paused: %q", got)
	}
	own := strings.TrimSuffix(s.url, "/")
	v.expect(http.StatusOK, "POST", "/ctrlplane/v1/controllers/pause", pauseBody, func(req *http.Request) {
		req.Header.Set("Origin", own)
		req.Header.Set("Sec-Fetch-Site", "same-origin")
	})
}

func TestHeadersOfEveryAnswer(t *testing.T) {
	s := startServer(t, Options{})
	for _, path := range []string{"/", "/js/main.js", "/api/session", "/nothing"} {
		response, err := http.Get(strings.TrimSuffix(s.url, "/") + path)
		if err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
		for name, want := range securityHeaders {
			if got := response.Header.Get(name); got != want && (path != "/nothing" || name != "Cache-Control") { // an error is not kept either
				t.Errorf("%s: header %s is %q, want %q", path, name, got, want)
			}
		}
	}
	policy := securityHeaders["Content-Security-Policy"]
	for _, bad := range []string{"unsafe-inline", "unsafe-eval", "http:", "https:", "*"} {
		if strings.Contains(policy, bad) {
			t.Errorf("the policy allows %s: %s", bad, policy)
		}
	}
}

func TestAddressRules(t *testing.T) {
	for _, tt := range []struct {
		listen  Listen
		want    string
		problem string // part of the error
	}{
		{Listen{}, "127.0.0.1:0", ""},
		{Listen{Address: "127.0.0.1:8080"}, "127.0.0.1:8080", ""},
		{Listen{Address: "[::1]:0"}, "[::1]:0", ""},
		{Listen{Address: "localhost:0"}, "localhost:0", ""},
		{Listen{Public: true}, "0.0.0.0:0", ""},
		{Listen{Address: "192.0.2.1:443", Public: true}, "192.0.2.1:443", ""},
		{Listen{Address: ":8443", Public: true}, ":8443", ""},
		{Listen{Address: "0.0.0.0:8080"}, "", "--web-public"},
		{Listen{Address: ":8080"}, "", "--web-public"},
		{Listen{Address: "192.0.2.1:8080"}, "", "--web-public"},
		{Listen{Address: "[::]:8080"}, "", "--web-public"},
		{Listen{Address: "example.com:8080"}, "", "not an IP address"},
		{Listen{Address: "8080"}, "", "use HOST:PORT"},
		{Listen{CertFile: "x", Public: true}, "", "need each other"},
		{Listen{CertFile: "x", KeyFile: "y"}, "", "--web-public"},
	} {
		got, err := tt.listen.resolve()
		if tt.problem == "" && (err != nil || got != tt.want) {
			t.Errorf("%+v: %q, %v, want %q", tt.listen, got, err, tt.want)
		}
		if tt.problem != "" && (err == nil || !strings.Contains(err.Error(), tt.problem)) {
			t.Errorf("%+v: error %v, want one with %q", tt.listen, err, tt.problem)
		}
	}
}

func TestPublicServerUsesTLS(t *testing.T) {
	s := startServer(t, Options{Listen: Listen{Public: true}})
	if !strings.HasPrefix(s.url, "https://") {
		t.Fatalf("link: %s", s.url)
	}
	u, err := url.Parse(s.url)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := tls.Dial("tcp", u.Host, &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS12})
	if err != nil {
		t.Fatal(err)
	}
	cert := conn.ConnectionState().PeerCertificates[0]
	conn.Close()
	if err := cert.VerifyHostname(u.Hostname()); err != nil {
		t.Errorf("the certificate is not for the host of the link: %v", err)
	}
	if got := s.Fingerprint(); got != fingerprint(cert) || len(got) != 3*sha256.Size-1 {
		t.Errorf("fingerprint %q, that of the certificate is %q", got, fingerprint(cert))
	}
	plain, err := http.Get("http://" + u.Host + "/")
	if err != nil {
		t.Fatal(err)
	}
	plain.Body.Close()
	if plain.StatusCode != http.StatusBadRequest {
		t.Errorf("without TLS: status %d", plain.StatusCode)
	}
	v := newVisitor(t, s)
	v.open(s.OnceLink())
	v.expect(http.StatusOK, "GET", "/api/session", "", nil)
	_, port, _ := net.SplitHostPort(u.Host)
	v.expect(http.StatusMisdirectedRequest, "GET", "/", "", func(req *http.Request) { req.Host = "evil.example:" + port })
}

func TestSessionsAreBounded(t *testing.T) {
	s := newSessions()
	var clock time.Time
	s.now = func() time.Time { clock = clock.Add(time.Second); return clock }
	operator, err := s.exchange(s.newOnceToken())
	if err != nil {
		t.Fatal(err)
	}
	class := s.newClassToken()
	first, err := s.exchange(class)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 * maxSessions {
		if _, err := s.exchange(class); err != nil {
			t.Fatal(err)
		}
	}
	if len(s.cookies) > maxSessions {
		t.Errorf("%d sessions", len(s.cookies))
	}
	if s.check(first.cookie, first.key).access != 0 {
		t.Error("the oldest session of a viewer still exists")
	}
	if s.check(operator.cookie, operator.key).access != Operator {
		t.Error("viewers have ended the session of an operator")
	}
	for range 2 * maxTokens {
		s.newOnceToken()
	}
	if len(s.once) > maxTokens {
		t.Errorf("%d tokens", len(s.once))
	}
}

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

// TestStreamSaysWhatIsHistory has records from before a page, also from before a second one.
func TestStreamSaysWhatIsHistory(t *testing.T) {
	src := &fakeSource{}
	message := func(text string) { src.add(&observe.Logged{Controller: "c", Level: 8, Message: text}) }
	message("before")
	s := startServer(t, Options{Source: src})
	open := func() *stream {
		v := newVisitor(t, s)
		v.open(s.OnceLink())
		return v.stream()
	}
	first := open()
	first.next("before")
	first.nextEvent("live")
	message("between")
	first.next("between")
	second := open()
	second.next("before")
	second.next("between")
	second.nextEvent("live")
}

func TestStreamHasTheLinesOfTop(t *testing.T) {
	src := &fakeSource{}
	hostile := "<img src=x onerror=alert(1)>\n\ndata: {}"
	src.add(&observe.Called{Controller: "kubectl", Verb: "create", Object: observe.Object{Resource: "pods", Name: "before"}, Status: 201})
	s := startServer(t, Options{Source: src})
	v := newVisitor(t, s)
	v.open(s.OnceLink())
	st := v.stream()
	if line := st.next(`"kind":"called"`); !strings.Contains(line, "before") {
		t.Errorf("the first record is not the one before the page was opened: %s", line)
	}
	st.next(`"kind":"snapshot"`)
	src.add(&observe.Logged{Controller: "deployment-controller", Level: 8, Message: hostile})
	var got observe.Record
	if err := json.Unmarshal([]byte(st.next(`"kind":"logged"`)), &got); err != nil {
		t.Fatal(err)
	}
	if e := got.Event.(*observe.Logged); e.Message != hostile {
		t.Errorf("message %q, want %q", e.Message, hostile)
	}
}

func TestSourceIsPolledForAllPagesAndNotForNone(t *testing.T) {
	src := &fakeSource{}
	s := startServer(t, Options{Source: src})
	v := newVisitor(t, s)
	v.open(s.OnceLink())
	src.mu.Lock()
	before := src.snapshots
	src.mu.Unlock()
	if before != 0 {
		t.Errorf("%d snapshots before a page was opened", before)
	}
	var all []*stream
	for range 20 {
		st := v.stream()
		st.next("controllers")
		all = append(all, st)
	}
	src.mu.Lock()
	during := src.snapshots
	src.mu.Unlock()
	if during > 10 {
		t.Errorf("%d snapshots for 20 pages in a moment", during)
	}
	for _, st := range all {
		st.body.Close()
	}
	await(t, "the end of Follow", func() bool {
		s.hub.mu.Lock()
		defer s.hub.mu.Unlock()
		return s.hub.pages == 0 && s.hub.stop == nil
	})
}

func await(t *testing.T, what string, done func() bool) {
	t.Helper()
	deadline := time.After(10 * time.Second)
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for !done() {
		select {
		case <-deadline:
			t.Fatalf("%s did not come", what)
		case <-tick.C:
		}
	}
}

func TestSlowPageMissesLinesAndIsToldSo(t *testing.T) {
	h := newHub(&fakeSource{}, nil)
	var slow position
	h.read(&slow)
	line := []byte(`{"kind":"logged","message":"` + strings.Repeat("x", 1000) + `"}` + "\n")
	written := 0
	for size := 0; size < 3*keptBytes; size += 10 * len(line) {
		if _, err := h.Write(bytes.Repeat(line, 10)); err != nil {
			t.Fatal(err)
		}
		written += 10
	}
	if h.size > keptBytes {
		t.Errorf("%d bytes are kept", h.size)
	}
	read, missed := 0, uint64(0)
	for {
		u, changed := h.read(&slow)
		missed += u.missed
		for _, l := range u.lines {
			read += bytes.Count(l, []byte("\n")) + 1
		}
		if changed != closedChannel {
			break
		}
	}
	if missed == 0 || uint64(read)+missed != uint64(written) {
		t.Errorf("%d lines read and %d missed, want %d in all", read, missed, written)
	}
	var fresh position
	u, _ := h.read(&fresh)
	size := 0
	for _, l := range u.lines {
		size += len(l)
	}
	if u.missed != 0 || size == 0 || size > newPageBytes+chunkBytes {
		t.Errorf("a new page receives %d bytes, and %d lines as missed", size, u.missed)
	}
}

// TestPageThatReadsNothing opens a stream, reads nothing of it while much is written, and
// closes the server, which has to end at once.
func TestPageThatReadsNothing(t *testing.T) {
	src := &fakeSource{}
	s, err := Start(Options{Source: src})
	if err != nil {
		t.Fatal(err)
	}
	s.writeTimeout = 24 * time.Hour // Close does not wait for it
	v := newVisitor(t, s)
	v.open(s.OnceLink())
	stuck, quick := v.stream(), v.stream()
	quick.next("controllers")
	big := strings.Repeat("x", 100<<10)
	for i := range 200 { // 20 MB: more than the buffers of a connection
		src.add(&observe.Logged{Controller: "c", Level: 8, Message: fmt.Sprint(i, " ", big)})
	}
	src.add(&observe.Logged{Controller: "c", Level: 8, Message: "last"})
	quick.next(`"last"`)
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	stuck.body.Close()
}

func TestPagesAreBounded(t *testing.T) {
	s := startServer(t, Options{})
	v := newVisitor(t, s)
	v.open(s.OnceLink())
	for range maxStreams {
		s.streams <- struct{}{}
	}
	text := v.expect(http.StatusServiceUnavailable, "GET", "/api/stream", "", nil)
	if !strings.Contains(text, "too many pages") {
		t.Errorf("answer: %s", text)
	}
	<-s.streams
	v.stream().next("controllers")
}

func TestObjectsAndCauses(t *testing.T) {
	src := &fakeSource{}
	pod := observe.Object{Resource: "pods", Kind: "Pod", Namespace: "default", Name: "web-1"}
	src.add(&observe.Called{Controller: "kubectl (admin)", Verb: "create", Object: pod, Status: 201, ResourceVersion: "5", Client: &observe.Caller{User: "admin"}})
	s := startServer(t, Options{Source: src})
	v := newVisitor(t, s)
	v.open(s.ClassLink())
	const about = "?resource=pods&namespace=default&name=web-1"
	if text := v.expect(http.StatusOK, "GET", "/api/why"+about, "", nil); !strings.Contains(text, `"what":"created"`) {
		t.Errorf("why: %s", text)
	}
	if text := v.expect(http.StatusOK, "GET", "/api/trace"+about, "", nil); !strings.Contains(text, "kubectl (admin)") {
		t.Errorf("trace: %s", text)
	}
	v.expect(http.StatusNotFound, "GET", "/api/trace?resource=pods&namespace=default&name=unknown", "", nil)
	v.expect(http.StatusBadRequest, "GET", "/api/trace?resource=pods", "", nil)
	v.expect(http.StatusBadRequest, "GET", "/api/object"+about, "", nil) // this source has no objects
	v.expect(http.StatusOK, "GET", "/api/explain?name=deployment-controller", "", nil)
	v.expect(http.StatusNotFound, "GET", "/api/explain?name=../../etc/passwd", "", nil)
	src.mu.Lock()
	src.err = errors.New("connection refused")
	src.mu.Unlock()
	v.expect(http.StatusBadGateway, "GET", "/api/why"+about, "", nil)
}

func TestVendoredFileIsThatOfItsRelease(t *testing.T) {
	read := func(name string) []byte {
		data, err := assets.ReadFile("assets/vendor/" + name)
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	if sum := fmt.Sprintf("%x", sha256.Sum256(read("dagre.esm.js"))); !bytes.Contains(read("README.md"), []byte(sum)) {
		t.Errorf("assets/vendor/README.md does not have the digest %s of dagre.esm.js", sum)
	}
}

// TestPageHasNoInlineCode checks that the page needs nothing that its policy forbids.
func TestPageHasNoInlineCode(t *testing.T) {
	data, err := assets.ReadFile("assets/index.html")
	if err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{"<script>", "<style", " style=", " onclick", "http://", "https://", "javascript:"} {
		if bytes.Contains(data, []byte(bad)) {
			t.Errorf("index.html has %q", bad)
		}
	}
	entries, err := assets.ReadDir("assets/js")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		script, err := assets.ReadFile("assets/js/" + e.Name())
		if err != nil {
			t.Fatal(err)
		}
		for _, bad := range []string{"innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function", "DOMParser", "srcdoc"} {
			if bytes.Contains(script, []byte(bad)) {
				t.Errorf("%s has %q", e.Name(), bad)
			}
		}
	}
}

func TestFocusIsSentToThePage(t *testing.T) {
	s := startServer(t, Options{Focus: []string{"job-controller"}})
	v := newVisitor(t, s)
	v.open(s.OnceLink())
	if text := v.expect(http.StatusOK, "GET", "/api/session", "", nil); !strings.Contains(text, `"focus":["job-controller"]`) {
		t.Errorf("session: %s", text)
	}
}

// A browser sends the cookie of the page to the servers on all ports of 127.0.0.1. What one
// of them does with it changes nothing: that needs the key, which only the page has.
func TestCookieAloneChangesNothing(t *testing.T) {
	s := startServer(t, Options{})
	v := newVisitor(t, s)
	v.open(s.OnceLink())
	v.expect(http.StatusOK, "POST", "/ctrlplane/v1/controllers/pause", pauseBody, nil)
	for name, key := range map[string]string{"no key": "", "another key": "wrong"} {
		set := func(req *http.Request) {
			req.Header.Del(keyHeader)
			if key != "" {
				req.Header.Set(keyHeader, key)
			}
		}
		v.expect(http.StatusForbidden, "POST", "/ctrlplane/v1/controllers/resume", pauseBody, set)
		if text := v.expect(http.StatusOK, "GET", "/api/session", "", set); !strings.Contains(text, `"readOnly":true`) {
			t.Errorf("%s: session: %s", name, text)
		}
	}
	other := newVisitor(t, s)
	other.open(s.OnceLink())
	other.key = v.key // of another session
	other.expect(http.StatusForbidden, "POST", "/ctrlplane/v1/controllers/resume", pauseBody, nil)
}

// One viewer cannot use all streams and traces, neither with one session nor with many.
func TestViewersAreBounded(t *testing.T) {
	l := newLimits()
	for _, tc := range []struct {
		name    string
		keys    func(i int) []limit
		granted int
	}{
		{"one session", func(int) []limit { return viewerLimits("session", "192.0.2.1:1", maxSessionStreams, maxAddressStreams) }, maxSessionStreams},
		{"many sessions", func(i int) []limit {
			return viewerLimits(fmt.Sprint("s", i), fmt.Sprintf("192.0.2.2:%d", i), maxSessionStreams, maxAddressStreams)
		}, maxAddressStreams},
		{"on this machine", func(i int) []limit {
			return viewerLimits(fmt.Sprint("l", i), fmt.Sprintf("127.0.0.1:%d", i), maxSessionStreams, maxAddressStreams)
		}, maxStreams},
	} {
		granted := 0
		var releases []func()
		for i := range maxStreams {
			if release, ok := l.take(tc.keys(i)...); ok {
				granted++
				releases = append(releases, release)
			}
		}
		if granted != tc.granted {
			t.Errorf("%s: got %d, want %d", tc.name, granted, tc.granted)
		}
		for _, release := range releases {
			release()
		}
		if release, ok := l.take(tc.keys(0)...); !ok {
			t.Errorf("%s: nothing was released", tc.name)
		} else {
			release()
		}
	}
	if len(l.used) != 0 {
		t.Errorf("left: %v", l.used)
	}
}

// A class behind one address can make several traces, each page one.
func TestTracesBehindOneAddress(t *testing.T) {
	l := newLimits()
	var releases []func()
	for i := range 4 {
		release, err := l.takeTrace(fmt.Sprint("s", i), fmt.Sprintf("192.0.2.1:%d", i))
		if err != nil {
			t.Fatalf("page %d: %v", i, err)
		}
		releases = append(releases, release)
	}
	for session, want := range map[string]string{
		"s0":    "a trace of this page is being made: wait for it",
		"other": "a trace for another page at your address is being made: try again",
	} {
		if _, err := l.takeTrace(session, "192.0.2.1:9"); err == nil || err.Error() != want {
			t.Errorf("%s: got %v, want %q", session, err, want)
		}
	}
	for _, release := range releases {
		release()
	}
	if len(l.used) != 0 {
		t.Errorf("left: %v", l.used)
	}
}
