package main

import (
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"github.com/ctrlplane/ctrlplane"
	"github.com/ctrlplane/ctrlplane/internal/usage"
)

// newManCommand returns the verb that writes the man pages of a release. It is hidden:
// packages install the pages, and elsewhere --help has the same text.
func newManCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "man DIR",
		Short:   "Write a man page for each verb",
		Example: `  ctrlplane man ~/.local/share/man/man1`,
		Hidden:  true,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usage.Errorf("man takes one folder to write to, got %q", args)
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return writeManPages(cmd.Root(), args[0]) },
	}
}

// writeManPages writes ctrlplane.1, ctrlplane-up.1 and so on. They have the date of
// SOURCE_DATE_EPOCH, if that is set, so that two builds of a release are the same.
func writeManPages(root *cobra.Command, dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	root.DisableAutoGenTag = true
	return doc.GenManTree(root, &doc.GenManHeader{
		Section: "1",
		Source:  "ctrlplane " + ctrlplane.Version(),
		Manual:  "ctrlplane",
	}, dir)
}
