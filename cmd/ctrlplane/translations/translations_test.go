package translations

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chai2010/gettext-go/po"
	"k8s.io/kubectl/pkg/util/i18n"
)

func TestIsEnglish(t *testing.T) {
	for language, want := range map[string]bool{
		"": true, "C": true, "C.UTF-8": true, "POSIX": true, "en_US.UTF-8": true, "en_GB": true, "en": true,
		"de_DE.UTF-8": false, "zh_CN.UTF-8": false, "eng": false,
	} {
		if got := isEnglish(language); got != want {
			t.Errorf("isEnglish(%q) = %v", language, got)
		}
	}
}

func TestLanguage(t *testing.T) {
	env := map[string]string{"LANG": "fr_FR.UTF-8"}
	get := func(name string) string { return env[name] }
	for _, name := range []string{"LANG", "LC_MESSAGES", "LC_ALL"} { // each goes before the last
		env[name] = name
		if got := language(get); got != name {
			t.Errorf("language is that of %s, want %s", got, name)
		}
	}
}

// TestLoad loads in a process for each language: kubectl loads translations once per process.
func TestLoad(t *testing.T) {
	const childEnv = "CTRLPLANE_TEST_LOADS"
	if loads := os.Getenv(childEnv); loads != "" {
		if err := load(); err != nil {
			t.Error(err)
		}
		if err := i18n.SetLoadTranslationsFunc(load); fmt.Sprint(err != nil) != loads { // an error if they are loaded
			t.Errorf("loaded: got %v, want %s", err, loads)
		}
		return
	}
	for language, loads := range map[string]bool{"en_US.UTF-8": false, "de_DE.UTF-8": true} {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestLoad$")
		cmd.Env = append(os.Environ(), "LC_ALL="+language, fmt.Sprintf("%s=%t", childEnv, loads))
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", language, err, out)
		}
	}
}

// TestEnglishTranslationsChangeNothing reads the translations that are not loaded.
func TestEnglishTranslationsChangeNothing(t *testing.T) {
	root, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "k8s.io/kubectl").Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"default", "en_US"} {
		file, err := po.LoadFile(filepath.Join(strings.TrimSpace(string(root)), "pkg/util/i18n/translations/kubectl", name, "LC_MESSAGES/k8s.po"))
		if err != nil {
			t.Fatal(err)
		}
		if len(file.Messages) == 0 {
			t.Errorf("no messages in %s", name)
		}
		for _, m := range file.Messages {
			if m.MsgStr != m.MsgId || m.MsgIdPlural != "" {
				t.Errorf("%s translates %q as %q: it has to be loaded", name, m.MsgId, m.MsgStr)
			}
		}
	}
}
