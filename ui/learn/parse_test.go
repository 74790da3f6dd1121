package learn

import (
	"errors"
	"strings"
	"testing"
	"time"
)

const testFrontMatter = "---\ntitle: T\nsummary: S\n---\n"

// Every error has its line and reason.
func TestParseErrorsHaveLineAndReason(t *testing.T) {
	do := func(yaml string) string {
		return testFrontMatter + "## One\n```do\nsay: x\nrun: y\n" + yaml + "\n```\n"
	} // its YAML begins on line 7
	for name, tc := range map[string]struct {
		text string
		line int
		says string
	}{
		"empty":                {"", 1, "front matter"},
		"no front matter":      {"# Title\n", 1, "front matter"},
		"open front matter":    {"---\ntitle: T\n", 1, "no end"},
		"no title":             {"---\nsummary: S\n---\n## One\n", 2, "no title"},
		"no summary":           {"---\ntitle: T\n---\n## One\n", 2, "no summary"},
		"front field":          {"---\ntitle: T\nsumary: S\n---\n", 3, `"sumary": did you mean "summary"?`},
		"front type":           {"---\ntitle: T\nsummary: S\nminutes: ten\n---\n", 4, `"ten" is not a number`},
		"negative nodes":       {"---\ntitle: T\nsummary: S\nnodes: -1\n---\n", 4, "negative"},
		"namespace":            {"---\ntitle: T\nsummary: S\nnamespaces: [a, B_]\n---\n", 4, `"B_"`},
		"object":               {"---\ntitle: T\nsummary: S\nobjects: [crd]\n---\n", 4, "KIND/NAME"},
		"no step":              {testFrontMatter, 5, "no step"},
		"text before":          {testFrontMatter + "hello\n", 5, "before the first step"},
		"block before":         {testFrontMatter + "```sh\nls\n```\n", 5, "before the first step"},
		"empty heading":        {testFrontMatter + "##  \n", 5, "empty"},
		"open block":           {testFrontMatter + "## One\n```do\nsay: x\n", 6, "no end"},
		"unknown block":        {testFrontMatter + "## One\n\n```aks\n```\n", 7, `"aks": did you mean "ask"?`},
		"strange block":        {testFrontMatter + "## One\n```brainfuck\n```\n", 6, "use one of"},
		"file name":            {testFrontMatter + "## One\n```sh file=../x\n```\n", 6, "without a folder"},
		"needs":                {testFrontMatter + "## One\n<!-- needs: go and git -->\n", 6, "one program"},
		"empty do":             {testFrontMatter + "## One\n```do\n```\n", 7, "empty"},
		"no say":               {testFrontMatter + "## One\n```do\nrun: x\n```\n", 6, "missing task"},
		"no run":               {testFrontMatter + "## One\n```do\nsay: x\n```\n", 6, "missing command"},
		"yaml":                 {do("until: [\n"), 9, ""},
		"field":                {do("untill: []"), 9, `"untill": did you mean "until"?`},
		"check field":          {do("until:\n- objekt: a/b"), 10, `"objekt": did you mean "object"?`},
		"duration":             {do("within: soon"), 9, "a duration such as 30s"},
		"check type":           {do("until:\n- count: pods\n  atLeast: many"), 11, "a number"},
		"null check":           {do("until:\n-"), 10, "empty"},
		"no measure":           {do("until:\n- is: 3"), 10, "measures exactly one of"},
		"two measures":         {do("until:\n- settled: true\n- count: pods\n  object: pod/x"), 11, "not 2: object, count"},
		"object name":          {do("until:\n- object: web"), 10, "KIND/NAME"},
		"no path":              {do("until:\n- object: pod/web\n  is: 3"), 10, "path"},
		"bad path":             {do("until:\n- object: pod/web\n  path: '{.a[}'"), 10, "JSONPath"},
		"stray path":           {do("until:\n- count: pods\n  path: .a"), 10, "path needs object"},
		"selector":             {do("until:\n- count: pods\n  where: 'a=(b'"), 10, "label selector"},
		"fields":               {do("until:\n- count: pods\n  fields: 'a'"), 10, "field selector"},
		"queue number":         {do("until:\n- queue: deployment\n  of: dept"), 10, "depth, inFlight"},
		"stray of":             {do("until:\n- count: pods\n  of: depth"), 10, "of needs queue"},
		"controller state":     {do("until:\n- controller: job"), 10, "missing state"},
		"gone":                 {do("until:\n- queue: job\n  of: depth\n  gone: true"), 10, "gone needs"},
		"settled":              {do("until:\n- settled: true\n  is: 1"), 10, "cannot be combined"},
		"pattern":              {do("until:\n- command: ls\n  matches: '('"), 10, "missing closing"},
		"unknown state":        {do("until:\n- controller: job\n  is: runing"), 10, `"runing" is not a state of a controller: did you mean "running"?`},
		"unknown other state":  {do("until:\n- controller: job\n  not: runing"), 10, `"running"`},
		"verb of calls":        {do("until:\n- records: {verb: added}"), 10, `verb: "added" is not one of get, list`},
		"verb of deliveries":   {do("until:\n- records: {kind: delivered, verb: update}"), 10, `verb: "update" is not one of`},
		"verb of syncs":        {do("until:\n- records: {kind: synced, verb: update}"), 10, "verb needs"},
		"tilde fence":          {testFrontMatter + "## One\n~~~do\nsay: x\n~~~\n", 6, "missing command"},
		"record kind":          {do("until:\n- records: {kind: sung}"), 10, `"sung"`},
		"negative within":      {do("within: -1s"), 9, "negative"},
		"nothing to run":       {testFrontMatter + "## One\n```run\nsay: x\n```\n", 6, "missing command (run) or check"},
		"nothing to show":      {testFrontMatter + "## One\n```show\nsay: x\n```\n", 6, "not 0"},
		"two to show":          {testFrontMatter + "## One\n```show\ntrace: a/b\nheld: c\n```\n", 6, "not 2"},
		"trace":                {testFrontMatter + "## One\n```show\ntrace: web\n```\n", 7, "KIND/NAME"},
		"why":                  {testFrontMatter + "## One\n```show\nwhy: pod\n```\n", 7, "where"},
		"stray depth":          {testFrontMatter + "## One\n```show\nheld: job\ndepth: 3\n```\n", 6, "need trace"},
		"stray says":           {testFrontMatter + "## One\n```show\nheld: job\nsays: a\n```\n", 6, "says needs log"},
		"no question":          {testFrontMatter + "## One\n```ask\nnumber: 3\n```\n", 6, "missing question"},
		"no answer":            {testFrontMatter + "## One\n```ask\nquestion: x\n```\n", 6, "not 0"},
		"one choice":           {testFrontMatter + "## One\n```ask\nquestion: x\nchoices:\n- {text: a, right: true}\n```\n", 9, "2 to 9"},
		"no right choice":      {testFrontMatter + "## One\n```ask\nquestion: x\nchoices:\n- {text: a, why: b}\n- {text: c, why: d}\n```\n", 9, "one has to be right, not 0"},
		"unexplained choice":   {testFrontMatter + "## One\n```ask\nquestion: x\nchoices:\n- {text: a, right: true}\n- {text: c}\n```\n", 10, `why "c" is wrong`},
		"answer does not fit":  {testFrontMatter + "## One\n```ask\nquestion: x\npattern: a+\nanswer: b\n```\n", 8, `"b" does not match`},
		"answer of open \\Q":   {testFrontMatter + "## One\n```ask\nquestion: x\npattern: '\\Qa.b'\nanswer: a.b\n```\n", 8, "missing closing )"},
		"pattern of two":       {testFrontMatter + "## One\n```ask\nquestion: x\npattern: 'a)(b'\nanswer: ab\n```\n", 8, "unexpected )"},
		"wrong of open \\Q":    {testFrontMatter + "## One\n```ask\nquestion: x\nnumber: 1\nwrong:\n- {pattern: '\\Q2', why: y}\n```\n", 10, "missing closing )"},
		"indented fence":       {testFrontMatter + "## One\n   ```do\n   say: x\n   ```\n", 6, "missing command"},
		"shorter fence":        {testFrontMatter + "## One\n````do\nsay: x\n```\n", 6, "no end"},
		"other fence":          {testFrontMatter + "## One\n```do\nsay: x\n~~~\n", 6, "no end"},
		"wrong without reason": {testFrontMatter + "## One\n```ask\nquestion: x\nnumber: 1\nwrong:\n- pattern: '2'\n```\n", 10, "and why"},
		"measure expects":      {testFrontMatter + "## One\n```ask\nquestion: x\nmeasure:\n  count: pods\n  is: 3\n```\n", 9, "leave out the expectation"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := parseLesson("x.md", []byte(tc.text))
			list, ok := errors.AsType[ParseErrors](err)
			if !ok {
				t.Fatalf("got %v, want ParseErrors", err)
			}
			if m := list[0]; m.Line != tc.line || !strings.Contains(m.Why, tc.says) || strings.Contains(m.Error(), "\n") {
				t.Errorf("got %q, want line %d and %q", m, tc.line, tc.says)
			}
		})
	}
}

