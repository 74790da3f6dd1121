package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/user"

	"github.com/spf13/pflag"
	"golang.org/x/term"

	"github.com/ctrlplane/ctrlplane/internal/usage"
	"github.com/ctrlplane/ctrlplane/internal/words"
	"github.com/ctrlplane/ctrlplane/ui"
	"github.com/ctrlplane/ctrlplane/ui/class"
	"github.com/ctrlplane/ctrlplane/ui/web"
)

func (l *learnCommand) addClassFlags(f *pflag.FlagSet) {
	f.StringVar(&l.class, "class", "", "show the progress of all students that join this file or HOST:PORT")
	f.StringVar(&l.join, "join", "", "send your name and your progress to this file or HOST:PORT of a class")
	f.StringVar(&l.as, "as", "", "your name in the class (default: that of the user)")
}

func (l *learnCommand) checkClassFlags(args []string) error {
	switch {
	case l.class != "" && (len(args) > 0 || l.resume || l.auto || l.list || l.join != ""):
		return usage.Errorf("--class shows the progress of others: leave out the lesson and the other flags")
	case l.join != "" && len(args) == 0 && !l.resume && !l.auto:
		return usage.Errorf("--join needs a lesson: name one")
	case l.as != "" && l.join == "":
		return usage.Errorf("--as needs --join: name the file or the address of the class")
	}
	return nil
}

// classFlags are the flags of a student, for the next command line.
func (l *learnCommand) classFlags() string {
	text := ""
	if l.join != "" {
		text += " --join " + quoteWord(l.join)
	}
	if l.as != "" {
		text += " --as " + quoteWord(l.as)
	}
	return text
}

// showClass shows the progress of students until interrupted.
func (l *learnCommand) showClass(parent context.Context) error {
	ctx, cancel := context.WithCancelCause(parent)
	defer cancel(nil)
	roster := class.NewRoster()
	var listener net.Listener
	if class.IsAddress(l.class) {
		var err error
		if listener, err = listenForClass(l.class); err != nil {
			return err
		}
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		var err error
		if listener != nil {
			err = class.Serve(ctx, listener, roster)
		} else {
			err = class.FollowFile(ctx, l.class, roster)
		}
		if err != nil {
			cancel(fmt.Errorf("class %s: %w", words.OneLine(l.class), err))
		}
	}()
	mode := ui.Detect(os.Stdout, os.Environ())
	err := class.Show(ctx, endableStdout(ctx), mode, func() int {
		_, rows, err := term.GetSize(int(os.Stdout.Fd()))
		if err != nil {
			return 0 // the default
		}
		return rows
	}, roster)
	cause := context.Cause(ctx)
	cancel(nil)
	<-ended
	if parent.Err() != nil { // the user has ended it
		return err
	}
	return cmp.Or(err, cause)
}

// listenForClass listens on an address that names a host: all interfaces have to be meant.
func listenForClass(address string) (net.Listener, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil || host == "" {
		return nil, usage.Errorf("--class %s: name the host, too: 127.0.0.1 for this machine, or the address in the network of the class", address)
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("--class: %w", err)
	}
	at := listener.Addr().(*net.TCPAddr)
	fmt.Fprintf(stderr, "Students join with: ctrlplane learn 1 --join %s\n", web.LinkAddress(at))
	if !at.IP.IsLoopback() {
		fmt.Fprintln(stderr, "Anyone who reaches this address can send progress under any name. It is not encrypted.")
	}
	return listener, nil
}

// joinedClass sends the progress of a student; nil sends nothing.
type joinedClass struct {
	*class.Sender
	step    int  // the last one that was sent
	working bool // in it
}

// joinClass begins to send, if the student wants to take part.
func (l *learnCommand) joinClass(out io.Writer) (*joinedClass, error) {
	if l.join == "" {
		return nil, nil
	}
	name := l.as
	if name == "" {
		if u, err := user.Current(); err == nil {
			name = u.Username
		}
	}
	s, err := class.NewSender(l.join, name)
	if err != nil {
		return nil, usage.Errorf("--as: %w", err)
	}
	fmt.Fprintf(out, "The class sees your progress as that of %s: %s\n", words.OneLine(name), words.OneLine(l.join))
	return &joinedClass{Sender: s}, nil
}

// sendStep sends that a step, from 0, begins; after the last one the lesson is done.
func (j *joinedClass) sendStep(c chosenLesson, step int) {
	if j == nil {
		return
	}
	number, of := c.Position(step)
	state := class.Working
	if step >= len(c.Steps) {
		state = class.Done
	}
	j.step, j.working = step, state == class.Working
	j.Send(c.Name, number, of, state)
}

// sendLeft sends that a lesson has ended in the step that was sent last, for whatever reason.
func (j *joinedClass) sendLeft(c chosenLesson) {
	if j != nil && j.working {
		j.working = false
		number, of := c.Position(j.step)
		j.Send(c.Name, number, of, class.Left)
	}
}

// close waits for what is on its way. The class cannot fail a lesson.
func (j *joinedClass) close() {
	if j == nil {
		return
	}
	if err := j.Close(); err != nil {
		printWarning(err.Error())
	}
}
