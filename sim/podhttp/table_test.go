package podhttp

import (
	"strings"
	"testing"
)

func TestTableAnswers(t *testing.T) {
	table, err := Parse(`
# comment
/ 200 hello  world
/api/* 500
/api/v1/items	200 [1, 2]
:9090/metrics 200 up 1\ndown 0
:9090/api/* 200 port
:5432
`)
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		port   int
		path   string
		status int
		body   string
	}{
		{80, "/", 200, "hello  world\n"},
		{80, "", 200, "hello  world\n"},
		{80, "/missing", 404, "404 page not found\n"},
		{80, "/api/x", 500, ""},
		{80, "/api/v1/items", 200, "[1, 2]\n"},
		{80, "/metrics", 404, "404 page not found\n"},
		{9090, "/metrics", 200, "up 1\ndown 0\n"},
		{9090, "/api/x", 200, "port\n"},
		{9090, "/", 200, "hello  world\n"},
	} {
		if status, body := table.Get(test.port, test.path); status != test.status || body != test.body {
			t.Errorf("%d %q: got %d %q, want %d %q", test.port, test.path, status, body, test.status, test.body)
		}
	}
	if !table.Listens(1234) {
		t.Error("a row without a port is not for every port")
	}
	only, err := Parse(":5432\n:80/ 200")
	if err != nil || !only.Listens(5432) || !only.Listens(80) || only.Listens(81) {
		t.Errorf("%v, %+v", err, only)
	}
}

func TestParseSaysWhatIsWrong(t *testing.T) {
	for text, want := range map[string]string{
		"":             "the table is empty",
		"/ 200\nx 200": `line 2: the path "x" does not begin with /`,
		"/":            `line 1: "" is not a status from 200 to 599`,
		"/ ok":         `line 1: "ok" is not a status from 200 to 599`,
		"/ 101":        `line 1: "101" is not a status from 200 to 599`,
		":x/ 200":      `line 1: "x" is not a port`,
		":70000":       `line 1: "70000" is not a port`,
		":80 200 x":    `line 1: the path "" does not begin with /`,
	} {
		_, err := Parse(text)
		if err == nil || !strings.HasPrefix(err.Error(), want) || !strings.HasSuffix(err.Error(), syntax) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: got %v, want %s", text, err, want)
		}
	}
}

func TestContentType(t *testing.T) {
	for body, want := range map[string]string{
		`{"a": 1}` + "\n": "application/json", "{x": "text/plain; charset=utf-8", "<html></html>": "text/html; charset=utf-8", "ok\n": "text/plain; charset=utf-8",
	} {
		if got := contentType(body); got != want {
			t.Errorf("%q: %s, want %s", body, got, want)
		}
	}
}
