package learn

import (
	"embed"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/ctrlplane/ctrlplane/internal/suggest"
)

//go:embed lessons/*.md
var lessonFiles embed.FS

// All returns the lessons that are part of the program, in order.
func All() ([]*Lesson, error) {
	names, err := fs.Glob(lessonFiles, "lessons/*.md")
	if err != nil {
		return nil, err
	}
	slices.Sort(names)
	var list []*Lesson
	for _, name := range names {
		data, err := lessonFiles.ReadFile(name)
		if err != nil {
			return nil, err
		}
		l, err := parseLesson(path.Base(name), data)
		if err != nil {
			return nil, err
		}
		list = append(list, l)
	}
	return list, nil
}

// Find returns the lesson with this number or name.
func Find(list []*Lesson, word string) (*Lesson, error) {
	var names []string
	for _, l := range list {
		number, name, _ := strings.Cut(l.Name, "-")
		if word == l.Name || word == name || strings.TrimLeft(word, "0") == strings.TrimLeft(number, "0") {
			return l, nil
		}
		names = append(names, name)
	}
	hint := suggest.Hint(word, names, `"ctrlplane learn --list" lists them; the name of a file has to end in .md`)
	return nil, fmt.Errorf("unknown lesson %q: %s", word, hint)
}
