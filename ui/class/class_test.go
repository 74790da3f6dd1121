package class

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"

	"github.com/ctrlplane/ctrlplane/internal/testutil"
	"github.com/ctrlplane/ctrlplane/ui"
)

// hostile are names that would change the terminal.
var hostile = []string{
	"\x1b[2J\x1b[31mAnn", "Ann\r\nBob", "\x1b]0;title\aAnn", "A\u202enn", strings.Repeat("A", 5000), "\x9b31mAnn", "Ann\u0085", "\xff\xfe", "漢字漢字漢字漢字漢字漢字漢字漢字漢字",
}

func encode(t *testing.T, m Message) []byte {
	t.Helper()
	data, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return append(data, '\n')
}

// What students send cannot do anything to the teacher's terminal but fill its cells.
func TestHostileNamesDoNotReachTheTerminal(t *testing.T) {
	f := &follower{roster: NewRoster()}
	var lines []byte
	for i, name := range hostile {
		lines = append(lines, encode(t, Message{Student: fmt.Sprint(i, name), Lesson: name, Step: 1, Of: 3, State: Working})...)
		lines = append(lines, encode(t, Message{Student: name, Lesson: "03-queue", Step: 1, Of: 3, State: State(name)})...)
	}
	lines = append(lines, []byte("not json\n[]\n{}\n\x00\n"+strings.Repeat("x", 1<<20)+"\n")...)
	lines = append(lines, encode(t, Message{Student: "Ann", Lesson: "03-queue", Step: 2, Of: 5, State: Working})...)
	f.take(lines, time.Now())
	table := f.roster.table(ui.Mode{Width: func() int { return 80 }}, 30, time.Now())
	for _, r := range strings.ReplaceAll(table, "\n", "") {
		if r < ' ' || r == 0x7f || r >= 0x80 && r < 0xa0 || r == '\u202e' {
			t.Errorf("the table has %U", r)
		}
	}
	if strings.Contains(table, "[31m") || strings.Contains(table, "title") {
		t.Errorf("the table has parts of escape sequences:\n%s", table)
	}
	for line := range strings.Lines(table) {
		if ansi.StringWidth(strings.TrimSuffix(line, "\n")) > 80 {
			t.Errorf("too wide: %q", line)
		}
	}
	if !strings.Contains(table, "Ann ") || !strings.Contains(table, "2/5") {
		t.Errorf("the honest student is missing:\n%s", table)
	}
}

func TestParseMessageRefuses(t *testing.T) {
	ok := Message{Student: "Ann", Lesson: "03-queue", Step: 1, Of: 3, State: Working}
	for name, change := range map[string]func(*Message){
		"no name": func(m *Message) { m.Student = " \x1b[1m" }, "no lesson": func(m *Message) { m.Lesson = "" }, "step 0": func(m *Message) { m.Step = 0 },
		"step after the end": func(m *Message) { m.Step = 4 }, "many steps": func(m *Message) { m.Of = 1 << 40 }, "state": func(m *Message) { m.State = "sleeping" },
	} {
		m := ok
		change(&m)
		if got, err := parseMessage(encode(t, m), time.Now()); err == nil {
			t.Errorf("%s: got %+v", name, got)
		}
	}
	ok.Time = time.Now().Add(time.Hour)
	if m, err := parseMessage(encode(t, ok), time.Now()); err != nil || m.Time.After(time.Now()) {
		t.Errorf("got %+v, %v", m, err)
	}
}

// There is room for the students that came first.
func TestRosterIsBounded(t *testing.T) {
	r := NewRoster()
	for i := range maxStudents + 10 {
		r.apply(Message{Student: fmt.Sprint("s", i), Lesson: "a", Step: 1, Of: 2, State: Working})
	}
	r.apply(Message{Student: "s0", Lesson: "a", Step: 2, Of: 2, State: Done})
	if list, refused := r.list(); len(list) != maxStudents || refused != 10 || list[0].State != Done {
		t.Errorf("%d students, %d refused, first %+v", len(list), refused, list[0])
	}
	if rows := strings.Count(r.table(ui.Mode{}, 24, time.Now()), "\n") + 1; rows > 24 {
		t.Errorf("%d rows", rows)
	}
}

