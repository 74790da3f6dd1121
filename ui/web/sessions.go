package web

import (
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"slices"
	"sync"
	"time"
)

// Access is what a session may do.
type Access int

// The kinds of access.
const (
	Viewer   Access = iota + 1 // sees everything that the page shows
	Operator                   // also intervenes
)

func (a Access) String() string {
	if a == Operator {
		return "can intervene"
	}
	return "read-only"
}

// The limits keep a server that runs for long small.
const (
	maxSessions = 512
	maxTokens   = 64 // that have not been used
)

// secret is the digest of a token: comparing digests takes no time that depends on the
// token.
type secret [sha256.Size]byte

func digest(token string) secret { return sha256.Sum256([]byte(token)) }

// sessions knows which tokens and cookies are valid. It keeps no token, only digests.
type sessions struct {
	mu      sync.Mutex
	once    []secret            // tokens for operators, oldest first; each is valid once
	class   secret              // token for viewers, valid any number of times; zero = none
	cookies map[secret]*session // by the digest of the cookie
	now     func() time.Time
}

type session struct {
	access Access
	used   time.Time
	// key is a second secret, which the page keeps itself and sends in a header: browsers
	// send a cookie to the servers on all ports of a host.
	key secret
}

// credentials are what a page keeps of its session.
type credentials struct{ cookie, key string }

// visit is what is known about the session of a request. id tells it from other sessions.
type visit struct {
	id     string
	access Access
}

func newSessions() *sessions {
	return &sessions{cookies: map[secret]*session{}, now: time.Now}
}

// newOnceToken returns a token that an operator can use once.
func (s *sessions) newOnceToken() string {
	token := rand.Text()
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.once) == maxTokens {
		s.once = s.once[1:]
	}
	s.once = append(s.once, digest(token))
	return token
}

// newClassToken returns a token that any number of viewers can use. It replaces the
// previous one.
func (s *sessions) newClassToken() string {
	token := rand.Text()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.class = digest(token)
	return token
}

var errBadToken = errors.New("the link was used already, or is of another run: open the last link that ctrlplane has printed")

// exchange returns what belongs to a new session for a token, and what the token allows. A browser has
// one session: a token for viewers does not replace that of an operator.
func (s *sessions) exchange(token string, current credentials) (c credentials, access Access, err error) {
	d := digest(token)
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.Index(s.once, d)
	switch {
	case token == "":
		return c, 0, errBadToken
	case i >= 0:
		s.once = slices.Delete(s.once, i, i+1)
		access = Operator
	case d == s.class && s.find(current).access == Operator:
		return current, Viewer, nil
	case d == s.class:
		access = Viewer
	default:
		return c, 0, errBadToken
	}
	if len(s.cookies) >= maxSessions {
		s.endOldest()
	}
	c.cookie, c.key = rand.Text(), rand.Text()
	s.cookies[digest(c.cookie)] = &session{access, s.now(), digest(c.key)}
	return c, access, nil
}

// endOldest ends the session that was used least recently: a viewer's, as long as there
// is one, so that many viewers cannot end the session of an operator.
func (s *sessions) endOldest() {
	var oldest secret
	var found *session
	for d, c := range s.cookies {
		if found == nil || c.access < found.access || c.access == found.access && c.used.Before(found.used) {
			oldest, found = d, c
		}
	}
	delete(s.cookies, oldest)
}

// check returns what the session with a cookie may do; nothing if it does not exist. Without
// its key it is that of a viewer.
func (s *sessions) check(c credentials) visit {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.find(c)
}

// find is check with s.mu held.
func (s *sessions) find(of credentials) visit {
	d := digest(of.cookie)
	c := s.cookies[d]
	if c == nil {
		return visit{}
	}
	c.used = s.now()
	v := visit{string(d[:]), c.access}
	if digest(of.key) != c.key {
		v.access = Viewer
	}
	return v
}