// All errors are reported at once.
func TestParseReportsAllErrors(t *testing.T) {
	_, err := parseLesson("x.md", []byte("---\nsummary: S\n---\nHello.\n\nHello again.\n## One\n```do\nsay: x\nrn: y\nunti: []\n```\n## Two\n```aks\n```\n"+
		"```run\nuntil:\n- settled: true\n  is: 1\n- controller: job\n```\n"))
	want := []string{"x.md:2: the lesson has no title", `x.md:4: text before the first step: begin one with a heading "## …"`,
		`x.md:10: unknown field "rn": did you mean "run"?`, `x.md:11: unknown field "unti": did you mean "until"?`, `x.md:14: unknown block "aks": did you mean "ask"?`,
		"x.md:18: settled cannot be combined with another expectation", "x.md:20: controller: missing state (is)"}
	if err == nil || err.Error() != strings.Join(want, "\n") {
		t.Errorf("got:\n%v\nwant:\n%s", err, strings.Join(want, "\n"))
	}
}

func TestParseReadsAllParts(t *testing.T) {
	text := "---\r\ntitle: T\r\nsummary: S\r\n---\r\n## One\r\n<!-- needs: go -->\r\n<!-- a remark -->\r\nSome *prose*.\r\n\r\n```yaml file=a.yaml\r\na: 1\r\n```\r\n" +
		"````text\r\n```\r\n````\r\n```do\r\nsay: x\r\nrun: [a, b]\r\nuntil:\r\n- {count: pods, is: 3}\r\nwithin: 5s\r\n```\r\n## Two\r\n"
	l, err := parseLesson("dir/07-some.md", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if l.Name != "07-some" || l.Namespace() != "lesson-7" || len(l.Steps) != 2 || l.Steps[0].Needs != "go" {
		t.Fatalf("got %+v", l)
	}
	parts := l.Steps[0].Parts
	if len(parts) != 4 {
		t.Fatalf("got %d parts", len(parts))
	}
	if p := parts[0].(Prose); p.Text != "Some *prose*." || p.Line != 8 {
		t.Errorf("got %+v", p)
	}
	if c := parts[1].(*Code); c.File != "a.yaml" || c.Text != "a: 1" {
		t.Errorf("got %+v", c)
	}
	if c := parts[2].(*Code); c.Text != "```" {
		t.Errorf("got %+v", c)
	}
	d := parts[3].(*Do)
	if len(d.Run) != 2 || d.Within != 5*time.Second || *d.Until[0].Is != "3" || d.Until[0].Line != 20 {
		t.Errorf("got %+v, check on line %d", d, d.Until[0].Line)
	}
}

// What Markdown allows, and editors write: a byte order mark, an indented block, and a longer closing fence.
func TestParseReadsOddMarkdown(t *testing.T) {
	l, err := parseLesson("x.md", []byte("\ufeff"+testFrontMatter+"## One\n- first:\n\n  ```yaml file=a.yaml\n  a:\n    b: 1\n c: 2\n\n  ````  \n"+
		"   ~~~do\n   say: x\n   run: y\n~~~~\n    ```sh\n    four spaces are text\n"))
	if err != nil {
		t.Fatal(err)
	}
	parts := l.Steps[0].Parts
	if len(parts) != 4 {
		t.Fatalf("got %d parts: %+v", len(parts), parts)
	}
	if c := parts[1].(*Code); c.File != "a.yaml" || c.Text != "a:\n  b: 1\nc: 2\n" {
		t.Errorf("got %+v", c)
	}
	if d := parts[2].(*Do); d.Say != "x" || len(d.Run) != 1 {
		t.Errorf("got %+v", d)
	}
	if _, is := parts[3].(Prose); !is {
		t.Errorf("got %+v", parts[3])
	}
}

func TestNamespaceOfLesson(t *testing.T) {
	for name, want := range map[string]string{
		"01-deployment": "lesson-1", "10-no": "lesson-10", "My Lesson_3": "lesson-my-lesson-3", "2026": "lesson-2026", "00-x": "lesson-00-x",
		strings.Repeat("long", 40): "lesson-" + strings.Repeat("long", 10),
	} {
		if got := (&Lesson{Name: name}).Namespace(); got != want {
			t.Errorf("%s: got %s, want %s", name, got, want)
		}
	}
}

// The built-in lessons are complete, and can be found by number and name.
func TestBuiltInLessons(t *testing.T) {
	all, err := All()
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range all {
		questions, tasks, shows := 0, 0, 0
		for _, s := range l.Steps {
			for _, p := range s.Parts {
				switch p := p.(type) {
				case *Ask:
					questions++
				case *Do:
					if len(p.Until) > 0 {
						tasks++
					}
				case *Show:
					shows++
				}
			}
		}
		for _, part := range []struct {
			has, want int
			what      string
		}{
			{questions, 2, "questions"}, {tasks, 2, "tasks with checks (do with until)"}, {shows, 1, "shows"}, {l.Minutes, 1, "minutes"}, {len(l.Traces), 1, "traces"},
		} {
			if part.has < part.want {
				t.Errorf("%s: want at least %d %s, has %d", l.Name, part.want, part.what, part.has)
			}
		}
	}
	for word, want := range map[string]string{"1": "01-deployment", "01": "01-deployment", "queue": "03-queue", "10": "10-no", "pods": "11-pods", "operator": "12-operator", "13": "13-wrong", "07-node": "07-node"} {
		if l, err := Find(all, word); err != nil || l.Name != want {
			t.Errorf("%s: got %v, %v", word, l, err)
		}
	}
	for word, want := range map[string]string{"99": "--list", "quueue": `"queue"`, "": "--list"} {
		if _, err := Find(all, word); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %s", word, err, want)
		}
	}
}

