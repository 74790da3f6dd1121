//go:build linux

package main

import (
	"errors"
	"fmt"
	"net"
	"strings"
	"syscall"
	"time"
)

const (
	// electionTime is longer than an election of etcd's members.
	electionTime = 20 * time.Second
	// hangTime is longer than upstream's clients need to notice that a member hangs: they
	// ping a silent connection after 30 s, and close it 10 s later.
	hangTime = 90 * time.Second
)

// member is a member of an etcd cluster.
type member struct {
	*process
	name, client, peer string
	cluster            string // the initial one
}

// startCluster starts an etcd of several members.
func (r *round) startCluster(n int) ([]*member, error) {
	var members []*member
	var cluster []string
	for i := range n {
		m := &member{name: fmt.Sprintf("m%d", i)}
		for _, url := range []*string{&m.client, &m.peer} {
			port, err := freePort()
			if err != nil {
				return nil, err
			}
			*url = fmt.Sprintf("http://127.0.0.1:%d", port)
		}
		members, cluster = append(members, m), append(cluster, m.name+"="+m.peer)
	}
	for _, m := range members {
		m.cluster = strings.Join(cluster, ",")
		if err := r.startMember(m); err != nil {
			return nil, err
		}
	}
	for _, m := range members {
		if err := r.awaitMember(m); err != nil {
			return nil, err
		}
	}
	return members, nil
}

// endpoints returns the value of a flag that names the members.
func endpoints(members []*member) string {
	var urls []string
	for _, m := range members {
		urls = append(urls, m.client)
	}
	return strings.Join(urls, ",")
}

// startMember starts a member for the first time, or again.
func (r *round) startMember(m *member) (err error) {
	m.process, err = r.start(r.command(r.etcd, "--name", m.name, "--data-dir", r.join("etcd-"+m.name), "--listen-client-urls", m.client, "--advertise-client-urls", m.client,
		"--listen-peer-urls", m.peer, "--initial-advertise-peer-urls", m.peer, "--initial-cluster", m.cluster, "--log-level", "error"), "")
	return err
}

func (r *round) awaitMember(m *member) error {
	return r.await("etcd", waitTimeout, func() error {
		if m.ended() {
			return errors.New(lastLine(m.output.String()))
		}
		conn, err := net.Dial("tcp", m.client[len("http://"):])
		if err != nil {
			return err
		}
		return conn.Close()
	})
}

// loseMember kills or stops one of three members of an etcd after the other while clients
// write, and brings each back. The control plane must go on, and nothing acknowledged may be
// lost.
func loseMember(r *round) error {
	members, err := r.startCluster(3)
	if err != nil {
		return err
	}
	etcd := []string{"--etcd-endpoints", endpoints(members)}
	dir, l := r.join("data"), r.newLedger(4)
	c, err := r.up(dir, bare(etcd...)...)
	if err != nil {
		return err
	}
	for _, i := range r.rand.Perm(len(members)) {
		if err := r.loseOne(c, l, members[i]); err != nil {
			return fmt.Errorf("without member %s: %w", members[i].name, err)
		}
	}
	r.kill9(c.process)
	return r.upAndCheck(dir, l, etcd...)
}

func (r *round) loseOne(c *controlPlane, l *ledger, m *member) error {
	stop := l.writeUntilRefused(r.ctx, c.client)
	defer stop()
	r.pause(500 * time.Millisecond)
	suspended, limit := r.rand.IntN(2) == 0, electionTime
	if suspended {
		limit = hangTime
		if err := r.suspend(m.process); err != nil {
			return err
		}
	} else {
		r.kill9(m.process)
	}
	r.pause(2 * time.Second)
	stop()
	if err := r.awaitEach(c, l, limit); err != nil {
		return err
	}
	if suspended {
		return m.Process.Signal(syscall.SIGCONT)
	}
	if err := r.startMember(m); err != nil {
		return err
	}
	if err := r.awaitMember(m); err != nil {
		return err
	}
	return r.awaitEach(c, l, electionTime) // the others have a quorum, with it or without
}

// awaitEach waits until a write of each writer is acknowledged.
func (r *round) awaitEach(c *controlPlane, l *ledger, timeout time.Duration) error {
	for _, w := range l.writers {
		err := r.await("acknowledged write of "+w.name, timeout, func() error {
			w.abandonDoubt()
			return w.send(r.ctx, c.client, w.choose())
		})
		if err != nil {
			return err
		}
	}
	return nil
}
