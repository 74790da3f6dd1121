package explain

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"github.com/ctrlplane/ctrlplane/control"
	"github.com/ctrlplane/ctrlplane/internal/testutil"
)

// documentPreface is the beginning of docs/controllers.md.
const documentPreface = `# The controllers

The output of ` + "`ctrlplane explain NAME`" + ` for each controller, without the parts that it
reads from the running control plane: watches and writes, the queues' workers,
the flags' values and the permissions. ` + "`make golden`" + ` generates this page from
` + "`ui/explain/pages`" + `.
`

// docs/controllers.md is generated from the explain pages.
func TestControllersDocumentIsUpToDate(t *testing.T) {
	facts := Facts{Flags: defaultFlags(t), Versions: moduleVersions(t)}
	var b strings.Builder
	b.WriteString(documentPreface)
	group := ""
	for _, p := range Pages() {
		if p.Group != group {
			fmt.Fprintf(&b, "\n## %s\n", p.GroupTitle())
			group = p.Group
		}
		writeMarkdown(&b, p.NewEntry(facts))
	}
	testutil.Golden(t, "../../docs/controllers.md", []byte(b.String()))
}

// defaultFlags returns the flags of kube-controller-manager from a file that a test of package controllers writes: this package
// does not link Kubernetes.
func defaultFlags(t *testing.T) (list []control.Flag) {
	t.Helper()
	for line := range strings.Lines(testutil.ReadFile(t, "testdata/flags.tsv")) {
		cells := strings.Split(strings.TrimRight(line, "\r\n"), "\t")
		if len(cells) != 3 {
			t.Fatalf("testdata/flags.tsv: %q has %d cells, want 3", line, len(cells))
		}
		list = append(list, control.Flag{Set: cells[0], Name: cells[1], Default: cells[2]})
	}
	return list
}

// moduleVersions returns the versions of upstream's modules in this build.
func moduleVersions(t *testing.T) map[string]string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-json=Path,Version", "k8s.io/kubernetes", "k8s.io/cloud-provider",
		"k8s.io/endpointslice", "k8s.io/client-go", "sigs.k8s.io/kwok").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	all := map[string]string{}
	for d := json.NewDecoder(strings.NewReader(string(out))); d.More(); {
		var m struct{ Path, Version string }
		if err := d.Decode(&m); err != nil {
			t.Fatal(err)
		}
		all[m.Path] = m.Version
	}
	return all
}

func writeMarkdown(b *strings.Builder, e Entry) {
	fmt.Fprintf(b, "\n### %s\n\n%s\n", e.Name, escapeMarkdown(e.Purpose))
	if e.Drawing != "" {
		fmt.Fprintf(b, "\n```\n%s\n```\n", strings.TrimRight(e.Drawing, "\n"))
	}
	for i, q := range e.Queues {
		if i == 0 {
			b.WriteString("\n| queue | a key is |\n| --- | --- |\n")
		}
		name := "unnamed"
		if q.Name != "" {
			name = "`" + q.Name + "`"
		}
		fmt.Fprintf(b, "| %s | %s |\n", name, escapeMarkdown(q.Key))
	}
	writeBullets(b, "How it decides", e.Decides)
	writeBullets(b, "In ctrlplane", e.Here)
	for i, f := range e.Flags {
		if i == 0 {
			b.WriteString("\n| flag | default |\n| --- | --- |\n")
		}
		fmt.Fprintf(b, "| `--%s` | `%s` |\n", f.Name, cmp.Or(f.Default, " "))
	}
	if len(e.Settings) > 0 {
		fmt.Fprintf(b, "\nFlags of `ctrlplane up`: `--%s`.\n", strings.Join(e.Settings, "`, `--"))
	}
	b.WriteString("\nWhen it fails:\n\n")
	for _, f := range e.Fails {
		fmt.Fprintf(b, "- **%s**: %s\n", escapeMarkdown(f.Sign), escapeMarkdown(f.Means))
	}
	b.WriteString("\nSource:\n\n")
	for _, s := range e.Source {
		fmt.Fprintf(b, "- %s\n", sourceLink(s))
	}
}

func writeBullets(b *strings.Builder, title string, items []string) {
	if len(items) == 0 {
		return
	}
	fmt.Fprintf(b, "\n%s:\n\n", title)
	for _, item := range items {
		fmt.Fprintf(b, "- %s\n", escapeMarkdown(item))
	}
}

// sourceLink returns the location of the file, as a link if it is in this
// repository.
func sourceLink(s Source) string {
	if s.Module == modulePath {
		return fmt.Sprintf("[%s](../%s)", s.Path, s.Path)
	}
	return "`" + s.Module + "@" + s.Version + "/" + s.Path + "`"
}

// modulePath is the path of this module.
const modulePath = "github.com/ctrlplane/ctrlplane"

var escapeMarkdown = strings.NewReplacer("<", "&lt;", "|", `\|`, "*", `\*`, "_", `\_`).Replace
