package kubelet

import (
	"testing"

	"github.com/ctrlplane/ctrlplane/sim/container"
)

func TestEncodeLogFile(t *testing.T) {
	at := startTime.Time
	got := string(encodeLogFile(logLines([]container.LogLine{{At: at, Text: "one\n"}, {At: at, Stderr: true, Text: "a part "}, {At: at, Stderr: true, Text: "of it\n"}})))
	const stamp = "2026-01-02T03:04:05.000000000Z "
	if want := stamp + "stdout F one\n" + stamp + "stderr P a part \n" + stamp + "stderr F of it\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestLogFileThatDoesNotExist(t *testing.T) {
	_, client := startKubelets(t)
	for _, path := range []string{"default_p_uid/c/0.log", "default_p_uid/c/x.log", "p/c/-1"} {
		if code, body := getURL(t, client, "https://172.16.0.1:10250/logs/pods/"+path); code != 404 || body != "no log "+path {
			t.Errorf("%s: %d %q", path, code, body)
		}
	}
}
