package main

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/ctrlplane/ctrlplane/apiserver/pki"
	"github.com/ctrlplane/ctrlplane/internal/kubeconfig"
)

const (
	serviceCIDR = "10.96.0.0/12"
	podCIDR     = "10.244.0.0/16"
)

// newUpstreamContestant returns the contestant of etcd, kube-apiserver and
// kube-controller-manager, configured like ctrlplane and kubeadm do.
func (o options) newUpstreamContestant(name string, parts []string, managerArgs ...string) contestant {
	bin := func(name string) string { return filepath.Join(o.upstream, name+exe) }
	binaries := []string{bin("etcd"), bin("kube-apiserver"), bin("kube-controller-manager")}
	launch := func(ctx context.Context, r *workDir) (*controlPlane, error) {
		t, err := newUpstreamConfig(r)
		if err != nil {
			return nil, err
		}
		p := &controlPlane{began: time.Now(), url: t.server, certs: func() string { return r.join("pki") }}
		args := [][]string{t.etcdArgs(r), t.serverArgs(), append(t.managerArgs(r), managerArgs...)}
		if err := p.startInOrder(ctx, r, t, binaries, args); err != nil {
			p.kill()
			return nil, err
		}
		return p, nil
	}
	return contestant{name: name, parts: parts, binaries: binaries, launch: launch}
}

// startInOrder starts each process when the one before responds. Starting all at once is
// slower: kube-apiserver retries etcd only after a second, and kube-controller-manager
// polls kube-apiserver once a second.
func (p *controlPlane) startInOrder(ctx context.Context, r *workDir, t *upstreamConfig, binaries []string, args [][]string) error {
	answers := []func(context.Context) error{t.awaitEtcd, p.awaitReady, nil}
	for i, binary := range binaries {
		if err := p.startProgram(r, binary, args[i]...); err != nil {
			return err
		}
		if answers[i] == nil {
			continue
		}
		if err := p.whileRunning(ctx, startTimeout, answers[i]); err != nil {
			return err
		}
	}
	return nil
}

func (t *upstreamConfig) awaitEtcd(ctx context.Context) error {
	return pollUntil(ctx, time.Millisecond, func(ctx context.Context) error {
		conn, err := new(net.Dialer).DialContext(ctx, "tcp", strings.TrimPrefix(t.etcd, "http://"))
		if err != nil {
			return err
		}
		return conn.Close()
	})
}

func (p *controlPlane) awaitReady(ctx context.Context) error {
	a, err := p.newAPIClient(ctx)
	if err != nil {
		return err
	}
	defer a.close()
	return a.awaitReady(ctx)
}

// upstreamConfig is what the three processes need to know of each other.
type upstreamConfig struct {
	certs                      *pki.Bundle
	kubeconfig                 string
	etcd, peer, server         string // URLs
	serverPort, controllerPort string
}

func newUpstreamConfig(r *workDir) (*upstreamConfig, error) {
	ports, err := freePorts(4)
	if err != nil {
		return nil, err
	}
	t := &upstreamConfig{
		kubeconfig:     r.join("kubeconfig"),
		etcd:           "http://127.0.0.1:" + ports[0],
		peer:           "http://127.0.0.1:" + ports[1],
		server:         "https://127.0.0.1:" + ports[2],
		serverPort:     ports[2],
		controllerPort: ports[3],
	}
	if t.certs, err = pki.Ensure(pki.Config{Dir: r.join("pki")}); err != nil {
		return nil, err
	}
	if err := os.Mkdir(r.join("etcd"), 0o700); err != nil {
		return nil, err
	}
	return t, kubeconfig.Write(t.kubeconfig, kubeconfig.New("bench", t.server, t.certs.CAPEM, t.certs.AdminCertPEM, t.certs.AdminKeyPEM))
}

func (t *upstreamConfig) etcdArgs(r *workDir) []string {
	return []string{
		"--data-dir=" + r.join("etcd"),
		"--name=bench",
		"--listen-client-urls=" + t.etcd,
		"--advertise-client-urls=" + t.etcd,
		"--listen-peer-urls=" + t.peer,
		"--initial-advertise-peer-urls=" + t.peer,
		"--initial-cluster=bench=" + t.peer,
	}
}

func (t *upstreamConfig) serverArgs() []string {
	c := t.certs
	return []string{
		"--etcd-servers=" + t.etcd,
		"--bind-address=127.0.0.1",
		"--advertise-address=127.0.0.1",
		"--secure-port=" + t.serverPort,
		"--endpoint-reconciler-type=none", // a loopback address is not a valid endpoint
		"--tls-cert-file=" + c.ServingCert,
		"--tls-private-key-file=" + c.ServingKey,
		"--client-ca-file=" + c.CACert,
		"--requestheader-client-ca-file=" + c.FrontProxyCACert,
		"--requestheader-allowed-names=front-proxy-client",
		"--requestheader-username-headers=X-Remote-User",
		"--requestheader-group-headers=X-Remote-Group",
		"--requestheader-extra-headers-prefix=X-Remote-Extra-",
		"--proxy-client-cert-file=" + c.FrontProxyClientCert,
		"--proxy-client-key-file=" + c.FrontProxyClientKey,
		"--kubelet-client-certificate=" + c.KubeletClientCert,
		"--kubelet-client-key=" + c.KubeletClientKey,
		"--service-account-issuer=https://kubernetes.default.svc.cluster.local",
		"--service-account-key-file=" + c.ServiceAccountPub,
		"--service-account-signing-key-file=" + c.ServiceAccountKey,
		"--authorization-mode=Node,RBAC",
		"--enable-admission-plugins=NodeRestriction",
		"--enable-bootstrap-token-auth=true",
		"--allow-privileged=true",
		"--service-cluster-ip-range=" + serviceCIDR,
	}
}

func (t *upstreamConfig) managerArgs(r *workDir) []string {
	c := t.certs
	return []string{
		"--kubeconfig=" + t.kubeconfig,
		"--authentication-kubeconfig=" + t.kubeconfig,
		"--authorization-kubeconfig=" + t.kubeconfig,
		"--bind-address=127.0.0.1",
		"--secure-port=" + t.controllerPort,
		"--cert-dir=" + r.join("controller-manager"),
		"--leader-elect=false",
		"--controllers=*,bootstrap-signer-controller,token-cleaner-controller",
		"--client-ca-file=" + c.CACert,
		"--requestheader-client-ca-file=" + c.FrontProxyCACert,
		"--root-ca-file=" + c.CACert,
		"--service-account-private-key-file=" + c.ServiceAccountKey,
		"--cluster-signing-cert-file=" + c.CACert,
		"--cluster-signing-key-file=" + c.CAKey,
		"--allocate-node-cidrs=true",
		"--cluster-cidr=" + podCIDR,
		"--service-cluster-ip-range=" + serviceCIDR,
	}
}
