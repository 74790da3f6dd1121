package learn

import (
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"github.com/ctrlplane/ctrlplane/ui"
)

// No terminal of 100 columns breaks the lines of a file. A command that the reader types is one line.
func TestListingsFit(t *testing.T) {
	all, err := All()
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range all {
		for _, step := range l.Steps {
			for _, part := range step.Parts {
				c, ok := part.(*Code)
				if !ok || c.File == "" {
					continue
				}
				for line := range strings.Lines((style{ui.Mode{}}).renderCode(c)) {
					if width := ansi.StringWidth(strings.TrimSuffix(line, "\n")); width > 100 {
						t.Errorf("%s, %s has %d columns: %s", l.Name, c.File, width, line)
					}
				}
			}
		}
	}
}
