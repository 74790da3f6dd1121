package main

import (
	"context"
	"fmt"
	"io"
	"sync"

	"github.com/spf13/pflag"

	"github.com/ctrlplane/ctrlplane/control"
	"github.com/ctrlplane/ctrlplane/internal/usage"
	"github.com/ctrlplane/ctrlplane/ui/explain"
	"github.com/ctrlplane/ctrlplane/ui/live"
	"github.com/ctrlplane/ctrlplane/ui/web"
)

// webFlags are the flags of the page for a projector.
type webFlags struct {
	on       bool
	listen   web.Listen
	readOnly bool
	quiet    bool // says nothing when the page is opened
}

func (w *webFlags) add(f *pflag.FlagSet) {
	f.BoolVar(&w.on, "web", false, "serve a page for a projector, and print its link")
	f.StringVar(&w.listen.Address, "web-address", "", "HOST:PORT of the page (default: a free port of 127.0.0.1)")
	f.BoolVar(&w.listen.Public, "web-public", false, "let the page be opened from the network, with TLS")
	f.StringVar(&w.listen.CertFile, "web-cert-file", "", "file with the certificate of --web-public (default: self-signed)")
	f.StringVar(&w.listen.KeyFile, "web-key-file", "", "file with the key of that certificate")
	f.BoolVar(&w.readOnly, "read-only", false, "refuse all interventions from the page")
}

// check fails if there are flags of the page without the page, or if they do not fit
// together.
func (w *webFlags) check() error {
	if !w.on && (w.listen != web.Listen{} || w.readOnly) {
		return usage.Errorf("--web-address, --web-public, --web-cert-file, --web-key-file and --read-only need --web: add it, or leave them out")
	}
	return w.listen.Validate()
}

// pageSource is what a page shows, and how it intervenes.
type pageSource struct {
	viewSource
	speed control.SpeedControl
	facts func(context.Context) (explain.Facts, error)
	focus []string // controllers
}

// options returns the options of a page without those of its address.
func (s pageSource) options() web.Options {
	return web.Options{
		Source: s.viewSource, Interventions: s.viewSource, ClientInterventions: s.ClientInterventions(), Speed: s.speed, Facts: s.facts, Focus: s.focus,
	}
}

// webPage serves a page and prints its links.
type webPage struct {
	*web.Server
	flags webFlags
	mu    sync.Mutex // guards out, and delays visits until the first links are printed
	out   io.Writer
}

// startPage serves a page, and prints its links on out. flags have its address.
func startPage(out io.Writer, flags webFlags, o web.Options) (*webPage, error) {
	p := &webPage{flags: flags, out: out}
	o.Listen, o.ReadOnly, o.Opened = flags.listen, flags.readOnly, p.noteVisit
	p.mu.Lock()
	defer p.mu.Unlock()
	server, err := web.Start(o)
	if err != nil {
		return nil, err
	}
	p.Server = server
	p.printLinks()
	return p, nil
}

// printLinks prints the links and who can see what. p.mu is held.
func (p *webPage) printLinks() {
	if p.flags.readOnly {
		fmt.Fprintf(p.out, "Page, read-only, can be opened any number of times:\n  %s\n", p.ClassLink())
	} else {
		fmt.Fprintf(p.out, "Page, can be opened once:\n  %s\n", p.OnceLink())
	}
	if !p.flags.listen.Public {
		return
	}
	if !p.flags.readOnly {
		fmt.Fprintf(p.out, "Page for a class, read-only, can be opened any number of times:\n  %s\n", p.ClassLink())
	}
	fmt.Fprint(p.out, `The page can be reached from the network. Whoever has a link sees the names, the YAML
(without the values of Secrets), errors and log lines of all objects, and the users,
groups and user agents of all clients.
`)
	if f := p.Fingerprint(); f != "" {
		fmt.Fprintf(p.out, "The certificate is self-signed, so browsers warn. Its SHA-256 fingerprint is\n  %s\n", f)
	}
}

// noteVisit says that a link was used, and prints another one.
func (p *webPage) noteVisit(v web.Visit) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if v.Access == web.Operator && !p.flags.quiet {
		fmt.Fprintf(p.out, "The page was opened from %s. Another link, for another browser:\n  %s\n", v.From, p.OnceLink())
	}
}

// viewPage serves a page when the live view asks for a link.
type viewPage struct {
	source pageSource
	mu     sync.Mutex
	server *web.Server // nil until the first link
}

func (p *viewPage) link() (string, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.server == nil {
		server, err := web.Start(p.source.options())
		if err != nil {
			return "", err
		}
		p.server = server
	}
	return p.server.OnceLink(), nil
}

func (p *viewPage) Close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.server == nil {
		return nil
	}
	return p.server.Close()
}

// addPage lets the live view serve a page. With serves, the page is served at once: the
// live view shows its link, and other output prints it on out. The result ends the page.
func (l viewMode) addPage(o *live.Options, src pageSource, serves bool, out io.Writer) (end func() error, err error) {
	if l != viewLive {
		if !serves {
			return func() error { return nil }, nil
		}
		p, err := startPage(out, webFlags{on: true}, src.options())
		if err != nil {
			return nil, err
		}
		return p.Close, nil
	}
	p := &viewPage{source: src}
	o.Page = p.link
	if serves {
		link, err := p.link()
		if err != nil {
			return nil, err
		}
		o.Message = live.PageMessage(link)
	}
	return p.Close, nil
}
