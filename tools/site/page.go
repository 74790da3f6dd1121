package main

import (
	"bytes"
	"fmt"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
)

// page is one Markdown file of the repository.
type page struct {
	source string // path in the repository, with slashes
	name   string // file name in the site
	title  string
	text   []byte
	root   ast.Node
	ids    map[string]bool // of its headings
}

var markdown = goldmark.New(goldmark.WithExtensions(extension.GFM), goldmark.WithParserOptions(parser.WithAutoHeadingID()))

// topPages are the pages outside docs/, and what they are called in the site.
var topPages = map[string]string{
	"README.md":       "index.html",
	"CONTRIBUTING.md": "contributing.html",
	"CHANGELOG.md":    "changelog.html",
	"SECURITY.md":     "security.html",
}

// readPages reads the Markdown files of the site, by their paths.
func readPages(repository string) (map[string]*page, error) {
	names := map[string]string{}
	for source, name := range topPages {
		names[source] = name
	}
	files, err := filepath.Glob(filepath.Join(repository, "docs", "*.md"))
	if err != nil {
		return nil, err
	}
	for _, file := range files {
		base := strings.TrimSuffix(filepath.Base(file), ".md")
		names[path.Join("docs", base+".md")] = strings.Replace(base, "README", "contents", 1) + ".html"
	}
	pages := map[string]*page{}
	for source, name := range names {
		content, err := os.ReadFile(filepath.Join(repository, filepath.FromSlash(source)))
		if err != nil {
			return nil, err
		}
		pages[source] = parsePage(source, name, content)
	}
	return pages, nil
}

func parsePage(source, name string, content []byte) *page {
	p := &page{source: source, name: name, text: content, ids: map[string]bool{}, title: name}
	p.root = markdown.Parser().Parse(text.NewReader(content))
	for n := p.root.FirstChild(); n != nil; n = n.NextSibling() {
		heading, ok := n.(*ast.Heading)
		if !ok {
			continue
		}
		if heading.Level == 1 {
			p.title = plainText(heading, content)
		}
		if id := headingID(heading); id != "" {
			p.ids[id] = true
		}
	}
	return p
}

func headingID(heading *ast.Heading) string {
	value, _ := heading.AttributeString("id")
	id, _ := value.([]byte)
	return string(id)
}

// plainText returns the text below a node without its formatting.
func plainText(node ast.Node, source []byte) string {
	var b strings.Builder
	_ = ast.Walk(node, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		switch n := n.(type) {
		case *ast.Text:
			if entering {
				b.Write(n.Segment.Value(source))
				b.WriteByte(' ')
			}
		case *ast.CodeBlock, *ast.FencedCodeBlock:
			if entering {
				b.Write(n.Lines().Value(source))
			}
		}
		return ast.WalkContinue, nil
	})
	return strings.Join(strings.Fields(b.String()), " ")
}

// html renders the page.
func (p *page) html() (string, error) {
	var out bytes.Buffer
	err := markdown.Renderer().Render(&out, p.text, p.root)
	return out.String(), err
}

// relink turns the links of a page into those of the site. It returns the files of the
// repository that the page shows, such as pictures, and an error for each broken link.
func (p *page) relink(repository string, pages map[string]*page) (assets []string, broken []error) {
	relinkOne := func(destination []byte, shown bool) []byte {
		target, asset, err := p.resolve(repository, pages, string(destination), shown)
		if err != nil {
			broken = append(broken, fmt.Errorf("%s: link to %s: %w", p.source, destination, err))
		}
		if asset != "" {
			assets = append(assets, asset)
		}
		return []byte(target)
	}
	_ = ast.Walk(p.root, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		switch n := n.(type) {
		case *ast.Link:
			if entering {
				n.Destination = relinkOne(n.Destination, false)
			}
		case *ast.Image:
			if entering {
				n.Destination = relinkOne(n.Destination, true)
			}
		}
		return ast.WalkContinue, nil
	})
	return assets, broken
}

const sourceURL = "https://github.com/ctrlplane/ctrlplane/blob/main/"

// resolve returns what a link of the page is in the site, and the file of the repository
// that has to be copied for it.
func (p *page) resolve(repository string, pages map[string]*page, destination string, shown bool) (target, asset string, err error) {
	link, err := url.Parse(destination)
	if err != nil {
		return destination, "", err
	}
	if link.Scheme != "" || link.Host != "" {
		return destination, "", nil
	}
	file := p.source
	if link.Path != "" {
		file = path.Join(path.Dir(p.source), link.Path)
	}
	if to := pages[file]; to != nil {
		if link.Fragment == "" {
			return to.name, "", nil
		}
		if !to.ids[link.Fragment] {
			return destination, "", fmt.Errorf("%s has no heading #%s", to.source, link.Fragment)
		}
		return to.name + "#" + link.Fragment, "", nil
	}
	if _, err := os.Stat(filepath.Join(repository, filepath.FromSlash(file))); err != nil {
		return destination, "", fmt.Errorf("%s does not exist", file)
	}
	if shown {
		return path.Base(file), file, nil
	}
	return sourceURL + file, "", nil
}
