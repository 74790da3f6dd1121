package words

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// commandStart matches the program at the start of a command: how a user calls this program, or kubectl.
var commandStart = regexp.MustCompile(`^(& )?["']?([^"']*[/\\])?(ctrlplane|kubectl|` + regexp.QuoteMeta(filepath.Base(os.Args[0])) + `)(\.exe)?(["' ]|$)`)

// JoinCommands makes one word of the words of each quoted command: a line break in it would be pasted, too, and end it there.
func JoinCommands(list []string) (joined []string) {
	for i := 0; i < len(list); i++ {
		end := endOfCommand(list[i:])
		joined = append(joined, strings.Join(list[i:i+end], " "))
		i += end - 1
	}
	return joined
}

// HasCommand reports whether a text has a quoted command of several words.
func HasCommand(text string) bool {
	list := strings.Split(text, " ")
	return len(JoinCommands(list)) < len(list)
}

// endOfCommand returns how many of the words are a quoted command that the first of them begins; 1 if it begins none.
func endOfCommand(list []string) int {
	first := strings.TrimLeft(list[0], "(")
	if first == "" || first[0] != '"' && first[0] != '\'' {
		return 1
	}
	quote := first[:1]
	for i, word := range list {
		if i == 0 {
			word = first[1:]
		}
		if !strings.HasSuffix(strings.TrimRight(word, ",;:.)"), quote) {
			continue
		}
		text := strings.TrimLeft(strings.Join(list[:i+1], " "), "(")
		if commandStart.MatchString(text[1:]) {
			return i + 1
		}
		return 1
	}
	return 1
}
