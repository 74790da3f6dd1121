//go:build linux

package main

import (
	"fmt"
	"net"
	"os"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func missingEtcd(o options) string {
	if _, err := os.Stat(o.etcd); err != nil {
		return err.Error()
	}
	return ""
}

// takeover is longer than a lease (15 s) and the retries after it.
const takeover = 45 * time.Second

// loseLeader stops or kills one of two control planes that share an etcd while clients of
// the other one write, and in half of the rounds one of three members of that etcd. The
// other one must act, and what was acknowledged must be there.
func loseLeader(r *round) error {
	members, err := r.startCluster(1 + 2*r.rand.IntN(2))
	if err != nil {
		return err
	}
	shared := bare("--etcd-endpoints", endpoints(members), "--leader-elect")
	first, err := r.up(r.join("a"), shared...)
	if err != nil {
		return err
	}
	if err := os.CopyFS(r.join("b", "pki"), os.DirFS(r.join("a", "pki"))); err != nil {
		return err
	}
	second, err := r.up(r.join("b"), shared...)
	if err != nil {
		return err
	}
	l := r.newLedger(4)
	stop := l.writeUntilRefused(r.ctx, second.client)
	r.pause(time.Second)
	suspended := r.rand.IntN(2) == 0
	if suspended {
		if err := r.suspend(first.process); err != nil {
			return err
		}
	} else {
		r.kill9(first.process)
	}
	if len(members) > 1 {
		r.pause(2 * time.Second)
		r.kill9(members[r.rand.IntN(len(members))].process)
		stop()
		if err := r.awaitEach(second, l, electionTime); err != nil {
			return err
		}
		stop = l.writeUntilRefused(r.ctx, second.client)
	}
	err = r.awaitNamespace(second, "after")
	stop()
	if err != nil {
		return err
	}
	if suspended {
		if err := first.Process.Signal(syscall.SIGCONT); err != nil {
			return err
		}
		if err := first.awaitEnd(waitTimeout); err != nil {
			return fmt.Errorf("a leader that was suspended for longer than its lease: %w", err)
		}
	}
	if err := l.check(r.ctx, second.client); err != nil {
		return err
	}
	return second.stop()
}

// awaitNamespace creates a namespace, in which the controllers must act.
func (r *round) awaitNamespace(c *controlPlane, name string) error {
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if _, err := c.client.CoreV1().Namespaces().Create(r.ctx, ns, metav1.CreateOptions{}); err != nil {
		return err
	}
	return r.await("service account in a new namespace", takeover, func() error {
		_, err := c.client.CoreV1().ServiceAccounts(ns.Name).Get(r.ctx, "default", metav1.GetOptions{})
		return err
	})
}

func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	port := l.Addr().(*net.TCPAddr).Port
	return port, l.Close()
}
