package screen

import (
	"encoding/xml"
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/charmbracelet/x/vt"
	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func TestScreenSVG(t *testing.T) {
	e := vt.NewEmulator(24, 5)
	for _, row := range []string{
		"\x1b[1;38;5;80mQueues\x1b[m ───────\r\n",
		"\x1b[48;5;237m▌a<b & \"c\" \x1b[38;5;114m✓\x1b[m\r\n",
		"▁▂██▍ \x1b[2mfaint\x1b[m \x1b[7mturned\x1b[m\r\n",
		"\x1b[3;4mboth\x1b[m 界 wide",
	} {
		if _, err := e.WriteString(row); err != nil {
			t.Fatal(err)
		}
	}
	got := drawScreen(e)
	for d := xml.NewDecoder(strings.NewReader(got)); ; {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
	path := filepath.Join("testdata", "picture.golden")
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.ReplaceAll(string(want), "\r\n", "\n"), got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestInvertLightness(t *testing.T) {
	for dark, light := range map[string]string{"#000000": "#ffffff", "#ffffff": "#000000", "#87d787": "#287828", "#3fb950": "#2f893b", "#8b949e": "#616a74"} {
		if got := invertLightness(dark); got != light {
			t.Errorf("%s becomes %s, want %s", dark, got, light)
		}
	}
}
