package live

import (
	"fmt"
	"slices"
	"strings"

	"github.com/charmbracelet/colorprofile"
)

// Themes are the values of Options.Theme: auto follows the background of the terminal.
var Themes = []string{"auto", "light", "dark", "mono"}

// CheckTheme returns an error unless name is one of Themes.
func CheckTheme(name string) error {
	if slices.Contains(Themes, name) {
		return nil
	}
	return fmt.Errorf("unknown theme %q: use %s", name, strings.Join(Themes, ", "))
}

// palette is what is known about the terminal and wanted by the user. It determines the
// theme.
type palette struct {
	wanted     string // one of Themes; empty = auto
	color      bool
	ascii      bool
	few        bool // the terminal has only 16 colours
	background *bool
}

// theme returns the theme. Until a terminal has told its background, its own palette is
// used, which is readable on any.
func (p palette) theme() *theme {
	o := themeOptions{color: p.color, ascii: p.ascii, dark: true, basic: p.few}
	switch p.wanted {
	case "mono":
		o.mono = true
	case "light":
		o.dark = false
	case "dark":
	default:
		if p.background == nil {
			o.basic = true
		} else {
			o.dark = *p.background
		}
	}
	return o.build()
}

// withPalette changes what is known about the terminal.
func (m model) withPalette(change func(*palette)) model {
	change(&m.palette)
	m.theme = m.palette.theme()
	return m
}

// withProfile applies the number of colours of the terminal.
func (p *palette) withProfile(profile colorprofile.Profile) {
	p.color = p.color && profile >= colorprofile.ANSI
	p.few = profile < colorprofile.ANSI256
}
