package apiserver

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apiserver/pkg/server/dynamiccertificates"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/cmd/kube-apiserver/app"
)

// certificateCheckInterval is how often files of certificates are read.
const certificateCheckInterval = 10 * time.Second

// pollCertificates reads the files of the serving certificates and of the authorities for clients from time to time. Upstream
// watches each with an inotify instance of its own, and by default all programs of a user can have 128 of these.
func pollCertificates(config *app.Config) {
	serving := config.Aggregator.GenericConfig.SecureServing
	serving.Cert, serving.ClientCA = pollCertificate(serving.Cert), pollCA(serving.ClientCA)
	pollHostCertificates(serving.SNICerts)
	published := &config.KubeAPIs.ControlPlane.ClusterAuthenticationInfo
	published.ClientCA, published.RequestHeaderCA = pollCA(published.ClientCA), pollCA(published.RequestHeaderCA)
}

// polledCertificate is a certificate whose files are polled.
type polledCertificate struct {
	dynamiccertificates.CertKeyContentProvider
	filePoller
}

// pollCertificate returns a certificate that polls its files if it has files.
func pollCertificate(c dynamiccertificates.CertKeyContentProvider) dynamiccertificates.CertKeyContentProvider {
	if files, ok := c.(dynamiccertificates.ControllerRunner); ok {
		return polledCertificate{c, filePoller{c.Name(), files}}
	}
	return c
}

// polledHostCertificate is a certificate for some hosts, as of the flag tls-sni-cert-key, whose files are polled.
type polledHostCertificate struct {
	dynamiccertificates.SNICertKeyContentProvider
	filePoller
}

// pollHostCertificates makes those of the certificates that have files poll them.
func pollHostCertificates(list []dynamiccertificates.SNICertKeyContentProvider) {
	for i, c := range list {
		if files, ok := c.(dynamiccertificates.ControllerRunner); ok {
			list[i] = polledHostCertificate{c, filePoller{c.Name(), files}}
		}
	}
}

// polledCA is a bundle of authorities whose files are polled.
type polledCA struct {
	dynamiccertificates.CAContentProvider
	filePoller
}

// pollCA returns a bundle of authorities that polls its files if it has files.
func pollCA(ca dynamiccertificates.CAContentProvider) dynamiccertificates.CAContentProvider {
	if files, ok := ca.(dynamiccertificates.ControllerRunner); ok {
		return polledCA{ca, filePoller{ca.Name(), files}}
	}
	return ca
}

// filePoller implements dynamiccertificates.ControllerRunner without a watch of the files.
type filePoller struct {
	name  string
	files dynamiccertificates.ControllerRunner
}

// RunOnce implements dynamiccertificates.ControllerRunner.
func (p filePoller) RunOnce(ctx context.Context) error { return p.files.RunOnce(ctx) }

// Run implements dynamiccertificates.ControllerRunner.
func (p filePoller) Run(ctx context.Context, workers int) {
	klog.InfoS("Polling the files of certificates", "name", p.name, "interval", certificateCheckInterval)
	wait.UntilWithContext(ctx, func(ctx context.Context) {
		if err := p.files.RunOnce(ctx); err != nil {
			klog.ErrorS(err, "Failed to read the files of certificates, will retry later")
		}
	}, certificateCheckInterval)
	p.files.Run(ctx, workers) // ctx has ended: this shuts down the work queue, and logs that it starts and ends
}
