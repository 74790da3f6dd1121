package shell

import (
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// ImageFiles returns the files that a command copies with cp from an image that the engine
// does not have, as init containers do to give other containers a program: absolute paths,
// literal ones, that the shared image lacks and that nothing else in the command mentions.
// Below what is mounted they may exist all the same.
func ImageFiles(args []string) (files []string) {
	if len(args) == 0 || !CanRun(args) {
		return nil
	}
	script, ok := inlineScript(args)
	switch {
	case ok && strings.Contains(script, "cp "):
		return scriptImageFiles(script)
	case !ok && path.Base(args[0]) == "cp":
		return slices.DeleteFunc(copySources(args[1:]), func(name string) bool { return !isOfImage(name) })
	}
	return nil
}

func scriptImageFiles(script string) (files []string) {
	file, err := parse(script)
	if err != nil {
		return nil
	}
	defer func() {
		if recover() != nil { // the library cannot walk this script: it is left to the shell
			files = nil
		}
	}()
	var others []string // words in which something else may make or look for a path
	var walk func(syntax.Node) bool
	walk = func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.BinaryCmd:
			if n.Op == syntax.OrStmt { // the script handles a failure
				others = append(others, literals(n.X)...)
			}
		case *syntax.CallExpr:
			sources, targets, ok := copyOperands(n)
			if !ok {
				break
			}
			files, others = append(files, sources...), append(others, targets...)
			walkBesideLiterals(n, walk)
			return false
		case *syntax.Word:
			others = append(others, literal(n))
		}
		return true
	}
	syntax.Walk(file, walk)
	files = slices.DeleteFunc(files, func(name string) bool {
		return !isOfImage(name) || slices.ContainsFunc(others, func(other string) bool { return mentions(other, name) })
	})
	return files[:min(len(files), maxUnknown)]
}

// copyOperands returns the sources and the other literal words of a command; ok is false if it is not cp.
func copyOperands(call *syntax.CallExpr) (sources, others []string, ok bool) {
	name := commandName(call)
	list := make([]string, len(call.Args))
	for i, word := range call.Args {
		list[i] = literal(word)
	}
	at := slices.Index(list, name)
	if path.Base(name) != "cp" || at < 0 {
		return nil, nil, false
	}
	sources = copySources(list[at+1:])
	return sources, slices.DeleteFunc(list, func(name string) bool { return slices.Contains(sources, name) }), true
}

// walkBesideLiterals walks the assignments of a command and those of its words that are not literal.
func walkBesideLiterals(call *syntax.CallExpr, walk func(syntax.Node) bool) {
	for _, as := range call.Assigns {
		syntax.Walk(as, walk)
	}
	for _, word := range call.Args {
		if literal(word) == "" {
			syntax.Walk(word, walk)
		}
	}
}

// mentions reports whether a word is a path that overlaps with another one, or an option or assignment
// with such a value.
func mentions(word, name string) bool {
	_, value, _ := strings.Cut(word, "=")
	return overlap(name, word) || overlap(name, value)
}

// literals returns the literal words below a node; one that is not literal is empty.
func literals(n syntax.Node) (list []string) {
	syntax.Walk(n, func(n syntax.Node) bool {
		word, ok := n.(*syntax.Word)
		if ok {
			list = append(list, literal(word))
		}
		return !ok
	})
	return list
}

// literal returns the text of a word without expansions, empty if it has some.
func literal(word *syntax.Word) string {
	var text strings.Builder
	for _, part := range word.Parts {
		switch part := part.(type) {
		case *syntax.Lit:
			text.WriteString(part.Value)
		case *syntax.SglQuoted:
			text.WriteString(part.Value)
		case *syntax.DblQuoted:
			inner := literal(&syntax.Word{Parts: part.Parts})
			if inner == "" && len(part.Parts) > 0 {
				return ""
			}
			text.WriteString(inner)
		default:
			return ""
		}
	}
	return text.String()
}

// copySources returns the sources among the arguments of cp, none if an option names the target.
func copySources(args []string) (sources []string) {
	for _, arg := range args {
		switch {
		case strings.HasPrefix(arg, "-t") || strings.HasPrefix(arg, "--target-directory"):
			return nil
		case !strings.HasPrefix(arg, "-"):
			sources = append(sources, shortName(arg))
		}
	}
	return sources[:max(len(sources)-1, 0)]
}

// notOfImage are folders and files that a container gets at run time.
var notOfImage = []string{"/dev", "/proc", "/sys", "/tmp", "/var/tmp", "/run", "/var/run", "/etc/hosts", "/etc/hostname", "/etc/resolv.conf"}

// isOfImage reports whether a path or pattern stands for files that only the image of the
// container could have.
func isOfImage(name string) bool {
	if !path.IsAbs(name) {
		return false
	}
	pattern := strings.IndexAny(name, "*?[")
	if pattern >= 0 {
		name = path.Dir(name[:pattern] + "x")
	}
	name = path.Clean(name)
	if slices.ContainsFunc(notOfImage, func(other string) bool { return isBelow(name, other) }) {
		return false
	}
	found := lookUpImage(name)
	return found == nil || pattern >= 0 && name != "/" && len(found.children) == 0
}

// lookUpImage returns what the shared image has at a path, nil if nothing.
func lookUpImage(name string) *node {
	found := image()
	for _, elem := range split(name) {
		if found = found.children[elem]; found == nil {
			return nil
		}
	}
	return found
}

// overlap reports whether one of two paths is the other, or below it.
func overlap(a, b string) bool {
	a, b = path.Clean(a), path.Clean(b)
	return b != "/" && path.IsAbs(b) && (isBelow(a, b) || isBelow(b, a))
}

func isBelow(name, dir string) bool {
	return name == dir || strings.HasPrefix(name, strings.TrimSuffix(dir, "/")+"/")
}
