package shell

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

func noNetwork(p *proc, _ []string) int { return p.fail("%v", ErrNoNetwork) }

// resolve looks a host up: in /etc/hosts, then among the Services.
func (p *proc) resolve(host string) (addresses []string, err error) {
	for _, fields := range p.m.hosts() {
		if slices.Contains(fields[1:], host) {
			addresses = append(addresses, fields[0])
		}
	}
	if len(addresses) > 0 {
		return addresses, nil
	}
	if p.m.cfg.Lookup == nil {
		return nil, ErrNoNetwork
	}
	p.idle(func() { addresses, err = p.m.cfg.Lookup(p.ctx, host) })
	return addresses, err
}

func nslookup(p *proc, args []string) int {
	_, names := p.parseFlags(args, "", map[string]byte{})
	if len(names) == 0 {
		return p.fail("missing operand")
	}
	addresses, err := p.resolve(names[0])
	p.print("Server:\t\tsimulated\nAddress:\tsimulated\n\n")
	if err != nil || len(addresses) == 0 {
		why := ""
		if err != nil {
			why = ": " + err.Error()
		}
		p.printf("** server can't find %s: NXDOMAIN%s\n\n", names[0], why)
		return 1
	}
	for _, address := range addresses {
		p.printf("Name:\t%s\nAddress: %s\n", names[0], address)
	}
	p.print("\n")
	return 0
}

// fetch is wget and curl.
func fetch(p *proc, args []string) int {
	curl := path.Base(args[0]) == "curl"
	spec, long := "qO:T:St:cU:Y:n", map[string]byte{"quiet": 'q', "output-document": 'O', "timeout": 'T', "spider": 's', "no-check-certificate": 'n', "tries": 't', "header": 'U', "post-data": 'x'}
	if curl {
		spec = "sSfko:LIiX:m:H:d:w:vu:ON4"
		long = map[string]byte{"silent": 's', "show-error": 'S', "fail": 'f', "insecure": 'k', "output": 'o', "location": 'L', "max-time": 'm', "connect-timeout": 'm', "header": 'H', "request": 'X', "data": 'd', "write-out": 'w', "head": 'I', "include": 'i', "verbose": 'v', "retry": 'm', "cacert": 'm'}
	}
	f, urls := p.parseFlags(args, spec, long)
	if len(urls) == 0 {
		return p.fail("missing URL")
	}
	if curl && (f.has('d') || f.has('X') && f['X'] != "GET") || !curl && f.has('x') {
		return p.fail("only GET is simulated")
	}
	status := 0
	for _, url := range urls {
		if n := p.fetchOne(url, f, curl); n != 0 {
			status = n
		}
	}
	return status
}

func (p *proc) fetchOne(url string, f flags, curl bool) int {
	if !strings.Contains(url, "://") {
		url = "http://" + url
	}
	if p.m.cfg.Get == nil {
		p.fail("%v", ErrNoNetwork)
		return 1
	}
	ctx := p.ctx
	if seconds, err := strconv.ParseFloat(cmp.Or(f['T'], f['m']), 64); err == nil && seconds > 0 && seconds < 1e6 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Duration(seconds*float64(time.Second)))
		defer cancel()
	}
	code, body, err := 0, []byte(nil), error(nil)
	url = p.replaceHost(url)
	p.idle(func() { code, body, err = p.m.cfg.Get(ctx, url) })
	p.hold(len(body))
	defer p.hold(-len(body))
	if err != nil {
		if !curl {
			return p.fail("%v", err)
		}
		failed := 7
		if errors.Is(err, ErrBadAddress) {
			failed = 6
		}
		if !f.has('s') || f.has('S') {
			p.errorf("curl: (%d) %v", failed, err)
		}
		p.writeOut(f, 0, 0)
		return failed
	}
	if !curl && (code < 200 || code > 299) {
		return p.fail("server returned error: HTTP/1.1 %d", code)
	}
	if curl && f.has('f') && code >= 400 {
		if !f.has('s') || f.has('S') {
			p.errorf("curl: (22) The requested URL returned error: %d", code)
		}
		p.writeOut(f, code, 0)
		return 22
	}
	return p.saveBody(url, f, curl, code, body)
}

// replaceHost replaces the host of a URL by its address in /etc/hosts, if it is there.
func (p *proc) replaceHost(url string) string {
	scheme, rest, _ := strings.Cut(url, "://")
	end := len(rest)
	if i := strings.IndexAny(rest, ":/?#"); i >= 0 {
		end = i
	}
	for _, fields := range p.m.hosts() {
		if slices.Contains(fields[1:], rest[:end]) {
			address := fields[0]
			if strings.Contains(address, ":") {
				address = "[" + address + "]"
			}
			return scheme + "://" + address + rest[end:]
		}
	}
	return url
}

// netcat is nc. It can only tell whether something listens: nc -z.
func netcat(p *proc, args []string) int {
	f, rest := p.parseFlags(args, "zvnuw:", nil)
	if !f.has('z') || f.has('u') || len(rest) != 2 || p.m.cfg.Connect == nil {
		return noNetwork(p, args)
	}
	port, err := strconv.Atoi(rest[1])
	if err != nil || port < 1 || port > 65535 {
		return p.fail("bad port '%s'", rest[1])
	}
	host := rest[0]
	for _, fields := range p.m.hosts() {
		if slices.Contains(fields[1:], host) {
			host = fields[0]
		}
	}
	p.idle(func() { err = p.m.cfg.Connect(p.ctx, host, port) })
	switch {
	case err != nil:
		return p.fail("%v", err)
	case f.has('v'):
		p.errorf("%s (%s:%d) open", rest[0], host, port)
	}
	return 0
}

// saveBody writes what was fetched to where the options say.
func (p *proc) saveBody(url string, f flags, curl bool, code int, body []byte) int {
	name := f['o']
	if !curl {
		if f.has('s') {
			return 0 // --spider
		}
	}
	if !curl || f.has('O') {
		if name = f['O']; name == "" {
			_, rest, _ := strings.Cut(url, "://")
			if name = path.Base(rest); !strings.Contains(rest, "/") || strings.HasSuffix(rest, "/") {
				name = "index.html"
			}
		}
	}
	if curl && (f.has('I') || f.has('i')) {
		p.printf("HTTP/1.1 %d\r\n\r\n", code)
	}
	var out io.Writer = p.stdout()
	if name != "" && name != "-" {
		file, err := p.create(name, syscall.O_TRUNC)
		if err != nil {
			return p.fail("can't open '%s': %s", name, errText(err))
		}
		defer file.close()
		out = file
	}
	if !f.has('I') || !curl {
		if _, err := out.Write(body); err != nil {
			return p.fail("write error: %s", errText(err))
		}
	}
	if curl {
		p.writeOut(f, code, len(body))
	}
	return 0
}

// writeOut prints what -w of curl asks for. The code is 0 without a response.
func (p *proc) writeOut(f flags, code, size int) {
	status := fmt.Sprintf("%03d", code)
	text, _ := expandEscapes(strings.NewReplacer("%{http_code}", status, "%{response_code}", status, "%{size_download}", strconv.Itoa(size)).Replace(f['w']))
	p.print(text)
}
