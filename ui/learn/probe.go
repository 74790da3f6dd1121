package learn

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/jsonpath"

	"github.com/ctrlplane/ctrlplane/observe"
)

// lookTime is between two looks at whether checks hold.
const lookTime = 150 * time.Millisecond

// mostHeld is how many held writes are looked at.
const mostHeld = 1000

// probe measures what checks ask for.
type probe struct {
	*plane
	shell *shell
	since uint64           // the newest record when the last Do or Act began
	first uint64           // the newest record when the lesson began
	then  observe.Snapshot // when the last Do or Act began
}

// begin notes how things are before something is done.
func (p *probe) begin(ctx context.Context) error {
	s, err := p.control.Snapshot(ctx)
	if err != nil {
		return err
	}
	p.then, p.since = s, s.Journal.Last
	if p.first == 0 {
		p.first = p.since
	}
	return nil
}

// missing is a check that does not hold.
type missing struct {
	check *Check
	is    value
}

func (m *missing) String() string { return fmt.Sprintf("%s: %s", m.check, m.is) }

// look returns the checks that do not hold now.
func (p *probe) look(ctx context.Context, list []*Check) (out []*missing, err error) {
	for _, c := range list {
		v, err := p.measure(ctx, c)
		if err != nil {
			return nil, err
		}
		if !c.holds(v) {
			out = append(out, &missing{c, v})
		}
	}
	return out, nil
}

// await returns when all checks hold at the same time; what is missing when
// within is over, or ctx.
func (p *probe) await(ctx context.Context, list []*Check, within time.Duration) ([]*missing, error) {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	ticker := time.NewTicker(lookTime)
	defer ticker.Stop()
	var last []*missing
	for {
		out, err := p.look(ctx, list)
		switch {
		case ctx.Err() != nil && len(last) > 0:
			return last, nil
		case err != nil:
			return nil, err
		case len(out) == 0:
			return nil, nil
		}
		last = out
		select {
		case <-ctx.Done():
			return last, nil
		case <-ticker.C:
		}
	}
}

// measure looks once.
func (p *probe) measure(ctx context.Context, c *Check) (v value, err error) {
	switch {
	case c.Object != "":
		v, err = p.field(ctx, c)
	case c.Count != "":
		v, err = p.count(ctx, c)
	case c.Records != nil:
		v, err = p.records(ctx, c.Records)
	case c.Queue != "":
		v, err = p.queue(ctx, c)
	case c.Controller != "":
		v, err = p.state(ctx, c.Controller)
	case c.Held != "":
		v, err = p.held(ctx, c.Held, c.Resource)
	case c.Command != "":
		v, err = p.shell.prints(ctx, c.Command)
	default:
		v, err = p.settled(ctx)
	}
	if err != nil {
		return v, fmt.Errorf("%s: %w", c.what(), err)
	}
	return v, nil
}

func (p *probe) namespace(c *Check) string {
	if c.Namespace == nil {
		return p.shell.namespace
	}
	return p.expand(*c.Namespace)
}

// expand replaces $NS in what a lesson names.
func (p *probe) expand(s string) string {
	return os.Expand(s, func(name string) string {
		if name == "NS" {
			return p.shell.namespace
		}
		return "$" + name
	})
}

func (p *probe) field(ctx context.Context, c *Check) (value, error) {
	kind, name, _ := strings.Cut(p.expand(c.Object), "/")
	m, err := p.kind(kind)
	if meta.IsNoMatchError(err) {
		return value{gone: true}, nil
	}
	if err != nil {
		return value{}, err
	}
	o, err := p.of(m, p.namespace(c)).Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return value{gone: true}, nil
	}
	if err != nil || c.Path == "" {
		return value{text: name}, err
	}
	j := jsonpath.New("").AllowMissingKeys(true)
	if err := j.Parse(template(c.Path)); err != nil {
		return value{}, err
	}
	var b strings.Builder
	err = j.Execute(&b, o.Object)
	return value{text: b.String()}, err
}

func (p *probe) count(ctx context.Context, c *Check) (value, error) {
	m, err := p.kind(c.Count)
	if meta.IsNoMatchError(err) {
		return number(0), nil
	}
	if err != nil {
		return value{}, err
	}
	list, err := p.of(m, p.namespace(c)).List(ctx, metav1.ListOptions{LabelSelector: c.Where, FieldSelector: c.Fields})
	if apierrors.IsNotFound(err) {
		return number(0), nil
	}
	if err != nil {
		return value{}, err
	}
	return number(int64(len(list.Items))), nil
}
