package explain

import (
	"fmt"
	"io"
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// nameWidth is the room that names have in a list; few need more.
const nameWidth = 34

// WriteList writes a line for each page, by group. Where the width is known,
// lines are cut to it.
func WriteList(out io.Writer, s Style) error {
	w := &writer{Style: s}
	group := ""
	for _, p := range load() {
		if p.Group != group {
			if group != "" {
				w.line("")
			}
			w.line(w.heading(Groups[p.rank()].Title))
			group = p.Group
		}
		sentence, _, _ := strings.Cut(p.Purpose, ". ")
		text := fmt.Sprintf("  %-*s  %s", nameWidth, p.Short(), w.plain(sentence))
		if s.Width > 0 {
			text = ansi.Truncate(text, s.Width, w.plain("…"))
		}
		w.line(text)
	}
	_, err := out.Write(w.Bytes())
	return err
}

// Item is a page in a list.
type Item struct {
	Name    string   `json:"name"`
	Aliases []string `json:"aliases,omitempty"`
	Group   string   `json:"group"`
	Purpose string   `json:"purpose"`
}

// List lists the pages, with the aliases of controllers.
func List(aliases map[string][]string) []Item {
	var items []Item
	for _, p := range load() {
		e := p.Entry(Known{Aliases: aliases})
		items = append(items, Item{e.Name, e.Aliases, e.Group, e.Purpose})
	}
	return items
}
