package class

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"time"
)

// sendTimeout bounds how long a message may take. The lesson does not wait for it.
const sendTimeout = 2 * time.Second

// closeTimeout bounds how long the end of a lesson waits for all that is not sent yet.
const closeTimeout = 3 * time.Second

// Sender sends the progress of a student.
type Sender struct {
	target  string
	student string
	client  *http.Client
	queue   chan Message
	done    chan struct{}
	failed  error // the first one; read it after done
	ctx     context.Context
	cancel  context.CancelFunc
}

// NewSender returns a sender to a file or to HOST:PORT.
func NewSender(target, student string) (*Sender, error) {
	if cleanName(student) == "" {
		return nil, fmt.Errorf("name %q: use 1 to %d printable characters", student, maxName)
	}
	s := &Sender{
		target: target, student: student, queue: make(chan Message, 64), done: make(chan struct{}),
		client: &http.Client{
			Timeout:       sendTimeout,
			Transport:     &http.Transport{}, // no proxy: the teacher is near
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	go func() {
		defer close(s.done)
		for m := range s.queue {
			if s.ctx.Err() != nil {
				break // Close does not wait any more
			}
			if err := s.send(m); err != nil && s.failed == nil {
				s.failed = err
			}
		}
		s.client.CloseIdleConnections()
	}()
	return s, nil
}

// Send sends that a step, from 1, of a lesson has begun, or how the lesson has ended. It
// does not block: if the teacher cannot be reached for long, messages are dropped.
func (s *Sender) Send(lesson string, step, of int, state State) {
	m := Message{Student: s.student, Lesson: lesson, Step: min(max(step, 1), of), Of: of, State: state, Time: time.Now()}
	select {
	case s.queue <- m:
	default:
	}
}

// Close waits until everything was sent, but not for long, and returns why something was not.
func (s *Sender) Close() error {
	defer s.cancel()
	close(s.queue)
	select {
	case <-s.done:
	case <-time.After(closeTimeout):
		return fmt.Errorf("the class did not get all of your progress: %s did not answer within %s", s.target, closeTimeout)
	}
	if s.failed != nil {
		return fmt.Errorf("the class did not get all of your progress: %w", s.failed)
	}
	return nil
}

func (s *Sender) send(m Message) error {
	data, err := json.Marshal(m)
	if err != nil {
		return err
	}
	if !IsAddress(s.target) {
		return appendLine(s.target, append(data, '\n'))
	}
	ctx, cancel := context.WithTimeout(s.ctx, sendTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+s.target+progressPath, bytes.NewReader(data))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := s.client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusNoContent {
		return fmt.Errorf("%s answers %d: is it the class?", s.target, resp.StatusCode)
	}
	return nil
}

// appendLine appends a line in one write, so that the lines of several students do not mix.
func appendLine(path string, line []byte) error {
	f, err := openClassFile(path, os.O_WRONLY|os.O_APPEND)
	if err != nil {
		return err
	}
	if _, err := f.Write(line); err != nil {
		_ = f.Close() // the write's error is more telling
		return err
	}
	return f.Close()
}
