package screen

import (
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/charmbracelet/x/vt"

	"github.com/ctrlplane/ctrlplane/internal/testutil"
)

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
	testutil.Golden(t, "testdata/picture.golden", []byte(got))
}

func TestInvertLightness(t *testing.T) {
	for dark, light := range map[string]string{"#000000": "#ffffff", "#ffffff": "#000000", "#87d787": "#287828", "#3fb950": "#2f893b", "#8b949e": "#616a74"} {
		if got := invertLightness(dark); got != light {
			t.Errorf("%s becomes %s, want %s", dark, got, light)
		}
	}
}
