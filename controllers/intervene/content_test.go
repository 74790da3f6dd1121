package intervene

import (
	"net/http"
	"strings"
	"testing"

	"github.com/ctrlplane/ctrlplane/observe"
)

// No value of a Secret is shown, whatever its type: the API server refuses other types than text
// only after the write was held.
func TestValuesOfSecretsAreMasked(t *testing.T) {
	for body, want := range map[string]string{
		`{"stringData":{"pin":12345678,"ok":true,"s":"x","l":["hunter2"],"o":{"a":"hunter2"},"none":null}}`: `{"stringData":{"l":"*** (11 bytes)","none":null,"o":"*** (15 bytes)","ok":"*** (4 bytes)","pin":"*** (8 bytes)","s":"*** (1 bytes)"}}`,
		`{"data":{"a":["hunter2"],"b":"aHVudGVyMg==","n":12345678,"none":null}}`:                            `{"data":{"a":"*** (11 bytes)","b":"*** (7 bytes)","n":"*** (8 bytes)","none":null}}`,
		`{"data":"hunter2","stringData":["hunter2"]}`:                                                       `{}`,
		`{"data":null}`: `{"data":null}`,
		`{"metadata":{"annotations":{"kubectl.kubernetes.io/last-applied-configuration":["hunter2"],"a":"b"}}}`: `{"metadata":{"annotations":{"a":"b","kubectl.kubernetes.io/last-applied-configuration":"*** (11 bytes)"}}}`,
		`{"metadata":{"annotations":["hunter2"],"name":"a"}}`:                                                   `{"metadata":{"name":"a"}}`,
		`{"metadata":"hunter2"}`:                            `{}`,
		`[{"op":"add","path":"/data/a","value":"hunter2"}]`: ``,
	} {
		c, err := decodeContent("application/json", []byte(body))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := c.redactedJSON(observe.Object{Resource: "secrets"}); err != nil || string(got) != want {
			t.Errorf("%s: %s, %v", body, got, err)
		}
	}
}

func TestHeldDryRuns(t *testing.T) {
	for _, test := range []struct {
		method, url, body string
		want              bool
	}{
		{http.MethodPost, "/api/v1/namespaces/default/configmaps?dryRun=All", `{}`, true},
		{http.MethodPost, "/api/v1/namespaces/default/configmaps", `{"dryRun":["All"]}`, false},
		{http.MethodDelete, "/api/v1/namespaces/default/configmaps/a", `{"kind":"DeleteOptions","dryRun":["All"]}`, true},
		{http.MethodDelete, "/api/v1/namespaces/default/configmaps", `{"dryRun":["All"]}`, true},
		{http.MethodDelete, "/api/v1/namespaces/default/configmaps/a", `{}`, false},
	} {
		req, err := http.NewRequest(test.method, "http://x"+test.url, strings.NewReader(test.body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		got := newHeldWrite(req, NewGate(ObjectReader{})).describe()
		if got.DryRun != test.want || strings.HasSuffix(got.String(), " (dry run)") != test.want {
			t.Errorf("%s %s: %q is a dry run: %v, want %v", test.method, test.url, got, got.DryRun, test.want)
		}
	}
}
