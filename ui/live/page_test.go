package live

import (
	"errors"
	"strings"
	"testing"
)

func TestPageKeyShowsALink(t *testing.T) {
	const link = "http://127.0.0.1:40123/#K5QWABCDEFGHIJKLMNOPQRSTUV"
	still, _, _ := testSources()
	o := Options{Source: still, Message: PageMessage(link)}
	m := newPlainModel(t, o, 80, 24)
	if shown := m.View().Content; !strings.Contains(shown, link) {
		t.Errorf("the message of the options is not shown whole: %s", shown)
	}
	if m = pressAndRun(t, m, "P"); m.message != "a page is not available here" {
		t.Errorf("without a page: %q", m.message)
	}
	o.Page = func() (string, error) { return link, nil }
	if shown := pressAndRun(t, newPlainModel(t, o, 80, 24), "j", "P").View().Content; !strings.Contains(shown, link) {
		t.Errorf("the link is not shown whole: %s", shown)
	}
	o.Page = func() (string, error) { return "", errors.New("cannot serve the page:\nin use") }
	if m = pressAndRun(t, newPlainModel(t, o, 80, 24), "P"); m.message != "cannot serve the page: in use" {
		t.Errorf("an error: %q", m.message)
	}
}
