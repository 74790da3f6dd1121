package learn

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

var notInName = regexp.MustCompile(`[^a-z0-9]+`)

// Namespace is where the lesson takes place.
func (l *Lesson) Namespace() string {
	name := strings.Trim(notInName.ReplaceAllString(strings.ToLower(l.Name), "-"), "-")
	number, _, _ := strings.Cut(name, "-")
	if trimmed := strings.TrimLeft(number, "0"); trimmed != "" && strings.Trim(trimmed, "0123456789") == "" {
		name = trimmed
	}
	return strings.TrimRight("lesson-"+name[:min(len(name), 40)], "-")
}

// prepare makes the lesson's namespace, folders and shell.
func (r *runner) prepare(ctx context.Context) (err error) {
	if r.plane, err = newPlane(ctx, r.Config); err != nil {
		return err
	}
	if err := r.plane.knows(r.lesson); err != nil {
		return err
	}
	namespace := r.lesson.Namespace()
	if err := r.plane.claim(ctx, namespace, r.lesson.Namespaces); err != nil {
		return err
	}
	if r.tools, err = os.MkdirTemp("", "ctrlplane-learn-"); err != nil {
		return err
	}
	dir := r.Dir
	if dir == "" {
		dir = filepath.Join(r.tools, "lesson")
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	if r.shell, err = newShell(dir, r.tools, namespace, r.Config, r.Program, r.Target); err != nil {
		return err
	}
	if err := writeModule(dir, r.lesson); err != nil {
		return err
	}
	if !r.Auto {
		r.shell.in = r.In
	}
	r.probe = &probe{plane: r.plane, shell: r.shell}
	if r.hands, err = r.plane.hands(ctx, r.lesson.Nodes); err != nil {
		return err
	}
	return r.probe.begin(ctx)
}
