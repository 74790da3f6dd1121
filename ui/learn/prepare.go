package learn

import (
	"context"
	"os"
	"regexp"
	"strings"

	"github.com/ctrlplane/ctrlplane/internal/datadir"
	"github.com/ctrlplane/ctrlplane/internal/words"
)

var invalidNameChars = regexp.MustCompile(`[^a-z0-9]+`)

// Namespace is the lesson's namespace.
func (l *Lesson) Namespace() string {
	name := strings.Trim(invalidNameChars.ReplaceAllString(strings.ToLower(l.Name), "-"), "-")
	number, _, _ := strings.Cut(name, "-")
	if trimmed := strings.TrimLeft(number, "0"); trimmed != "" && strings.Trim(trimmed, "0123456789") == "" {
		name = trimmed
	}
	return strings.TrimRight("lesson-"+name[:min(len(name), 40)], "-")
}

// prepare creates the lesson's folders, shell and namespace.
func (r *runner) prepare(ctx context.Context) (err error) {
	needs := "namespace " + r.lesson.Namespace()
	if n := r.lesson.Nodes; n > 0 {
		needs += " and " + words.Count(n, "ready node")
	}
	defer r.sayIfSlow("Preparing the lesson, which needs " + needs + " …")()
	if r.plane, err = newControlPlane(ctx, r.Config); err != nil {
		return err
	}
	if err := r.plane.checkControllerNames(r.lesson); err != nil {
		return err
	}
	if r.tools, err = datadir.OpenTempFiles(datadir.LessonPrefix); err != nil {
		return err
	}
	dir := r.Dir
	if dir == "" {
		dir = r.tools.Join("lesson")
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	namespace := r.lesson.Namespace()
	if r.shell, err = newShell(dir, r.tools.Path(), namespace, r.Config, r.Program, r.Target); err != nil {
		return err
	}
	if r.created, err = r.plane.createNamespace(ctx, namespace, r.lesson.Namespaces); err != nil {
		return err
	}
	if err := writeModule(dir, r.lesson); err != nil {
		return err
	}
	if !r.Auto {
		r.shell.in = r.In
	}
	r.shell.columns = r.Columns
	r.complete = r.shell.completeCommand
	r.probe = &probe{controlPlane: r.plane, shell: r.shell}
	if r.initial, err = r.plane.recordState(ctx); err != nil {
		return err
	}
	if err := r.plane.addMissingNodes(ctx, r.lesson.Nodes); err != nil {
		return err
	}
	return r.probe.markStart(ctx)
}
