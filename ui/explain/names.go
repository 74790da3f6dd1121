package explain

import (
	"slices"

	"github.com/ctrlplane/ctrlplane/internal/suggest"
)

// Names finds pages by what people call them. Aliases are those of controllers,
// by name.
type Names struct{ pageNames map[string]string }

// NewNames knows every page's name, that without its ending, and the aliases.
func NewNames(aliases map[string][]string) Names {
	n := Names{pageNames: map[string]string{}}
	for _, p := range loadPages() {
		n.pageNames[p.ShortName()] = p.Name
		for _, alias := range slices.Concat(p.Aliases, aliases[p.Name]) {
			n.pageNames[alias] = p.Name
		}
	}
	for _, p := range loadPages() { // a name goes before another one's alias
		n.pageNames[p.Name] = p.Name
	}
	return n
}

// Resolve returns the name of the page that word stands for or, if there is
// none, the nearest word that one does; empty if none is near.
func (n Names) Resolve(word string) (name, nearest string, ok bool) {
	if name, ok := n.pageNames[word]; ok {
		return name, "", true
	}
	var known []string
	for k := range n.pageNames {
		known = append(known, k)
	}
	nearest, _ = suggest.Nearest(word, known)
	return "", nearest, false
}
