// Package explain says in plain words how the parts of a control plane work:
// what each controller is for, how it decides and how it fails. That is written
// down, a page for each; what can be observed or asked is not.
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

// Page is what is written down of a controller, in pages/NAME.yaml.
type Page struct {
	Name    string   `json:"-"`
	Aliases []string `json:"aliases"` // of parts that are no controllers: these tell their own
	Group   string   `json:"group"`   // the ID of one of Groups
	Purpose string   `json:"purpose"` // two sentences
	// Queues says what a key is, by the queue's name; "" stands for those without one.
	Queues   map[string]string `json:"queues"`
	Decides  []string          `json:"decides"` // how it decides, one thing at a time
	Here     []string          `json:"here"`    // what is different in ctrlplane
	Fails    []Failure         `json:"fails"`
	As       []string          `json:"as"`       // who it acts as: a service account in kube-system, system:USER or group:GROUP
	Flags    []string          `json:"flags"`    // of kube-controller-manager, beyond those upstream lists under its name
	Settings []string          `json:"settings"` // flags of "ctrlplane up"
	Source   []string          `json:"source"`   // files, by import path
	Drawing  string            `json:"drawing"`  // lines of at most 78 columns
}

// Failure is something that goes wrong: what is seen, and what it means.
type Failure struct {
	Sign  string `json:"sign"`
	Means string `json:"means"`
}

// Group is a heading over some of the pages.
type Group struct{ ID, Title string }

// Groups are the headings, in order.
var Groups = []Group{
	{"workloads", "Workloads"},
	{"nodes", "Pods and nodes"},
	{"network", "Services and addresses"},
	{"storage", "Storage"},
	{"namespaces", "Namespaces, owners and limits"},
	{"identities", "Identities and certificates"},
	{"api", "The storage of the API itself"},
	{"cloud", "Parts of a cloud"},
	{"parts", "Parts that are no controllers"},
}

// Pages are all pages, in the order of Groups, then by name.
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

// Purpose says in two sentences what a controller, the API server or the
// scheduler is for; empty if the name is not known.
func Purpose(controller string) string {
	p, _ := FindPage(controller)
	return p.Purpose
}

// loadPages reads the pages once. They are part of the program: one that cannot be
// read is a mistake that the tests find.
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

// groupRank is where the page's group stands.
func (p Page) groupRank() int {
	return slices.IndexFunc(Groups, func(g Group) bool { return g.ID == p.Group })
}

// ShortName is the name without its ending.
func (p Page) ShortName() string { return strings.TrimSuffix(p.Name, "-controller") }
