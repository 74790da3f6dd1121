// Package explain describes how the components of a control plane work: what each
// controller is for, how it decides and how it fails. There is one page per
// controller; what can be observed or asked is added at run time.
package explain

import (
	"embed"
	"fmt"
	"slices"
	"strings"
	"sync"

	"sigs.k8s.io/yaml"
)

//go:embed pages/*.yaml
var pageFiles embed.FS

// Page is the text about a controller, read from pages/NAME.yaml.
type Page struct {
	Name    string   `json:"-"`
	Aliases []string `json:"aliases"` // only of components that are not controllers; controllers report their own
	Group   string   `json:"group"`   // the ID of one of groups
	Purpose string   `json:"purpose"` // two sentences
	// Queues maps the queue's name to what a key in it is; "" stands for unnamed queues.
	Queues   map[string]string `json:"queues"`
	Decides  []string          `json:"decides"` // how it decides, one rule per item
	Here     []string          `json:"here"`    // what differs in ctrlplane
	Fails    []Failure         `json:"fails"`
	As       []string          `json:"as"`       // the identities it acts as: service accounts in kube-system, system:USER or group:GROUP
	Flags    []string          `json:"flags"`    // of kube-controller-manager, in addition to those that upstream lists under its name
	Settings []string          `json:"settings"` // flags of "ctrlplane up"
	Source   []string          `json:"source"`   // files, by import path
	Drawing  string            `json:"drawing"`  // lines of at most 78 columns
}

// Failure is a possible failure: its symptom, and what it means.
type Failure struct {
	Sign  string `json:"sign"`
	Means string `json:"means"`
}

// Group is a group of pages, with its heading.
type Group struct{ ID, Title string }

// groups lists the groups in order.
var groups = []Group{
	{"workloads", "Workloads"},
	{"nodes", "Pods and nodes"},
	{"network", "Services and addresses"},
	{"storage", "Storage"},
	{"namespaces", "Namespaces, owners and limits"},
	{"identities", "Identities and certificates"},
	{"api", "The storage of the API itself"},
	{"cloud", "Cloud controllers"},
	{"parts", "Components that are not controllers"},
}

// Pages returns all pages, in the order of groups, then by name.
func Pages() []Page { return slices.Clone(loadPages()) }

// FindPage returns the page of that name.
func FindPage(name string) (Page, bool) {
	all := loadPages()
	i := slices.IndexFunc(all, func(p Page) bool { return p.Name == name })
	if i < 0 {
		return Page{}, false
	}
	return all[i], true
}

// Purpose describes in two sentences what a controller, the API server or the
// scheduler is for. It is empty if the name is unknown.
func Purpose(controller string) string {
	p, _ := FindPage(controller)
	return p.Purpose
}

// loadPages reads the pages once. They are embedded in the program, so a page that
// cannot be read is a bug that the tests find.
var loadPages = sync.OnceValue(func() []Page {
	pages, err := readPages()
	if err != nil {
		panic(err)
	}
	return pages
})

func readPages() ([]Page, error) {
	entries, err := pageFiles.ReadDir("pages")
	if err != nil {
		return nil, fmt.Errorf("explain: %w", err)
	}
	var pages []Page
	for _, e := range entries {
		data, err := pageFiles.ReadFile("pages/" + e.Name())
		if err != nil {
			return nil, fmt.Errorf("explain: %w", err)
		}
		p := Page{Name: strings.TrimSuffix(e.Name(), ".yaml")}
		if err := yaml.UnmarshalStrict(data, &p); err != nil {
			return nil, fmt.Errorf("explain: page %s: %w", p.Name, err)
		}
		pages = append(pages, p)
	}
	slices.SortStableFunc(pages, func(a, b Page) int { return a.groupRank() - b.groupRank() })
	return pages, nil
}

// GroupTitle returns the heading of the page's group.
func (p Page) GroupTitle() string { return groups[p.groupRank()].Title }

// groupRank is the position of the page's group in groups.
func (p Page) groupRank() int {
	return slices.IndexFunc(groups, func(g Group) bool { return g.ID == p.Group })
}

// ShortName is the name without its suffix.
func (p Page) ShortName() string { return strings.TrimSuffix(p.Name, "-controller") }
