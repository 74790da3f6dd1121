package main

import (
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ctrlplane/ctrlplane/internal/testutil"
)

func TestInsertSection(t *testing.T) {
	path := filepath.Join(t.TempDir(), "doc.md")
	for _, s := range [][2]string{{"bench", "one\n"}, {"growth", "two"}, {"bench", "three"}} {
		if err := insertSection(path, s[0], s[1]); err != nil {
			t.Fatal(err)
		}
	}
	got := testutil.ReadFile(t, path)
	want := docHeading + "\n<!-- begin bench -->\n\nthree\n\n<!-- end bench -->\n\n<!-- begin growth -->\n\ntwo\n\n<!-- end growth -->\n"
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestReplaceSectionKeepsOtherText(t *testing.T) {
	got, err := replaceSection("before\n<!-- begin x -->\nold\n<!-- end x -->\nafter\n", "x", "new")
	if want := "before\n<!-- begin x -->\n\nnew\n\n<!-- end x -->\nafter\n"; got != want || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestReplaceSectionRefusesMissingEnd(t *testing.T) {
	if got, err := replaceSection("<!-- begin x -->\nmy text\n", "x", "new"); err == nil {
		t.Errorf("got %q, which loses the text after the comment", got)
	}
}
