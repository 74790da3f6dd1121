package etcd

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/ctrlplane/ctrlplane/internal/sleep"
)

const (
	// dialTimeout limits the wait for the cluster's first answer.
	dialTimeout = 5 * time.Second
	// retryInterval is the pause between attempts to reach an endpoint.
	retryInterval = 100 * time.Millisecond
)

// connectCluster returns when one of the endpoints has answered a linearizable read,
// which requires a majority of its cluster.
func connectCluster(start context.Context, cfg Config) error {
	urls, err := parseEndpoints(cfg.Endpoints)
	if err != nil {
		return err
	}
	secure, err := loadTLS(cfg, urls[0].Scheme)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(start, cmp.Or(cfg.dialTimeout, dialTimeout))
	defer cancel()

	type answer struct {
		from int
		err  error
	}
	answers := make(chan answer)
	for i, u := range urls {
		go func() { answers <- answer{i, waitEndpoint(ctx, u, secure)} }()
	}
	reasons := make([]string, len(urls))
	answered := false
	for range urls {
		a := <-answers
		if a.err == nil {
			answered = true
			cancel() // ends the other attempts, which are waited for
			continue
		}
		reasons[a.from] = fmt.Sprintf("%s: %v", cfg.Endpoints[a.from], a.err)
	}
	if answered {
		return nil
	}
	if start.Err() != nil {
		return fmt.Errorf("connect: stopped waiting for an endpoint: %w", context.Cause(start))
	}
	return &adviceError{
		err:    fmt.Errorf("connect: %s", strings.Join(reasons, ", ")),
		advice: "check the endpoints and the TLS files, and that the cluster is running",
	}
}

// waitEndpoint returns nil once the endpoint u has answered, or why it has not when ctx
// ends.
func waitEndpoint(ctx context.Context, u *url.URL, secure *tls.Config) error {
	why := errors.New("no answer in time")
	for {
		err := readOnce(ctx, u, secure)
		if err == nil {
			return nil
		}
		if diagnosis := diagnoseRead(ctx, u, secure, err); ctx.Err() == nil { // else it was cut off
			why = diagnosis
		}
		if isAboutCertificate(why) || !sleep.For(ctx, retryInterval) { // retrying does not help with a certificate
			return why
		}
	}
}

// isAboutCertificate reports whether one side has refused the certificate of the other.
func isAboutCertificate(err error) bool {
	_, isRefusal := errors.AsType[*tls.CertificateVerificationError](err)
	return isRefusal || isTLSAlert(err) && strings.Contains(err.Error(), "certificate")
}

// isTLSAlert reports whether the server has ended a handshake with an alert.
func isTLSAlert(err error) bool {
	op, ok := errors.AsType[*net.OpError](err)
	return ok && op.Op == "remote error"
}

// readOnce performs one linearizable read. It uses gRPC directly, because etcd's client
// retries and hides the error.
func readOnce(ctx context.Context, u *url.URL, secure *tls.Config) (err error) {
	creds := insecure.NewCredentials()
	if secure != nil {
		creds = credentials.NewTLS(secure)
	}
	conn, err := grpc.NewClient(u.Host, grpc.WithTransportCredentials(creds))
	if err != nil {
		return err
	}
	defer func() {
		if cerr := conn.Close(); err == nil {
			err = cerr
		}
	}()
	_, err = pb.NewKVClient(conn).Range(ctx, &pb.RangeRequest{Key: []byte("health"), CountOnly: true})
	if errors.Is(rpctypes.Error(err), rpctypes.ErrPermissionDenied) {
		return nil // permission is checked after the read was agreed on
	}
	return err
}

// diagnoseRead returns why a read from u failed with err. It tries the network and TLS
// itself, because gRPC's errors of these do not name the cause.
func diagnoseRead(ctx context.Context, u *url.URL, secure *tls.Config, err error) error {
	conn, derr := (&net.Dialer{}).DialContext(ctx, "tcp", u.Host)
	if derr != nil {
		return derr
	}
	defer conn.Close()
	if secure != nil {
		if herr := checkHandshake(ctx, conn, secure, u.Hostname()); herr != nil {
			return fmt.Errorf("TLS: %w", herr)
		}
	}
	return errors.New(rpctypes.ErrorDesc(err))
}

// checkHandshake returns what is wrong with the certificate of either side, if the
// handshake fails within retryInterval.
func checkHandshake(ctx context.Context, conn net.Conn, secure *tls.Config, name string) error {
	cfg := secure.Clone()
	cfg.ServerName, cfg.NextProtos = name, []string{"h2"}
	c := tls.Client(conn, cfg)
	if err := c.HandshakeContext(ctx); err != nil {
		return err
	}
	// A server refuses a client's certificate after the client has completed the
	// handshake.
	if err := c.SetReadDeadline(time.Now().Add(retryInterval)); err != nil {
		return err
	}
	if _, err := c.Read(make([]byte, 1)); isTLSAlert(err) {
		return err
	}
	return nil
}
