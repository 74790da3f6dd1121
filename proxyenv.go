package ctrlplane

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"golang.org/x/net/http/httpproxy"
)

// bypassProxy has the HTTP clients of the process connect to Services and Pods without a proxy of the environment. Upstream
// calls webhooks and aggregated APIs by their cluster IP or name, and the proxy would look for these in the network. It has
// no effect on a process that has made a request over HTTP before, because net/http reads the environment once.
func bypassProxy(ranges ...string) error {
	if proxy := httpproxy.FromEnvironment(); proxy.HTTPProxy == "" && proxy.HTTPSProxy == "" {
		return nil
	}
	const name = "NO_PROXY"
	list := strings.Split(os.Getenv(name), ",")
	if os.Getenv(name) == "" { // as httpproxy reads them
		list = strings.Split(os.Getenv(strings.ToLower(name)), ",")
	}
	list = slices.DeleteFunc(list, func(s string) bool { return strings.TrimSpace(s) == "" })
	for _, add := range append(strings.Split(strings.Join(ranges, ","), ","), ".svc") {
		if !slices.Contains(list, add) && !slices.Contains(list, "*") {
			list = append(list, add)
		}
	}
	if err := os.Setenv(name, strings.Join(list, ",")); err != nil {
		return fmt.Errorf("exclude Services and Pods from the proxy of the environment: %w", err)
	}
	return nil
}
