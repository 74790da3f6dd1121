package live

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime/debug"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"

	"github.com/ctrlplane/ctrlplane/observe"
)

// What a client may write into an object, an error or a log line.
var hostileTexts = []string{
	strings.Repeat("无法挂载卷", 12), "日本 語 " + strings.Repeat("長", 30), strings.Repeat("x", 253), strings.Repeat("a ", 100),
	"a\x1b[2Jb\u202ec", "👩‍👩‍👧‍👦 family 👍🏽 é\u0301\u0301", "שלום", "", " ", "\n\n", "\u00a0\u00a0", "￼ﷺ",
}

// randomView is a view of hostile data that receives random input.
type randomView struct {
	r     *rand.Rand
	m     model
	input []string
}

func (v *randomView) text() string { return hostileTexts[v.r.IntN(len(hostileTexts))] }

func (v *randomView) records() []observe.Record {
	var events []observe.Event
	for range 30 {
		o := observe.Object{Group: "apps", Resource: "deployments", Kind: "Deployment", Namespace: v.text(), Name: v.text()}
		switch v.r.IntN(6) {
		case 0:
			events = append(events, &observe.Called{Controller: v.text(), Verb: v.text(), Object: o, Status: 500, Error: v.text(), Sync: 7, Client: &observe.Caller{User: v.text(), UserAgent: v.text()}})
		case 1:
			events = append(events, &observe.Synced{Controller: "job-controller", Queue: v.text(), ID: 7, Key: v.text(), Error: v.text(), Retried: true})
		case 2:
			events = append(events, &observe.Logged{Controller: v.text(), Level: 8, Message: v.text(), Attrs: []observe.Attr{{Key: v.text(), Value: v.text()}}})
		case 3:
			events = append(events, &observe.ControllerChanged{Controller: v.text(), State: v.text(), Reason: v.text()})
		case 4:
			events = append(events, &observe.BootStep{Step: v.text(), Error: v.text()})
		default:
			events = append(events, &observe.Delivered{Controller: v.text(), Change: observe.Added, Object: o, Queues: []string{v.text()}})
		}
	}
	return recordsOf(events...)
}

func newRandomView(t *testing.T, seed uint64) *randomView {
	v := &randomView{r: rand.New(rand.NewPCG(seed, 1))}
	s := troubledSnapshot()
	for _, c := range s.Controllers {
		if len(c.Failing) > 0 {
			c.Failing[0].Error, c.Failing[0].Key = v.text(), v.text()
		}
	}
	s.Queues[v.r.IntN(len(s.Queues))].Depth = math.MaxInt64
	s.Clients = append(s.Clients, observe.Client{Name: v.text(), State: "running", Requests: 3}, observe.Client{Name: "kubectl", State: "paused"})
	src := &inspectableSource{&fixedSource{snapshot: s, records: v.records()}, webInspection()}
	src.found.YAML = v.text() + "\n" + v.text()
	v.m = newTestModel(t, Options{Source: src, Purpose: testPurpose, Warnings: func() []string { return []string{v.text()} }}, 100, 30)
	v.m = v.m.withColor(v.r.IntN(2) == 0)
	return v
}

var (
	randomSizes = [][2]int{{0, 0}, {1, 1}, {2, 2}, {20, 5}, {40, 10}, {40, 19}, {41, 11}, {60, 15}, {80, 24}, {100, 10}, {120, 40}, {250, 3}, {3, 100}, {39, 40}}
	randomKeys  = strings.Fields("j k ctrl+d ctrl+u pgdown pgup home end g G enter esc tab space backspace + - / n N f a c y o W : t w e < > r i I p s d x P ? [ ] , . S @ q l")
)

// step changes the size, pulls, clicks, turns the wheel or presses a key.
func (v *randomView) step(t *testing.T) {
	note := func(what ...any) { v.input = append(v.input, fmt.Sprint(what...)) }
	switch v.r.IntN(8) {
	case 0:
		size := randomSizes[v.r.IntN(len(randomSizes))]
		note(size)
		v.m = sendMsgs(t, v.m, tea.WindowSizeMsg{Width: size[0], Height: size[1]})
	case 1:
		note("pull")
		v.m = pullOnce(t, v.m)
	case 2:
		x, y := v.r.IntN(130), v.r.IntN(45)
		note("mouse ", x, ",", y)
		v.m = sendMsgs(t, v.m, tea.MouseWheelMsg{X: x, Y: y, Button: tea.MouseWheelDown}, tea.MouseClickMsg{X: x, Y: y, Button: tea.MouseLeft})
	default:
		key := randomKeys[v.r.IntN(len(randomKeys))]
		note(key)
		next, cmd := v.m.Update(keyMsg(key))
		v.m = next.(model)
		if cmd != nil && (key == "t" || key == "w" || key == ",") {
			if msg := cmd(); msg != nil {
				v.m = sendMsgs(t, v.m, msg)
			}
		}
	}
}

// check says what of the screen is outside of the terminal.
func (v *randomView) check() error {
	lines := v.m.drawScreen()
	if len(lines) > v.m.height {
		return fmt.Errorf("%d lines in a terminal of %d", len(lines), v.m.height)
	}
	for _, l := range lines {
		if w := lipgloss.Width(l); w > v.m.width {
			return fmt.Errorf("a line has %d columns in a terminal of %d: %q", w, v.m.width, l)
		}
	}
	return nil
}

// No text, size or input makes the view fail or draw outside of the terminal.
func TestRandomInput(t *testing.T) {
	for seed := range uint64(15) {
		v := newRandomView(t, seed)
		func() {
			defer func() {
				if p := recover(); p != nil {
					t.Fatalf("seed %d: %v after %q\n%s", seed, p, v.input, debug.Stack())
				}
			}()
			for range 60 {
				v.step(t)
				if err := v.check(); err != nil {
					t.Fatalf("seed %d: %v after %q", seed, err, v.input)
				}
			}
		}()
	}
}
