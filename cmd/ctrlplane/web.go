package main

import (
	"context"
	"fmt"
	"io"
	"sync"

	"github.com/spf13/pflag"

	"github.com/ctrlplane/ctrlplane/internal/usage"
	"github.com/ctrlplane/ctrlplane/ui/explain"
	"github.com/ctrlplane/ctrlplane/ui/web"
)

// webFlags are the flags of the page for a projector.
type webFlags struct {
	on       bool
	listen   web.Listen
	readOnly bool
}

func (w *webFlags) add(f *pflag.FlagSet) {
	f.BoolVar(&w.on, "web", false, "serve a page that shows the control plane as a moving diagram, and print its link")
	f.StringVar(&w.listen.Address, "web-address", "", "HOST:PORT of the page (default: a free port of 127.0.0.1)")
	f.BoolVar(&w.listen.Public, "web-public", false, "let the page be opened from the network, with TLS")
	f.StringVar(&w.listen.CertFile, "web-cert-file", "", "file with the certificate of --web-public (default: a new one, self-signed)")
	f.StringVar(&w.listen.KeyFile, "web-key-file", "", "file with the key of that certificate")
	f.BoolVar(&w.readOnly, "read-only", false, "refuse all interventions from the page")
}

// check fails if there are flags of the page without the page.
func (w *webFlags) check() error {
	if !w.on && (w.listen != web.Listen{} || w.readOnly) {
		return usage.Errorf("--web-address, --web-public, --web-cert-file, --web-key-file and --read-only need --web: add it, or leave them out")
	}
	return nil
}

// webPage serves a page and prints its links.
type webPage struct {
	*web.Server
	flags webFlags

	mu  sync.Mutex // guards out and ready
	out io.Writer
	// ready says that the first links are printed.
	ready bool
}

// startPage serves the page of a control plane, and prints its links on out.
func startPage(out io.Writer, flags webFlags, src viewSource, facts func(context.Context) (explain.Facts, error)) (*webPage, error) {
	p := &webPage{flags: flags, out: out}
	server, err := web.Start(web.Options{
		Source: src, Interventions: src, ClientInterventions: src.ClientInterventions(), Facts: facts,
		Listen: flags.listen, ReadOnly: flags.readOnly, Opened: p.noteVisit,
	})
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.Server, p.ready = server, true
	p.printLinks()
	return p, nil
}

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
	if !p.ready || v.Access < web.Operator {
		return
	}
	fmt.Fprintf(p.out, "The page was opened from %s. Another link, for another browser:\n  %s\n", v.From, p.OnceLink())
}
