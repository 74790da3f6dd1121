package ctrlplane

import (
	"fmt"
	"os"
	"strings"

	"golang.org/x/net/http/httpproxy"

	"github.com/ctrlplane/ctrlplane/internal/noproxy"
)

// bypassProxy has the HTTP clients of the process connect to Services and Pods without a proxy of the environment. Upstream
// calls webhooks and aggregated APIs by their cluster IP or name, and the proxy would look for these in the network. It has
// no effect on a process that has made a request over HTTP before, because net/http reads the environment once.
func bypassProxy(ranges ...string) error {
	if proxy := httpproxy.FromEnvironment(); proxy.HTTPProxy == "" && proxy.HTTPSProxy == "" {
		return nil
	}
	excluded := append(strings.Split(strings.Join(ranges, ","), ","), ".svc")
	// In the order in which httpproxy reads them.
	if err := os.Setenv("NO_PROXY", noproxy.Add(os.Getenv("NO_PROXY"), os.Getenv("no_proxy"), excluded...)); err != nil {
		return fmt.Errorf("exclude Services and Pods from the proxy of the environment: %w", err)
	}
	return nil
}
