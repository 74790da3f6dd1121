package ui

import (
	"fmt"

	"github.com/ctrlplane/ctrlplane/control"
	"github.com/ctrlplane/ctrlplane/internal/words"
)

// DescribeFailedNode says that a simulated node was failed, and which command recovers it; "" if it was not.
func DescribeFailedNode(list []control.Node, name string, command func(string) string) string {
	for _, n := range list {
		if n.Name == name && n.Failed {
			return words.OneLine(fmt.Sprintf("%s was failed by %q: to undo it: %s", name, "nodes fail", command("nodes recover "+name)))
		}
	}
	return ""
}
