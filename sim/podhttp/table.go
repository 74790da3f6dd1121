package podhttp

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
)

// Table is what a Pod answers. Its zero value listens on no port.
type Table struct{ rows []row }

// row is a line of a table.
type row struct {
	port   int    // 0 means every port
	path   string // empty if the row only says that something listens
	prefix bool   // it stands for all paths that begin with path
	status int
	body   string
}

const syntax = "write [:PORT]PATH STATUS [BODY] on each line, like /healthz 200 ok, or :PORT"

// Parse reads a table. Each line is "[:PORT]PATH STATUS [BODY]" or ":PORT"; a path that
// ends with * stands for all that begin with it. Lines that begin with # are comments.
func Parse(text string) (Table, error) {
	var t Table
	n := 0
	for line := range strings.Lines(text) {
		n++
		if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
			continue
		}
		r, err := parseRow(line)
		if err != nil {
			return Table{}, fmt.Errorf("line %d: %w: %s", n, err, syntax)
		}
		t.rows = append(t.rows, r)
	}
	if t.rows == nil {
		return Table{}, fmt.Errorf("the table is empty: %s", syntax)
	}
	return t, nil
}

func parseRow(line string) (r row, err error) {
	target, rest := cutField(line)
	if after, ok := strings.CutPrefix(target, ":"); ok {
		port, path, hasPath := strings.Cut(after, "/")
		if r.port, err = strconv.Atoi(port); err != nil || r.port < 1 || r.port > 65535 {
			return r, fmt.Errorf("%q is not a port", port)
		}
		if !hasPath && rest == "" {
			return r, nil
		}
		if target = ""; hasPath {
			target = "/" + path
		}
	}
	if !strings.HasPrefix(target, "/") {
		return r, fmt.Errorf("the path %q does not begin with /", target)
	}
	r.path, r.prefix = strings.CutSuffix(target, "*")
	status, body := cutField(rest)
	if r.status, err = strconv.Atoi(status); err != nil || r.status < 200 || r.status > 599 {
		return r, fmt.Errorf("%q is not a status from 200 to 599", status)
	}
	if body != "" {
		r.body = strings.ReplaceAll(body, `\n`, "\n") + "\n"
	}
	return r, nil
}

// cutField returns the first field of a line, and the rest.
func cutField(line string) (field, rest string) {
	i := strings.IndexAny(line, " \t")
	if i < 0 {
		return line, ""
	}
	return line[:i], strings.TrimLeft(line[i:], " \t")
}

// Listens reports whether something accepts connections on a port.
func (t Table) Listens(port int) bool {
	for _, r := range t.rows {
		if r.port == 0 || r.port == port {
			return true
		}
	}
	return false
}

// find returns the row for a path: the one with the longest path, of two with the same
// path that of the port.
func (t Table) find(port int, path string) (found row, ok bool) {
	weight := func(r row) int {
		w := 4 * len(r.path)
		if !r.prefix {
			w += 2
		}
		if r.port != 0 {
			w++
		}
		return w
	}
	for _, r := range t.rows {
		matches := r.path == path || r.prefix && strings.HasPrefix(path, r.path)
		if r.path == "" || !matches || r.port != 0 && r.port != port {
			continue
		}
		if !ok || weight(r) > weight(found) {
			found, ok = r, true
		}
	}
	return found, ok
}

// Get answers a request for a path: 404 if the table lacks it.
func (t Table) Get(port int, path string) (status int, body string) {
	if path == "" {
		path = "/"
	}
	if r, ok := t.find(port, path); ok {
		return r.status, r.body
	}
	return http.StatusNotFound, "404 page not found\n"
}

// Status returns the status for a path; false if the table lacks it.
func (t Table) Status(port int, path string) (int, bool) {
	r, ok := t.find(port, path)
	return r.status, ok
}

// newHandler serves a port. The table is read for each request.
func newHandler(port int, table func() Table) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		status, body := table().Get(port, r.URL.Path)
		if body != "" {
			w.Header().Set("Content-Type", contentType(body))
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body) // fails when the client has gone
	})
}

func contentType(body string) string {
	if text := []byte(body); bytes.ContainsAny(text[:1], "{[") && json.Valid(text) {
		return "application/json"
	}
	return http.DetectContentType([]byte(body))
}