// Many students append to one file at the same time.
func TestFileOfAClass(t *testing.T) {
	path := filepath.Join(t.TempDir(), "class.jsonl")
	ctx, cancel := context.WithCancel(t.Context())
	r := NewRoster()
	ended := make(chan error, 1)
	go func() { ended <- FollowFile(ctx, path, r) }()
	testutil.Await(t, "the mode of the file", func() bool { info, err := os.Stat(path); return err == nil && info.Mode().Perm() == 0o666 })
	var students sync.WaitGroup
	for i := range 20 {
		students.Go(func() {
			s, err := NewSender(path, fmt.Sprintf("student %d", i))
			if err != nil {
				t.Error(err)
				return
			}
			for step := range 5 {
				s.Send("03-queue", step+1, 5, Working)
			}
			s.Send("03-queue", 6, 5, Done)
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	students.Wait()
	testutil.Await(t, "all learners are done", func() bool {
		list, _ := r.list()
		done := 0
		for _, m := range list {
			if m.State == Done && m.Step == 5 {
				done++
			}
		}
		return done == 20
	})
	if err := os.Truncate(path, 0); err != nil {
		t.Fatal(err)
	}
	if err := appendLine(path, encode(t, Message{Student: "late", Lesson: "a", Step: 1, Of: 2, State: Working})); err != nil {
		t.Fatal(err)
	}
	testutil.Await(t, "all learners are listed", func() bool { list, _ := r.list(); return len(list) == 21 })
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// Times are those of the teacher's clock: that of a student may be wrong. Only what was there before is as old
// as it says.
func TestTimesOfAFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "class.jsonl")
	now := time.Now().Truncate(time.Second)
	slow := Message{Student: "Ann", Lesson: "a", Step: 1, Of: 3, State: Working, Time: now.Add(-10 * time.Minute)}
	testutil.WriteFile(t, path, encode(t, slow))
	f := &follower{path: path, roster: NewRoster()}
	expect := func(step int, want time.Time) {
		t.Helper()
		if _, err := f.read(now); err != nil {
			t.Fatal(err)
		}
		if list, _ := f.roster.list(); len(list) != 1 || list[0].Step != step || !list[0].Time.Equal(want) {
			t.Errorf("got %+v, want step %d at %s", list, step, want)
		}
	}
	expect(1, slow.Time)
	slow.Step = 2
	if err := appendLine(path, encode(t, slow)); err != nil {
		t.Fatal(err)
	}
	expect(2, now)
}

func TestAddressOfAClass(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	r := NewRoster()
	ended := make(chan error, 1)
	go func() { ended <- Serve(ctx, l, r) }()
	s, err := NewSender(l.Addr().String(), "Ann")
	if err != nil {
		t.Fatal(err)
	}
	s.Send("03-queue", 2, 5, Working)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if list, _ := r.list(); len(list) != 1 || list[0].Student != "Ann" || list[0].Step != 2 {
		t.Errorf("got %+v", list)
	}
	url := "http://" + l.Addr().String() + progressPath
	began := time.Now()
	slow := encode(t, Message{Student: "Ann", Lesson: "a", Step: 1, Of: 2, State: Working, Time: began.Add(-10 * time.Minute)})
	if resp, err := http.Post(url, "application/json", bytes.NewReader(slow)); err != nil {
		t.Fatal(err)
	} else if _ = resp.Body.Close(); resp.StatusCode != http.StatusNoContent {
		t.Errorf("got %d", resp.StatusCode)
	}
	if list, _ := r.list(); len(list) != 1 || list[0].Time.Before(began) {
		t.Errorf("a slow clock: got %+v", list)
	}
	body := string(encode(t, Message{Student: "Eve", Lesson: "a", Step: 1, Of: 2, State: Working}))
	for name, tc := range map[string]struct {
		contentType, body string
	}{"form of another site": {"text/plain", body}, "long": {"application/json", strings.Repeat("x", maxMessage+1)}, "nonsense": {"application/json", "{"}} {
		resp, err := http.Post(url, tc.contentType, strings.NewReader(tc.body))
		if err != nil {
			t.Fatal(err)
		}
		if _ = resp.Body.Close(); resp.StatusCode != http.StatusBadRequest {
			t.Errorf("%s: got %d", name, resp.StatusCode)
		}
	}
	resp, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	if _ = resp.Body.Close(); resp.StatusCode != http.StatusMethodNotAllowed {
		t.Errorf("GET: got %d", resp.StatusCode)
	}
	http.DefaultClient.CloseIdleConnections()
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// A teacher who cannot be reached does not hold up a lesson.
func TestSenderDoesNotBlock(t *testing.T) {
	s, err := NewSender("127.0.0.1:1", "Ann")
	if err != nil {
		t.Fatal(err)
	}
	for range 1000 {
		s.Send("a", 1, 2, Working)
	}
	if err := s.Close(); err == nil {
		t.Error("no error")
	}
}

// A teacher's host that accepts and never answers does not hold up the end of a lesson.
func TestCloseIsBounded(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			defer conn.Close()
		}
	}()
	s, err := NewSender(l.Addr().String(), "Ann")
	if err != nil {
		t.Fatal(err)
	}
	for range cap(s.queue) {
		s.Send("a", 1, 2, Working)
	}
	closed := make(chan error, 1)
	go func() { closed <- s.Close() }()
	select {
	case err := <-closed:
		if err == nil || !strings.Contains(err.Error(), "did not answer within 3s") {
			t.Errorf("got %v", err)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("Close waits for each message")
	}
	<-s.done // what is left is dropped
}

func TestTable(t *testing.T) {
	now := time.Now()
	r := NewRoster()
	r.apply(Message{Student: "bob", Lesson: "03-queue", Step: 3, Of: 5, State: Working, Time: now.Add(-7 * time.Minute)})
	r.apply(Message{Student: "Ann", Lesson: "03-queue", Step: 5, Of: 5, State: Done, Time: now.Add(-3 * time.Second)})
	want := `2 students, 1 done, Ctrl-C ends

STUDENT  LESSON    STEP                  SINCE
Ann      03-queue  ############ 5/5      3 s     done
bob      03-queue  ####........ 3/5      7 min`
	if got := r.table(ui.Mode{ASCII: true}, 24, now); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	var out bytes.Buffer
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := Show(ctx, &out, ui.Mode{}, func() int { return 24 }, r); err != nil || out.String() != "Ann: lesson 03-queue, step 5 of 5, done\nbob: lesson 03-queue, step 3 of 5, working\n" {
		t.Errorf("got %v:\n%s", err, &out)
	}
}

// Of more students than there are rows, those are shown who are stuck.
func TestTableOfALargeClass(t *testing.T) {
	now := time.Now()
	r := NewRoster()
	for i := range 40 {
		m := Message{Student: fmt.Sprintf("s%02d", i), Lesson: "a", Step: 1, Of: 2, State: Working, Time: now.Add(-time.Duration(i) * time.Minute)}
		switch i {
		case 38:
			m.State = Left
		case 39:
			m.State = Done
		}
		r.apply(m)
	}
	table := r.table(ui.Mode{ASCII: true}, 24, now)
	var names []string
	for _, l := range strings.Split(table, "\n")[3:] {
		names = append(names, strings.Fields(l)[0])
	}
	want := strings.Fields("s37 s36 s35 s34 s33 s32 s31 s30 s29 s28 s27 s26 s25 s24 s23 s22 s21 s20 s19 and")
	if !slices.Equal(names, want) || !strings.HasSuffix(table, "\nand 21 more, who began their step later or have ended") {
		t.Errorf("got\n%s", table)
	}
	if all := strings.Split(r.table(ui.Mode{}, 50, now), "\n"); !strings.HasPrefix(all[3], "s00") || len(all) != 43 {
		t.Errorf("with room for all:\n%s", strings.Join(all, "\n"))
	}
}

func TestIsAddress(t *testing.T) {
	for target, want := range map[string]bool{"127.0.0.1:80": true, "[::1]:80": true, "host:9000": true, ":80": true, "class.jsonl": false, "/srv/a:b": false, `C:\x`: false, "a:b": false, "./a:80": false} {
		if got := IsAddress(target); got != want {
			t.Errorf("%s: got %t", target, got)
		}
	}
}
