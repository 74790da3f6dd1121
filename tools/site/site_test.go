package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/google/go-cmp/cmp"
)

const repository = "../.."

// TestSite builds the site of this repository: a link that leads nowhere, or a page that
// docs/README.md does not name, fails it.
func TestSite(t *testing.T) {
	folder := t.TempDir()
	for _, version := range []string{"v1.9.0", "main", "v1.10.0", "v1.10.0-rc.1"} {
		if err := build(repository, folder, version); err != nil {
			t.Fatal(err)
		}
	}
	var versions []string
	list, err := os.ReadFile(filepath.Join(folder, "versions.json"))
	if err == nil {
		err = json.Unmarshal(list, &versions)
	}
	if diff := cmp.Diff([]string{"v1.10.0", "v1.10.0-rc.1", "v1.9.0", "main"}, versions); err != nil || diff != "" {
		t.Errorf("versions: %v (-want +got)\n%s", err, diff)
	}
	for name, want := range map[string]string{
		"index.html":         "url=v1.10.0/",
		"main/index.html":    `<a href="tracing.html">Trace, why and explain</a>`,
		"main/commands.html": `<a href="interventions.html#clients">`,
		"main/testing.html":  `href="https://github.com/ctrlplane/ctrlplane/blob/main/examples/operator`,
	} {
		page, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil || !strings.Contains(string(page), want) {
			t.Errorf("%s: %v, want %q:\n%.2000s", name, err, want, page)
		}
	}
	if err := build(repository, folder, "../elsewhere"); err == nil {
		t.Error("a version that is a path is accepted")
	}
}

func TestBrokenLinks(t *testing.T) {
	for content, want := range map[string]string{
		"[a](other.md)":           "docs/other.md does not exist",
		"[a](../other.md)":        "other.md does not exist",
		"[a](page.md#nothing)":    "docs/page.md has no heading #nothing",
		"[a](#nothing)":           "docs/page.md has no heading #nothing",
		"![a](other.png)":         "docs/other.png does not exist",
		"# A b\n[a](#a-b)":        "",
		"[a](page.md)":            "",
		"[a](https://other.test)": "",
	} {
		p := parsePage("docs/page.md", "page.html", []byte(content))
		_, broken := p.relink(t.TempDir(), map[string]*page{p.source: p})
		if got := len(broken) > 0; got != (want != "") || got && !strings.Contains(broken[0].Error(), want) {
			t.Errorf("%s: %v, want %q", content, broken, want)
		}
	}
}

// TestSearch searches in a browser, and follows the first result with the keyboard.
func TestSearch(t *testing.T) {
	browser, err := exec.LookPath("chromium")
	if err != nil {
		t.Skip("chromium is not in PATH: the search is not tested")
	}
	folder := t.TempDir()
	if err := build(repository, folder, "main"); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(http.FileServer(http.Dir(folder)))
	defer server.Close()
	ctx, cancel := chromedp.NewExecAllocator(t.Context(), append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(browser), chromedp.UserDataDir(t.TempDir()), chromedp.NoSandbox, chromedp.DisableGPU)...)
	defer cancel()
	ctx, cancel = chromedp.NewContext(ctx)
	defer cancel()
	chosen := chromedp.CSS("#results a.chosen")
	if err := chromedp.Do(ctx, chromedp.Navigate(server.URL+"/main/index.html"),
		chromedp.SendKeys(chromedp.CSS("#search"), "exit codes"), chromedp.WaitVisible(chosen)); err != nil {
		t.Fatal(err)
	}
	first, err := chromedp.Run(ctx, chromedp.Text(chosen))
	if err != nil || !strings.Contains(first, "Exit codes") {
		t.Errorf("first result %q: %v", first, err)
	}
	if err := chromedp.Do(ctx, chromedp.KeyEvent(kb.Enter), chromedp.WaitVisible(chromedp.CSS("#exit-codes"))); err != nil {
		t.Errorf("enter does not lead to the first result: %v", err)
	}
}
