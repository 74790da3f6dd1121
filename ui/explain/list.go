package explain

import (
	"fmt"
	"io"
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// nameWidth is the width of the name column; few names are longer.
const nameWidth = 34

// WriteList writes one line per page, by group. Lines are cut to the width if it is
// known.
func WriteList(out io.Writer, s Style) error {
	w := &entryWriter{Style: s}
	group := ""
	for _, p := range loadPages() {
		if p.Group != group {
			if group != "" {
				w.writeLine("")
			}
			w.writeLine(w.heading(p.GroupTitle()))
			group = p.Group
		}
		sentence, _, _ := strings.Cut(p.Purpose, ". ")
		text := fmt.Sprintf("  %-*s  %s", nameWidth, p.ShortName(), w.plainText(sentence))
		if s.Width > 0 {
			text = ansi.Truncate(text, s.Width, w.plainText("…"))
		}
		w.writeLine(text)
	}
	_, err := out.Write(w.Bytes())
	return err
}

// ListItem is one page in a list.
type ListItem struct {
	Name    string   `json:"name"`
	Aliases []string `json:"aliases,omitempty"`
	Group   string   `json:"group"`
	Purpose string   `json:"purpose"`
}

// List lists all pages, with the aliases of the controllers.
func List(aliases map[string][]string) []ListItem {
	var items []ListItem
	for _, p := range loadPages() {
		e := p.NewEntry(Facts{Aliases: aliases})
		items = append(items, ListItem{e.Name, e.Aliases, e.Group, e.Purpose})
	}
	return items
}
