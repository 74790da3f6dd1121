package upstreamversion

import (
	"strings"
	"testing"

	clientversion "k8s.io/client-go/pkg/version"
	baseversion "k8s.io/component-base/version"
)

func TestVersions(t *testing.T) {
	if err := Check(); err != nil {
		t.Fatal(err)
	}
	for name, info := range map[string]struct{ version, major, minor, commit, date string }{
		"server": {baseversion.Get().GitVersion, baseversion.Get().Major, baseversion.Get().Minor, baseversion.Get().GitCommit, baseversion.Get().BuildDate},
		"client": {clientversion.Get().GitVersion, clientversion.Get().Major, clientversion.Get().Minor, clientversion.Get().GitCommit, clientversion.Get().BuildDate},
	} {
		if info.version != "v1.37.1" || info.major != "1" || info.minor != "37" || strings.Contains(info.commit, placeholder) || strings.HasPrefix(info.date, "1970") {
			t.Errorf("%s: %+v", name, info)
		}
	}
	if err := set("v1.36.0"); err != nil || baseversion.Get().GitVersion != "v1.37.1" {
		t.Errorf("a second call: got %v and %s", err, baseversion.Get().GitVersion)
	}
}
