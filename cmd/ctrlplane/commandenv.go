package main

import (
	"cmp"
	"net/url"
	"os"
	"slices"

	"golang.org/x/net/http/httpproxy"

	"github.com/ctrlplane/ctrlplane/internal/noproxy"
)

// noProxy has the lists of addresses for which the user wants no proxy, by the name of their variable. A control
// plane changes NO_PROXY of the process: what it adds is for its own clients only.
var noProxy = map[string]string{"NO_PROXY": os.Getenv("NO_PROXY"), "no_proxy": os.Getenv("no_proxy")}

// commandEnv returns the environment of a command that is to connect to a server. Where that has a proxy, it excludes the
// server and the loopback addresses: clients in Go do so by themselves, curl and those in Python do not.
func commandEnv(server string) []string {
	env := os.Environ()
	if !hasProxy() {
		return env
	}
	excluded := []string{"127.0.0.1", "::1", "localhost"}
	if u, err := url.Parse(server); err == nil && u.Hostname() != "" && !slices.Contains(excluded, u.Hostname()) {
		excluded = append(excluded, u.Hostname())
	}
	// curl and Python read the name in lower case first, Go the other one: a new one must not hide the user's.
	upper, lower := noProxy["NO_PROXY"], noProxy["no_proxy"]
	return append(env, "NO_PROXY="+noproxy.Add(upper, lower, excluded...), "no_proxy="+noproxy.Add(lower, upper, excluded...))
}

// hasProxy reports whether the environment names a proxy, also for clients that are not in Go.
func hasProxy() bool {
	proxy := httpproxy.FromEnvironment()
	return cmp.Or(proxy.HTTPProxy, proxy.HTTPSProxy, os.Getenv("ALL_PROXY"), os.Getenv("all_proxy")) != ""
}
