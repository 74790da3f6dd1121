package trace

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/ctrlplane/ctrlplane/observe"
)

// loadJournal reads records of a real control plane from lines of JSON.
func loadJournal(t *testing.T, name string) []observe.Record {
	t.Helper()
	f, err := os.Open(filepath.Join("testdata", name+".jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var list []observe.Record
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var r observe.Record
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		list = append(list, r)
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return list
}

// labelOf returns a write's node, verb and object and, if there is one, its version.
func labelOf(n *Node) string {
	s := n.ID + " " + n.Verb + " " + n.Object.Resource
	if n.Subresource != "" {
		s += "/" + n.Subresource
	}
	if n.Object.Name != "" {
		s += " " + n.Object.Name
	}
	switch {
	case n.gotError():
		s += fmt.Sprintf(" failed %d", n.Status)
	case n.ResourceVersion != "":
		s += " @" + n.ResourceVersion
	}
	return s
}

// causesOfWrites maps each write of a controller to the write that caused it.
func causesOfWrites(g *graph) map[string]string {
	all := map[string]string{}
	for _, n := range g.nodes {
		if n.Kind != Call || !n.isWrite() {
			continue
		}
		p := n.causedBy
		for p != nil && p.Kind != Call && p.Kind != Outside {
			p = p.causedBy
		}
		all[labelOf(n)] = "nothing"
		if p != nil {
			all[labelOf(n)] = labelOf(p)
		}
	}
	return all
}
