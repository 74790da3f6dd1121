package traceformat_test

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/ctrlplane/ctrlplane/internal/testutil"
	"github.com/ctrlplane/ctrlplane/observe/trace"
	"github.com/ctrlplane/ctrlplane/tools/internal/chromium"
)

// mermaidPackage is Mermaid with its parser of sequence diagrams, in one file.
const mermaidPackage, mermaidFile = "@mermaid-js/tiny@12.0.0", "package/dist/mermaid.tiny.js"

// fetchMermaid returns Mermaid's script, from the package registry.
func fetchMermaid(t *testing.T) []byte {
	t.Helper()
	npm, err := exec.LookPath("npm")
	if err != nil {
		t.Skip("no npm in PATH: Mermaid's parser is not asked")
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // npm's own retries can last longer than the test may
	defer cancel()
	dir := t.TempDir()
	cmd := exec.CommandContext(ctx, npm, "pack", "--silent", mermaidPackage)
	cmd.WaitDelay = time.Second // npm's children have its output, too
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Skipf("npm cannot fetch %s (%v: %.200s): Mermaid's parser is not asked", mermaidPackage, err, out)
	}
	archives, err := filepath.Glob(filepath.Join(dir, "*.tgz"))
	if err != nil || len(archives) != 1 {
		t.Fatalf("npm pack left %v, %v", archives, err)
	}
	f, err := os.Open(archives[0])
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	unzipped, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	for files := tar.NewReader(unzipped); ; {
		head, err := files.Next()
		if err != nil {
			t.Fatalf("%s: %s: %v", mermaidPackage, mermaidFile, err)
		}
		if head.Name == mermaidFile {
			script, err := io.ReadAll(files)
			if err != nil {
				t.Fatal(err)
			}
			return script
		}
	}
}

// openMermaid returns a browser with a page that has Mermaid.
func openMermaid(t *testing.T) context.Context {
	t.Helper()
	chromium.Find(t)
	dir := t.TempDir()
	for name, data := range map[string][]byte{
		"mermaid.js": fetchMermaid(t),
		"page.html":  []byte(`<!doctype html><meta charset="utf-8"><body><script src="mermaid.js"></script><script>mermaid.initialize({startOnLoad: false});</script>`),
	} {
		testutil.WriteFile(t, filepath.Join(dir, name), data)
	}
	ctx, cancel := context.WithTimeout(chromium.Start(t, 1280, 720), 2*time.Minute)
	t.Cleanup(cancel)
	page := (&url.URL{Scheme: "file", Path: filepath.ToSlash(filepath.Join(dir, "page.html"))}).String()
	if err := chromedp.Do(ctx, chromedp.Navigate(page)); err != nil {
		t.Fatal(err)
	}
	return ctx
}

// mermaidDiagram is what Mermaid has read of a sequence diagram.
type mermaidDiagram struct {
	Error  string
	Actors []string // their descriptions
	Arrows []string // their texts
	Notes  []string
	Blocks int    // of types that we do not write, such as loops
	SVG    string // the start of the picture
	Text   string // of the picture
	Ran    bool   // a script in a name
}

// readMermaid is a script that reads and draws a diagram.
const readMermaid = `(async (text) => {
	const read = { Error: "", Actors: [], Arrows: [], Notes: [], Blocks: 0, SVG: "", Text: "", Ran: false };
	window.alert = () => { read.Ran = true; };
	try {
		const { db } = await mermaid.mermaidAPI.getDiagramFromText(text);
		read.Actors = [...db.getActors().values()].map((a) => a.description);
		for (const m of db.getMessages()) {
			const of = typeof m.message === "string" ? m.message : "";
			if (m.type === db.LINETYPE.NOTE) read.Notes.push(of);
			else if (m.from && m.to) read.Arrows.push(of);
			else read.Blocks++;
		}
		const { svg } = await mermaid.render("picture", text);
		read.SVG = svg.slice(0, 100);
		read.Text = new DOMParser().parseFromString(svg, "text/html").body.textContent;
	} catch (e) {
		read.Error = String(e && e.message || e);
	}
	return read;
})(%s)`

// TestMermaidReadsSequences has Mermaid read and draw each trace, and compares what it has
// read with the trace.
func TestMermaidReadsSequences(t *testing.T) {
	browser := openMermaid(t)
	eachTree(t, trace.Mermaid, func(t *testing.T, tree *trace.Tree, text string) {
		quoted, err := json.Marshal(text)
		if err != nil {
			t.Fatal(err)
		}
		got, err := chromedp.Run(browser, chromedp.Evaluate[mermaidDiagram](fmt.Sprintf(readMermaid, quoted), chromedp.EvalAwaitPromise))
		if err != nil {
			t.Fatal(err)
		}
		if got.Error != "" {
			t.Fatalf("Mermaid: %s\n%s", got.Error, text)
		}
		if !strings.HasPrefix(got.SVG, "<svg") || got.Ran {
			t.Errorf("drawn as %q, ran a script: %v", got.SVG, got.Ran)
		}
		actors := map[string]bool{"API server": true}
		for n := range tree.All() {
			if n.Controller != "" {
				actors[n.Controller] = true
			}
		}
		if want := strings.Count(text, "\n  participant "); len(got.Actors) != want || want < len(actors) {
			t.Errorf("%d actors, want %d, and those of %d controllers: %q", len(got.Actors), want, len(actors), got.Actors)
		}
		if strings.HasSuffix(t.Name(), "/hostile") {
			for _, text := range []string{"a: b: c", "title: x", "::icon", "a ＃ b ＃59, c", "update ConfigMap x,y:z＃ status: 422: a: b: c", "{color:＃fff} the rest"} {
				if !strings.Contains(got.Text, text) {
					t.Errorf("the picture lacks %q", text)
				}
			}
		}
		for _, s := range append(got.Arrows, got.Notes...) {
			if !strings.HasPrefix(s, "+") {
				t.Errorf("%q does not begin with its time: a part of it was read as something else", s)
			}
		}
		if strings.HasSuffix(t.Name(), "/"+foldedTree) {
			if want := "more attempts failed in the same way: --all shows them"; !strings.Contains(got.Text, want) {
				t.Errorf("the picture lacks %q", want)
			}
			return
		}
		n := countNodes(tree)
		if want := n[trace.Call] + n[trace.Event] + n[trace.Outside]; len(got.Arrows) != want {
			t.Errorf("%d arrows, want %d", len(got.Arrows), want)
		}
		if len(got.Notes) != n[trace.Sync] || got.Blocks > 0 {
			t.Errorf("%d notes, want %d; %d blocks, want none", len(got.Notes), n[trace.Sync], got.Blocks)
		}
	})
}
