package learn

import "strings"

// textsOf returns the texts of a part that the reader sees rendered.
func textsOf(p Part) (list []string) {
	switch p := p.(type) {
	case Prose:
		list = []string{p.Text}
	case *Do:
		list = append(textsOfChecks(p.Until), p.Say)
		list = append(list, p.Hints...)
	case *Act:
		list = append(textsOfChecks(p.Until), p.Say)
	case *Show:
		list = []string{p.Say}
	case *Ask:
		list = append([]string{p.Question, p.Explain}, p.Hints...)
		for _, c := range p.Choices {
			list = append(list, c.Text, c.Why)
		}
		for _, w := range p.Wrong {
			list = append(list, w.Why)
		}
	}
	return list
}

func textsOfChecks(list []*Check) (texts []string) {
	for _, c := range list {
		if c != nil {
			texts = append(texts, c.Say, c.Missing)
		}
	}
	return texts
}

// checkTexts adds an error for each text whose markup would be shown as it is written.
func (p *parser) checkTexts() {
	for _, s := range p.lesson.Steps {
		for _, part := range s.Parts {
			for _, text := range textsOf(part) {
				line := part.lineNumber()
				for i, paragraph := range paragraphsOf(text) {
					at := line
					if _, prose := part.(Prose); prose {
						at += i
					}
					p.checkMarkup(at, paragraph)
				}
			}
		}
	}
}

// paragraphsOf returns the texts in which markup begins and ends, by the number of the line on which each begins, from 0.
func paragraphsOf(text string) map[int]string {
	paragraphs, begin := map[int]string{}, 0
	inTable := false
	for i, l := range strings.Split(text, "\n") {
		if strings.TrimSpace(l) == "" || strings.HasPrefix(l, "### ") || listItem.MatchString(l) || isTableRow(l) != inTable {
			begin, inTable = i, isTableRow(l)
		}
		paragraphs[begin] += l + "\n"
	}
	return paragraphs
}

func (p *parser) checkMarkup(line int, paragraph string) {
	switch {
	case isTableRow(paragraph):
		p.addError(parseErrorf(line, "tables are not rendered: use a list, or a block of text"))
	case strings.Count(strings.ReplaceAll(paragraph, "```", ""), "`")%2 == 1: // three are a fence that is indented as text
		p.addError(parseErrorf(line, "a backquote is not closed: %q", strings.TrimSpace(paragraph)))
	}
}

func isTableRow(l string) bool { return strings.HasPrefix(strings.TrimSpace(l), "|") }
