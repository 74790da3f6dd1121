//go:build linux

package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"syscall"
	"time"
)

// objects is the number of objects of which a state consists.
const objects = 60

// killDuring runs a verb, and kills the control plane or, in one of four cases, the verb, after a
// random part of d. It returns whether the verb was answered, and the control plane that was
// started after the end of the other one.
func (r *round) killDuring(c *controlPlane, d time.Duration, verb ...string) (answered bool, now *controlPlane, err error) {
	client, err := r.beginVerb(c.dir, verb...)
	if err != nil {
		return false, nil, err
	}
	r.pause(d)
	if r.rand.IntN(4) == 0 {
		r.kill9(client)
	} else {
		r.kill9(c.process)
	}
	if err := client.awaitEnd(waitTimeout); err != nil {
		return false, nil, err
	}
	if !c.ended() { // what the client has begun may be under way until then
		if err := c.stop(); err != nil {
			return false, nil, err
		}
	}
	c, err = r.up(c.dir, bare()...)
	return client.ProcessState.Success(), c, err
}

func killSave(r *round) error {
	c, err := r.up(r.join("data"), bare()...)
	if err != nil {
		return err
	}
	for i := range 4 {
		saved, err := r.change(c.client, objects)
		if err != nil {
			return err
		}
		name := fmt.Sprintf("s-%d", i)
		var answered bool
		if answered, c, err = r.killDuring(c, 150*time.Millisecond, "snapshot", "save", name); err != nil {
			return err
		}
		if err := r.checkSaved(c, name, saved, answered); err != nil {
			return err
		}
	}
	return c.stop()
}

// checkSaved checks that a snapshot is there if its save was answered, and whole if it is
// there.
func (r *round) checkSaved(c *controlPlane, name string, saved state, answered bool) error {
	text, err := r.verb(c.dir, "snapshot", "list", "-o", "json")
	if err != nil {
		return err
	}
	var list struct {
		Items []struct{ Name, Error string }
	}
	if err := json.Unmarshal([]byte(text), &list); err != nil {
		return fmt.Errorf("snapshot list: %w", err)
	}
	i := slices.IndexFunc(list.Items, func(s struct{ Name, Error string }) bool { return s.Name == name })
	if i < 0 {
		if answered {
			return fmt.Errorf("snapshot %s: the save was answered, and the snapshot is not there", name)
		}
		return nil
	}
	if _, err := r.change(c.client, objects); err != nil {
		return err
	}
	if _, err := r.verb(c.dir, "snapshot", "restore", name); err != nil {
		return err
	}
	return r.checkOneOf(c, saved, saved, true)
}

func killRestore(r *round) error {
	c, saved, err := r.upWithBase()
	if err != nil {
		return err
	}
	for range 4 {
		before, err := r.change(c.client, objects)
		if err != nil {
			return err
		}
		var answered bool
		if answered, c, err = r.killDuring(c, 400*time.Millisecond, "snapshot", "restore", "base"); err != nil {
			return err
		}
		if err := r.checkOneOf(c, before, saved, answered); err != nil {
			return err
		}
	}
	if _, err := r.verb(c.dir, "snapshot", "restore", "base"); err != nil {
		return err
	}
	return r.checkOneOf(c, saved, saved, true)
}

func killReset(r *round) error {
	c, err := r.upWithObjects()
	if err != nil {
		return err
	}
	for range 4 {
		base, err := readState(r.ctx, c.client)
		if err != nil {
			return err
		}
		before, err := r.change(c.client, objects)
		if err != nil {
			return err
		}
		var answered bool
		if answered, c, err = r.killDuring(c, 400*time.Millisecond, "reset"); err != nil {
			return err
		}
		if err := r.checkOneOf(c, before, base, answered); err != nil {
			return err
		}
	}
	return c.stop()
}

// upWithObjects starts a control plane that has objects: a reset returns to the state of a start.
func (r *round) upWithObjects() (*controlPlane, error) {
	c, err := r.up(r.join("data"), bare()...)
	if err != nil {
		return nil, err
	}
	if _, err := r.change(c.client, objects); err != nil {
		return nil, err
	}
	if err := c.stop(); err != nil {
		return nil, err
	}
	return r.up(c.dir, bare()...)
}

// upWithBase starts a control plane and saves a snapshot of the name base, of which it returns
// the state.
func (r *round) upWithBase() (*controlPlane, state, error) {
	c, err := r.up(r.join("base"), bare()...)
	if err != nil {
		return nil, nil, err
	}
	saved, err := r.change(c.client, objects)
	if err != nil {
		return nil, nil, err
	}
	_, err = r.verb(c.dir, "snapshot", "save", "base")
	return c, saved, err
}

// saveBase is upWithBase, and ends the control plane.
func (r *round) saveBase() (state, error) {
	c, saved, err := r.upWithBase()
	if err != nil {
		return nil, err
	}
	return saved, c.stop()
}

func killFrom(r *round) error {
	saved, err := r.saveBase()
	if err != nil {
		return err
	}
	for i := range 4 {
		dir := r.join(fmt.Sprintf("from-%d", i))
		p, err := r.begin(dir, bare("--from", "base")...)
		if err != nil {
			return err
		}
		r.pause(startTime)
		r.kill9(p)
		if err := r.checkFrom(dir, saved); err != nil {
			return err
		}
	}
	return nil
}

// checkFrom starts a control plane whose start from a snapshot was killed. With --from
// it must be ready, or say why it cannot; without, it must have the state of the
// snapshot, or none.
func (r *round) checkFrom(dir string, saved state) error {
	if r.rand.IntN(2) == 0 {
		p, err := r.begin(dir, bare("--from", "base")...)
		if err != nil {
			return err
		}
		c, err := r.readyOrReason(p, dir)
		if err != nil {
			return err
		}
		if c != nil {
			if err := r.checkOneOf(c, saved, saved, true); err != nil {
				return err
			}
			if err := c.Process.Signal(syscall.SIGTERM); err != nil {
				return err
			}
			if err := c.awaitEnd(waitTimeout); err != nil {
				return err
			}
		}
	}
	c, err := r.up(dir, bare()...)
	if err != nil {
		return err
	}
	if err := r.checkOneOf(c, state{}, saved, false); err != nil {
		return err
	}
	if err := r.awaitControllers(c); err != nil {
		return err
	}
	return c.stop()
}
