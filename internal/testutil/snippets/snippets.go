// Package snippets reads the commands in the documentation, for tests that run them.
//
// A command begins with "$ " in a fenced block without a language. It continues on the
// next line after a backslash or within quotation marks. What else is in the block is
// output. A comment in front of a block, <!-- not run: REASON -->, says why no test runs
// it.
package snippets

import (
	"fmt"
	"os"
	"strings"
)

// Block is a fenced block.
type Block struct {
	Page     string // its path
	Line     int    // of its first line
	Language string
	NotRun   string // why; empty = it is run
	Commands []string
	Text     string
}

func (b Block) String() string { return fmt.Sprintf("%s:%d", b.Page, b.Line) }

// Read returns the fenced blocks of a page.
func Read(page string) ([]Block, error) {
	data, err := os.ReadFile(page)
	if err != nil {
		return nil, err
	}
	return parse(page, string(data))
}

const notRun = "<!-- not run: "

func parse(page, text string) (all []Block, err error) {
	var block *Block
	reason, fence := "", ""
	number := 0
	for line := range strings.Lines(strings.ReplaceAll(text, "\r\n", "\n")) {
		number++
		line = strings.TrimSuffix(line, "\n")
		switch language := strings.TrimLeft(line, "`"); {
		case block == nil && strings.HasPrefix(line, "```"):
			fence = line[:len(line)-len(language)]
			block = &Block{Page: page, Line: number + 1, Language: language, NotRun: reason}
		case block != nil && line == fence:
			if block.Commands, err = commands(block.Text); err != nil {
				return nil, fmt.Errorf("%s: %w", block, err)
			}
			all = append(all, *block)
			block, reason = nil, ""
		case block != nil:
			block.Text += line + "\n"
		case strings.HasPrefix(line, notRun):
			reason = strings.TrimSpace(strings.TrimSuffix(strings.TrimPrefix(line, notRun), "-->"))
		case strings.TrimSpace(line) != "":
			reason = ""
		}
	}
	if block != nil {
		return nil, fmt.Errorf("%s: the block has no end", block)
	}
	return all, nil
}

func commands(text string) (all []string, err error) {
	current, open := "", false
	for line := range strings.Lines(text) {
		if !open {
			command, ok := strings.CutPrefix(line, "$ ")
			if !ok {
				continue
			}
			current, line = "", command
		}
		current += line
		if open = isOpen(current); !open {
			all = append(all, strings.TrimSuffix(current, "\n"))
		}
	}
	if open {
		return nil, fmt.Errorf("the command has no end: %q", current)
	}
	return all, nil
}

// isOpen reports whether a command continues on the next line.
func isOpen(command string) bool {
	var quote rune
	escaped := false
	for _, r := range strings.TrimSuffix(command, "\n") {
		switch {
		case escaped:
			escaped = false
		case r == '\\' && quote != '\'':
			escaped = true
		case quote == 0 && (r == '\'' || r == '"'):
			quote = r
		case r == quote:
			quote = 0
		}
	}
	return quote != 0 || escaped
}