// A table is one mistake, and what follows it is read, too.
func TestTableIsReportedOnce(t *testing.T) {
	_, err := parseLesson("x.md", []byte(testFrontMatter+"## One\n\nText\n| a | b |\n| - | - |\n| c | d |\nwith a `backquote\n"))
	if list, _ := errors.AsType[ParseErrors](err); len(list) != 2 || !strings.Contains(list[0].Why, "tables") || list[1].Line-list[0].Line != 3 {
		t.Error(err)
	}
}

// A step that is skipped on this machine has no number.
func TestPositionSkipsImpossibleSteps(t *testing.T) {
	l, err := parseLesson("x.md", []byte(testFrontMatter+"## A\n\n## B\n<!-- needs: no-such-program-here -->\n\n## C\n<!-- without: no-such-program-here -->\n\n## D\n"))
	if err != nil {
		t.Fatal(err)
	}
	for step, want := range []int{1, 2, 2, 3, 4} {
		if number, of := l.Position(step); number != want || of != 3 {
			t.Errorf("step %d: got %d of %d, want %d of 3", step, number, of, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(testFrontMatter + "## One\n```do\nsay: x\nrun: y\nuntil:\n- {object: a/b, path: .c, is: 1}\n```\n")
	f.Add(testFrontMatter + "## One\n```ask\nquestion: x\nchoices:\n- {text: a, right: true}\n- {text: c, why: d}\n```\n")
	f.Fuzz(func(t *testing.T, text string) {
		l, err := parseLesson("x.md", []byte(text))
		list, ok := errors.AsType[ParseErrors](err)
		if err != nil && (!ok || list[0].Line < 1) || err == nil && len(l.Steps) == 0 {
			t.Errorf("got %+v, %v", l, err)
		}
	})
}
