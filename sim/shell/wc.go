package shell

import (
	"fmt"
	"io"
	"strconv"
	"strings"
)

// textCounts is what wc counts.
type textCounts struct{ lines, words, bytes, chars int }

func wc(p *proc, args []string) int {
	f, names := p.parseFlags(args, "lwcm", map[string]byte{"lines": 'l', "words": 'w', "bytes": 'c', "chars": 'm'})
	if len(f) == 0 {
		f = flags{'l': "", 'w': "", 'c': ""}
	}
	var total textCounts
	status := p.eachInput(names, func(name string, r io.Reader) error {
		c, err := countText(r)
		if err != nil {
			return err
		}
		total.add(c)
		if len(names) > 0 {
			name = " " + name
		} else {
			name = ""
		}
		p.print(c.format(f) + name + "\n")
		return nil
	})
	if len(names) > 1 {
		p.print(total.format(f) + " total\n")
	}
	return status
}

// countText counts what a file has until its end.
func countText(r io.Reader) (c textCounts, err error) {
	inWord := false
	buf := make([]byte, 4<<10)
	for {
		n, err := r.Read(buf)
		c.bytes += n
		for _, b := range buf[:n] {
			if b == '\n' {
				c.lines++
			}
			if b&0xc0 != 0x80 {
				c.chars++
			}
			space := b == ' ' || b >= '\t' && b <= '\r'
			if !space && !inWord {
				c.words++
			}
			inWord = !space
		}
		if err == io.EOF {
			return c, nil
		}
		if err != nil {
			return c, err
		}
	}
}

func (c *textCounts) add(other textCounts) {
	c.lines += other.lines
	c.words += other.words
	c.bytes += other.bytes
	c.chars += other.chars
}

// format returns the counts that the flags select, in columns if there are several.
func (c *textCounts) format(f flags) string {
	var cols []string
	for _, col := range []struct {
		flag byte
		n    int
	}{{'l', c.lines}, {'w', c.words}, {'m', c.chars}, {'c', c.bytes}} {
		if f.has(col.flag) {
			cols = append(cols, strconv.Itoa(col.n))
		}
	}
	if len(cols) > 1 {
		for i := range cols {
			cols[i] = fmt.Sprintf("%9s", cols[i])
		}
	}
	return strings.Join(cols, " ")
}
