package ctrlplane

import (
	"os"
	"testing"
)

func TestBypassProxy(t *testing.T) {
	for what, tc := range map[string]struct {
		env  map[string]string
		want string
	}{
		"no proxy":             {map[string]string{"NO_PROXY": "a.example.com"}, "a.example.com"},
		"nothing is excluded":  {map[string]string{"HTTPS_PROXY": "proxy:3128"}, "10.96.0.0/12,fd00::/112,10.128.0.0/9,.svc"},
		"some are":             {map[string]string{"https_proxy": "proxy:3128", "NO_PROXY": "a.example.com, .svc"}, "a.example.com, .svc,10.96.0.0/12,fd00::/112,10.128.0.0/9,.svc"},
		"in lower case":        {map[string]string{"http_proxy": "proxy:3128", "no_proxy": "a.example.com"}, "a.example.com,10.96.0.0/12,fd00::/112,10.128.0.0/9,.svc"},
		"everything is":        {map[string]string{"HTTP_PROXY": "proxy:3128", "NO_PROXY": "*"}, "*"},
		"they are already":     {map[string]string{"HTTP_PROXY": "proxy:3128", "NO_PROXY": "10.96.0.0/12,fd00::/112,10.128.0.0/9,.svc"}, "10.96.0.0/12,fd00::/112,10.128.0.0/9,.svc"},
		"a list with no entry": {map[string]string{"HTTP_PROXY": "proxy:3128", "NO_PROXY": ","}, "10.96.0.0/12,fd00::/112,10.128.0.0/9,.svc"},
	} {
		t.Run(what, func(t *testing.T) {
			for _, name := range []string{"HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "NO_PROXY", "no_proxy"} {
				t.Setenv(name, tc.env[name])
			}
			if err := bypassProxy("10.96.0.0/12,fd00::/112", "10.128.0.0/9"); err != nil || os.Getenv("NO_PROXY") != tc.want {
				t.Errorf("got %q, %v; want %q", os.Getenv("NO_PROXY"), err, tc.want)
			}
		})
	}
}
