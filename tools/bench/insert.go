package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
)

// docHeading begins a file that insert has to make.
const docHeading = "# Performance\n\nWhat stands between two comments is written by the bench; everything else is yours.\n"

// insertSection writes a text between the comments of a Markdown file that name it, in
// place of what stood there, or at the end.
func insertSection(path, name, text string) error {
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		data, err = []byte(docHeading), nil
	}
	if err != nil {
		return err
	}
	doc, err := replaceSection(string(data), name, text)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return os.WriteFile(path, []byte(doc), 0o644)
}

func replaceSection(doc, name, text string) (string, error) {
	begin, end := "<!-- begin "+name+" -->\n", "<!-- end "+name+" -->\n"
	section := begin + "\n" + strings.TrimRight(text, "\n") + "\n\n" + end
	before, rest, found := strings.Cut(doc, begin)
	if !found {
		return strings.TrimRight(doc, "\n") + "\n\n" + section, nil
	}
	_, after, found := strings.Cut(rest, end)
	if !found {
		return "", fmt.Errorf("%q is not followed by %q: add it where the generated text ends", strings.TrimSpace(begin), strings.TrimSpace(end))
	}
	return before + section + after, nil
}
