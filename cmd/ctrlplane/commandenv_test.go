package main

import (
	"cmp"
	"slices"
	"strings"
	"testing"
)

func TestProxyOfCommands(t *testing.T) {
	const loopback = "127.0.0.1,::1,localhost"
	for what, tc := range map[string]struct {
		proxy, upper, lower string
		server              string
		variable            string   // of the proxy; HTTPS_PROXY unless set
		want                []string // of NO_PROXY and no_proxy, the last in the environment
	}{
		"no proxy":            {"", "", "", "https://127.0.0.1:6443", "", []string{"10.96.0.0/12,.svc", ""}},
		"nothing is excluded": {"proxy:3128", "", "", "https://127.0.0.1:6443", "", []string{loopback, loopback}},
		"one name":            {"proxy:3128", "a.example.com, localhost", "", "https://127.0.0.1:6443", "", []string{"a.example.com, localhost," + loopback, "a.example.com, localhost," + loopback}},
		"the other name":      {"proxy:3128", "", "a.example.com", "https://127.0.0.1:6443", "", []string{"a.example.com," + loopback, "a.example.com," + loopback}},
		"both, and different": {"proxy:3128", "a.example.com", "b.example.com,127.0.0.1", "https://127.0.0.1:6443", "", []string{"a.example.com," + loopback, "b.example.com,127.0.0.1,::1,localhost"}},
		"everything":          {"proxy:3128", "*", "", "https://127.0.0.1:6443", "", []string{"*", "*"}},
		"for all protocols":   {"socks5://proxy:1080", "", "", "https://127.0.0.1:6443", "all_proxy", []string{loopback, loopback}},
		"another address":     {"proxy:3128", "", "", "https://192.0.2.1:6443", "", []string{loopback + ",192.0.2.1", loopback + ",192.0.2.1"}},
	} {
		t.Run(what, func(t *testing.T) {
			before := noProxy
			t.Cleanup(func() { noProxy = before })
			noProxy = map[string]string{"NO_PROXY": tc.upper, "no_proxy": tc.lower}
			for _, name := range []string{"HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy", "no_proxy"} {
				t.Setenv(name, "")
			}
			t.Setenv(cmp.Or(tc.variable, "HTTPS_PROXY"), tc.proxy)
			t.Setenv("NO_PROXY", "10.96.0.0/12,.svc") // as a control plane in the process has set it
			if got := lastOf(commandEnv(tc.server), "NO_PROXY", "no_proxy"); !slices.Equal(got, tc.want) {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

// lastOf returns the values of variables that a process sees.
func lastOf(env []string, names ...string) []string {
	values := make([]string, len(names))
	for _, v := range env {
		name, value, _ := strings.Cut(v, "=")
		if i := slices.Index(names, name); i >= 0 {
			values[i] = value
		}
	}
	return values
}
