package web

import (
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"
)

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

// The tabs of a browser have one session: an operator who opens the link of the class stays one.
func TestClassLinkInTheBrowserOfAnOperator(t *testing.T) {
	s := startServer(t, Options{})
	v := newVisitor(t, s)
	v.open(s.OnceLink())
	key := v.key
	if got := v.open(s.ClassLink()); got != http.StatusOK {
		t.Fatalf("status %d", got)
	}
	for tab, k := range map[string]string{"first": key, "second": v.key} {
		v.key = k
		if status, text := v.do("POST", "/ctrlplane/v1/controllers/pause", pauseBody, nil); status != http.StatusOK {
			t.Errorf("%s tab: status %d: %s", tab, status, text)
		}
	}
	thief := newVisitor(t, s) // has the cookie, but not the key
	thief.client.Jar, thief.key = v.client.Jar, ""
	thief.open(s.ClassLink())
	thief.expect(http.StatusForbidden, "POST", "/ctrlplane/v1/controllers/pause", pauseBody, nil)
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
