package shell

import (
	"strings"
)

var awkKeywords = map[string]bool{
	"BEGIN": true, "END": true, "if": true, "else": true, "while": true, "for": true, "do": true, "break": true, "continue": true, "next": true,
	"exit": true, "print": true, "printf": true, "delete": true, "in": true, "function": true, "func": true, "getline": true, "return": true,
}

var awkFunctions = map[string]bool{
	"length": true, "substr": true, "index": true, "split": true, "sub": true, "gsub": true, "match": true, "sprintf": true, "toupper": true,
	"tolower": true, "int": true, "sqrt": true, "exp": true, "log": true, "sin": true, "cos": true, "rand": true, "srand": true, "systime": true,
}

// next reads a token.
func (a *awkParser) next() {
	for {
		a.src = strings.TrimLeft(a.src, " \t\r")
		if strings.HasPrefix(a.src, "\\\n") {
			a.src = a.src[2:]
			continue
		}
		if strings.HasPrefix(a.src, "#") {
			if i := strings.IndexByte(a.src, '\n'); i >= 0 {
				a.src = a.src[i:]
			} else {
				a.src = ""
			}
			continue
		}
		break
	}
	wasOperand := a.operand
	a.operand = false
	if a.src == "" {
		a.tok = "eof"
		return
	}
	c := a.src[0]
	switch {
	case c == '\n' || c == ';':
		a.tok, a.src = map[byte]string{'\n': "newline", ';': ";"}[c], a.src[1:]
	case c >= '0' && c <= '9' || c == '.' && len(a.src) > 1 && a.src[1] >= '0' && a.src[1] <= '9':
		end := 0
		for end < len(a.src) && (strings.IndexByte("0123456789.", a.src[end]) >= 0 || (a.src[end]|0x20) == 'e' && end+1 < len(a.src) && strings.IndexByte("0123456789-+", a.src[end+1]) >= 0 ||
			strings.IndexByte("+-", a.src[end]) >= 0 && end > 0 && a.src[end-1]|0x20 == 'e') {
			end++
		}
		a.tok, a.text, a.src, a.operand = "number", a.src[:end], a.src[end:], true
	case c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z':
		end := 0
		for end < len(a.src) && (a.src[end] == '_' || a.src[end]|0x20 >= 'a' && a.src[end]|0x20 <= 'z' || a.src[end] >= '0' && a.src[end] <= '9') {
			end++
		}
		a.text, a.src = a.src[:end], a.src[end:]
		switch {
		case awkKeywords[a.text]:
			a.tok = a.text
		case awkFunctions[a.text]:
			a.tok, a.operand = "func", a.text == "length"
		case strings.HasPrefix(a.src, "("):
			a.fail("%s: functions are not simulated", a.text)
		case awkNotSimulated[a.text]:
			a.fail("%s is not simulated", a.text)
		default:
			a.tok, a.operand = "name", true
		}
	case c == '"':
		a.str()
	case c == '/' && !wasOperand:
		a.regexp()
	default:
		a.operator()
	}
}

func (a *awkParser) str() {
	var b strings.Builder
	for i := 1; i < len(a.src); i++ {
		switch c := a.src[i]; {
		case c == '"':
			a.tok, a.text, a.src, a.operand = "string", b.String(), a.src[i+1:], true
			return
		case c == '\\' && i+1 < len(a.src):
			if a.src[i+1] == '/' {
				b.WriteByte('/')
				i++
				continue
			}
			text, n, _ := escape(a.src[i:], false)
			b.WriteString(text)
			i += n - 1
		default:
			b.WriteByte(c)
		}
	}
	a.fail("unterminated string")
}

func (a *awkParser) regexp() {
	var b strings.Builder
	for i := 1; i < len(a.src); i++ {
		switch c := a.src[i]; {
		case c == '[' && bracketEnd(a.src[i:]) > 0:
			end := bracketEnd(a.src[i:])
			b.WriteString(a.src[i : i+end+1])
			i += end
		case c == '/':
			a.tok, a.text, a.src, a.operand = "regexp", b.String(), a.src[i+1:], true
			return
		case c == '\\' && i+1 < len(a.src):
			if a.src[i+1] != '/' {
				b.WriteByte('\\')
			}
			i++
			b.WriteByte(a.src[i])
		default:
			b.WriteByte(c)
		}
	}
	a.fail("unterminated regexp")
}

func (a *awkParser) operator() {
	for _, op := range []string{"**=", "&&", "||", "==", "!=", "<=", ">=", ">>", "++", "--", "+=", "-=", "*=", "/=", "%=", "^=", "!~", "**"} {
		if strings.HasPrefix(a.src, op) {
			a.tok, a.src = op, a.src[len(op):]
			if op == "**" {
				a.tok = "^"
			}
			a.operand = op == "++" || op == "--"
			return
		}
	}
	if strings.IndexByte("{}()[]+-*/%^!<>=?:,~$|", a.src[0]) < 0 {
		a.fail("unexpected character %q", a.src[0])
	}
	a.tok, a.src = a.src[:1], a.src[1:]
	a.operand = a.tok == ")" || a.tok == "]"
}

func (a *awkParser) accept(tok string) bool {
	if a.tok != tok {
		return false
	}
	a.next()
	return true
}

func (a *awkParser) expect(tok string) {
	if !a.accept(tok) {
		a.fail("expected %q, not %q", tok, a.tok)
	}
}

func (a *awkParser) skipNewlines() {
	for a.tok == "newline" || a.tok == ";" {
		a.next()
	}
}
