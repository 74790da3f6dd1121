//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// manyClients has 200 clients connect, ask and leave in every way, beside writers whose
// writes must be there. Their connections must be gone afterwards.
func manyClients(r *round) error {
	c, err := r.up(r.join("data"), bare()...)
	if err != nil {
		return err
	}
	if err := r.awaitControllers(c); err != nil {
		return err
	}
	before, err := openFiles(c)
	if err != nil {
		return err
	}
	l := r.newLedger(4)
	stop := l.writeUntilRefused(r.ctx, c.client)
	ctx, cancel := context.WithTimeout(r.ctx, 4*time.Second)
	defer cancel()
	var group sync.WaitGroup
	var mu sync.Mutex
	visits := 0
	for i := range 200 {
		group.Go(func() {
			for n := i; ctx.Err() == nil; n++ {
				visit(ctx, c, n)
				mu.Lock()
				visits++
				mu.Unlock()
			}
		})
	}
	group.Wait()
	stop()
	r.logf("%d visits", visits)
	if err := l.check(r.ctx, c.client); err != nil {
		return err
	}
	err = r.await("end of the clients' connections", waitTimeout, func() error {
		now, err := openFiles(c)
		if err == nil && now > before+20 {
			return fmt.Errorf("%d open files, %d before", now, before)
		}
		return err
	})
	if err != nil {
		return err
	}
	return c.stop()
}

// visit is one client that comes and goes. What it is answered does not matter.
func visit(ctx context.Context, c *controlPlane, n int) {
	ctx, leave := context.WithTimeout(ctx, 50*time.Millisecond*time.Duration(1+n%10))
	defer leave()
	if n%4 == 0 {
		halfRequest(ctx, c.config.Host)
		return
	}
	tlsConfig, err := rest.TLSConfigFor(c.config)
	if err != nil {
		return
	}
	transport := &http.Transport{
		TLSClientConfig: tlsConfig, ForceAttemptHTTP2: true,
		DialContext: func(dial context.Context, network, address string) (net.Conn, error) {
			conn, err := (&net.Dialer{}).DialContext(dial, network, address)
			if err == nil { // it leaves, whatever is under way on the connection
				context.AfterFunc(ctx, func() { _ = conn.Close() })
			}
			return conn, err
		},
	}
	client, err := kubernetes.NewForConfigAndClient(c.config, &http.Client{Transport: transport})
	if err != nil {
		return
	}
	switch n % 4 {
	case 1:
		if w, err := configMaps(client).Watch(ctx, metav1.ListOptions{}); err == nil {
			defer w.Stop()
			<-ctx.Done()
		}
	case 2:
		_, _ = client.CoreV1().Secrets("").List(ctx, metav1.ListOptions{})
	default:
		_, _ = client.Discovery().ServerPreferredResources()
	}
}

// halfRequest connects, sends something that is no TLS, and leaves.
func halfRequest(ctx context.Context, host string) {
	u, err := url.Parse(host)
	if err != nil {
		return
	}
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", u.Host)
	if err != nil {
		return
	}
	defer conn.Close()
	_, _ = conn.Write([]byte("GET / HTTP/1.1\r\nHost: x"))
	<-ctx.Done()
}

func openFiles(c *controlPlane) (int, error) {
	entries, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", c.Process.Pid))
	if errors.Is(err, os.ErrNotExist) {
		return 0, fmt.Errorf("the control plane has ended: %s", lastLine(c.output.String()))
	}
	return len(entries), err
}
