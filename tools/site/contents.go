package main

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"

	"github.com/yuin/goldmark/ast"
)

// section is a part of the table of contents, as docs/README.md has it.
type section struct {
	Title string
	Pages []entry
}

type entry struct{ Title, Name string }

// readContents reads the table of contents from docs/README.md: its headings, and the
// pages that it links to. A page that it does not name would not be found: that is an error.
func readContents(pages map[string]*page) ([]section, error) {
	readme := pages["docs/README.md"]
	if readme == nil {
		return nil, fmt.Errorf("docs/README.md does not exist")
	}
	var contents []section
	named := map[*page]bool{readme: true}
	err := ast.Walk(readme.root, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Heading:
			if n.Level == 2 {
				contents = append(contents, section{Title: plainText(n, readme.text)})
			}
		case *ast.Link:
			p := pages[path.Join("docs", string(n.Destination))]
			if p != nil && len(contents) > 0 {
				last := &contents[len(contents)-1]
				last.Pages = append(last.Pages, entry{plainText(n, readme.text), p.name})
				named[p] = true
			}
		}
		return ast.WalkContinue, nil
	})
	for _, p := range pages {
		if err == nil && path.Dir(p.source) == "docs" && !named[p] {
			err = fmt.Errorf("docs/README.md does not name %s", p.source)
		}
	}
	return contents, err
}

// searchEntry is one heading and the text up to the next one.
type searchEntry struct {
	Page    string `json:"page"` // its title
	Heading string `json:"heading"`
	Link    string `json:"link"`
	Text    string `json:"text"`
}

// writeSearchIndex writes what search.js looks through.
func writeSearchIndex(dir string, pages map[string]*page) error {
	var index []searchEntry
	for _, p := range pages {
		index = append(index, searchEntries(p)...)
	}
	slices.SortFunc(index, func(a, b searchEntry) int { return cmpLinks(a.Link, b.Link) })
	content, err := json.Marshal(index)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "search.json"), content, 0o644)
}

func cmpLinks(a, b string) int {
	if a < b {
		return -1
	}
	return 1
}

func searchEntries(p *page) []searchEntry {
	entries := []searchEntry{{Page: p.title, Heading: p.title, Link: p.name}}
	for n := p.root.FirstChild(); n != nil; n = n.NextSibling() {
		if heading, ok := n.(*ast.Heading); ok {
			if heading.Level > 1 {
				entries = append(entries, searchEntry{p.title, plainText(heading, p.text), p.name + "#" + headingID(heading), ""})
			}
			continue
		}
		entries[len(entries)-1].Text += plainText(n, p.text) + " "
	}
	return entries
}

// assetsOfTheme are the files that pages load.
func assetsOfTheme() fs.FS {
	sub, err := fs.Sub(theme, "theme/assets")
	if err != nil {
		panic(err) // the folder is embedded
	}
	return sub
}
