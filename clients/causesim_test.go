package clients

import (
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// simulation is an operator with two controllers, for Sites and for the Routes that select what belongs to a Site, and
// the control plane that it works with. Each controller has a work queue.
type simulation struct {
	*script
	config        simulated
	mu            sync.Mutex
	objects       map[string]*simulatedObject // by KIND/NAME
	version       int
	events        map[string]chan func() // by kind, in order
	sites, routes *simulatedQueue
	send          func(kind, typ, object string)
	timers        map[string]bool
	random        *rand.Rand
}

type simulated struct {
	sites, workers, edits int
	think                 int           // the longest time before a write, in ms
	timer                 time.Duration // after which a controller looks at a Site again; 0 = it does not
	isEarly               bool          // built-in controllers write a status while a sync may go on
	reportsEarly          bool          // the operator has something to report because of that status
	isBurst               bool          // users change many objects at once
	selects, statusFirst  bool          // the controller of Routes runs, and writes the status first
}

type simulatedObject struct{ version, spec, ready, observed int }

// simulatedQueue is a work queue whose keys know what has queued them.
type simulatedQueue struct {
	mu            sync.Mutex
	keys          []string
	cause, active map[string]string
	wake          chan struct{}
}

func newSimulatedQueue() *simulatedQueue {
	return &simulatedQueue{cause: map[string]string{}, active: map[string]string{}, wake: make(chan struct{}, 1<<16)}
}

func (q *simulatedQueue) add(key, cause string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.cause[key] != "" {
		return
	}
	q.cause[key] = cause
	if q.active[key] == "" {
		q.queue(key)
	}
}

func (q *simulatedQueue) queue(key string) {
	q.keys = append(q.keys, key)
	q.wake <- struct{}{}
}

// work calls sync with one key after the other, until stop is closed.
func (q *simulatedQueue) work(stop <-chan struct{}, sync func(key, cause string)) {
	for {
		select {
		case <-q.wake:
		case <-stop:
			return
		}
		q.mu.Lock()
		key := q.keys[0]
		cause := q.cause[key]
		q.keys, q.active[key] = q.keys[1:], cause
		delete(q.cause, key)
		q.mu.Unlock()
		sync(key, cause)
		q.mu.Lock()
		delete(q.active, key)
		if q.cause[key] != "" {
			q.queue(key)
		}
		q.mu.Unlock()
	}
}

// between returns a time between two numbers of ms.
func (s *simulation) between(from, to int) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return time.Duration(from*1000+s.random.IntN((to-from)*1000+1)) * time.Microsecond
}

func (s *simulation) think() { time.Sleep(s.between(1, 1+s.config.think)) }

func (s *simulation) read(kind, name string) simulatedObject {
	s.mu.Lock()
	defer s.mu.Unlock()
	if o := s.objects[kind+"/"+name]; o != nil {
		return *o
	}
	return simulatedObject{}
}

// change changes an object, and sends its event a little later.
func (s *simulation) change(kind, number string, change func(o *simulatedObject)) (object string) {
	name := strings.ToLower(kind) + "-" + number
	s.mu.Lock()
	o, typ, did := s.objects[kind+"/"+name], "MODIFIED", "updated"
	if o == nil {
		o, typ, did = &simulatedObject{}, "ADDED", "added"
		s.objects[kind+"/"+name] = o
	}
	s.version++
	o.version = s.version
	change(o)
	object = s.text(kind, number, o.version)
	event := fmt.Sprintf("%s ns/%s %s %d", kind, name, did, o.version)
	s.mu.Unlock()
	delay, handled := s.between(0, 1), s.between(0, 1)/2
	s.events[kind] <- func() {
		time.Sleep(delay)
		s.send(kind, typ, object)
		time.Sleep(handled)
		if kind != "Route" {
			s.sites.add(number, event)
		} else if s.config.selects {
			s.routes.add(number, event)
		}
	}
	return object
}

func (s *simulation) text(kind, number string, version int) string {
	name := strings.ToLower(kind) + "-" + number
	if kind == "Deployment" || kind == "Service" {
		return object(kind, name, kind+number, fmt.Sprint(version), "Site"+number)
	}
	return object(kind, name, kind+number, fmt.Sprint(version))
}

var simulatedPaths = map[string]string{"Site": sites, "Route": routes, "Deployment": deployments, "Service": services}

// write makes a controller write an object.
func (s *simulation) write(kind, number, subresource, cause string, change func(o *simulatedObject)) {
	path := simulatedPaths[kind] + "/" + strings.ToLower(kind) + "-" + number + subresource
	s.expect(cause, "PATCH")
	s.request("PATCH", path, "{}", func(w http.ResponseWriter) {
		time.Sleep(s.between(1, 4))
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, s.change(kind, number, change))
	})
}

// syncSite makes what a Site describes so, and looks at it again later.
func (s *simulation) syncSite(number, cause string) {
	s.think()
	site := s.read("Site", "site-"+number)
	if s.read("Deployment", "deployment-"+number).spec != site.spec {
		s.write("Deployment", number, "", cause, func(o *simulatedObject) { o.spec = site.spec })
		go s.rollOut(number, site.spec)
		s.think()
	}
	if s.read("Service", "service-"+number).spec == 0 {
		s.write("Service", number, "", cause, func(o *simulatedObject) { o.spec = 1 })
		s.think()
	}
	ready, timed := s.read("Deployment", "deployment-"+number).ready, timedCause(number)
	if site.observed != ready || cause == timed {
		s.write("Site", number, "/status", cause, func(o *simulatedObject) { o.observed = ready })
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.config.timer > 0 && !s.timers[number] {
		s.timers[number] = true
		time.AfterFunc(s.config.timer, func() {
			s.mu.Lock()
			delete(s.timers, number)
			s.mu.Unlock()
			s.sites.add(number, timed)
		})
	}
}

// timedCause is what is right for a write by a timer: any event of the objects, or that none is known.
func timedCause(number string) string {
	return fmt.Sprintf("Site ns/site-%[1]s *|Deployment ns/deployment-%[1]s *|Service ns/service-%[1]s *|after *", number)
}

// rollOut writes the status of a Deployment, as the built-in controllers do.
func (s *simulation) rollOut(number string, spec int) {
	delay := s.between(50, 800)
	if s.config.isEarly {
		delay = s.between(5, 40)
	}
	time.Sleep(delay)
	s.change("Deployment", number, func(o *simulatedObject) {
		if s.config.reportsEarly {
			o.ready = 1
		}
	})
	time.Sleep(s.between(500, 1500))
	s.change("Deployment", number, func(o *simulatedObject) { o.ready = spec })
}

func (s *simulation) syncRoute(number, cause string) {
	s.think()
	route := s.read("Route", "route-"+number)
	if route.observed == route.spec {
		return
	}
	writes := []func(){
		func() { s.write("Service", number, "", cause, func(o *simulatedObject) { o.spec = 1 }) },
		func() {
			s.write("Route", number, "/status", cause, func(o *simulatedObject) { o.observed = route.spec })
		},
	}
	if s.config.statusFirst {
		slices.Reverse(writes)
	}
	writes[0]()
	s.think()
	writes[1]()
}

func (s *simulation) play(script *script) {
	s.script, s.objects, s.events, s.timers, s.version = script, map[string]*simulatedObject{}, map[string]chan func(){}, map[string]bool{}, 1000
	send := map[string]func(typ, object string){}
	s.send = func(kind, typ, object string) { send[kind](typ, object) }
	var running sync.WaitGroup
	stop, ended := make(chan struct{}), make(chan struct{})
	for _, kind := range slices.Sorted(maps.Keys(simulatedPaths)) {
		send[kind] = s.watch(simulatedPaths[kind] + "?watch=1")
		events := make(chan func(), 1<<16)
		s.events[kind] = events
		running.Go(func() {
			for {
				select {
				case event := <-events:
					event()
				case <-ended:
					return
				}
			}
		})
	}
	s.sites, s.routes = newSimulatedQueue(), newSimulatedQueue()
	for range s.config.workers {
		running.Go(func() { s.sites.work(stop, s.syncSite) })
		running.Go(func() { s.routes.work(stop, s.syncRoute) })
	}
	pause := func() {
		if !s.config.isBurst {
			time.Sleep(s.between(1000, 6000))
		}
	}
	for i := range s.config.sites {
		s.change("Site", fmt.Sprintf("%02d", i), func(o *simulatedObject) { o.spec = 1 })
		pause()
	}
	time.Sleep(10 * time.Second)
	for i := range s.config.edits {
		kind := "Site"
		if s.config.selects && i%2 == 0 {
			kind = "Route"
		}
		number := fmt.Sprintf("%02d", s.between(0, s.config.sites-1)/time.Millisecond)
		s.change(kind, number, func(o *simulatedObject) { o.spec = 2 + i })
		pause()
	}
	time.Sleep(20 * time.Second)
	close(stop)
	time.Sleep(15 * time.Second)
	close(ended)
	running.Wait()
}

// Most of what an operator with two controllers writes has the right cause, and little a wrong one. The rest cannot be known.
func TestCausesOfASimulatedOperator(t *testing.T) {
	for name, test := range map[string]struct {
		simulated
		right, wrong int // per 1000 writes, at least and at most
	}{
		"one controller":                {simulated{sites: 10, workers: 1, edits: 60, think: 5}, 990, 10},
		"a status in a sync":            {simulated{sites: 10, workers: 1, edits: 60, think: 20, isEarly: true}, 995, 5},
		"a status in a quick sync":      {simulated{sites: 10, workers: 1, edits: 60, think: 5, isEarly: true, reportsEarly: true}, 970, 30},
		"two controllers":               {simulated{sites: 10, workers: 1, edits: 60, think: 5, selects: true}, 980, 20},
		"status first":                  {simulated{sites: 10, workers: 1, edits: 60, think: 5, selects: true, statusFirst: true}, 950, 40},
		"several workers":               {simulated{sites: 10, workers: 4, edits: 60, think: 5, selects: true}, 980, 20},
		"several workers, status first": {simulated{sites: 10, workers: 4, edits: 60, think: 5, selects: true, statusFirst: true}, 950, 40},
		"timers":                        {simulated{sites: 10, workers: 4, edits: 60, think: 5, selects: true, timer: 10 * time.Second}, 870, 50},
		"timers and slow syncs":         {simulated{sites: 10, workers: 4, edits: 60, think: 50, selects: true, timer: 10 * time.Second}, 830, 50},
		"a burst":                       {simulated{sites: 30, workers: 1, edits: 60, think: 5, selects: true, isBurst: true}, 800, 190},
		"a burst, several workers":      {simulated{sites: 30, workers: 10, edits: 60, think: 5, selects: true, isBurst: true}, 780, 200},
		"a burst, slow syncs":           {simulated{sites: 30, workers: 10, edits: 60, think: 50, selects: true, isBurst: true}, 780, 200},
		"60 Sites at once":              {simulated{sites: 60, workers: 10, edits: 60, think: 10, isBurst: true}, 990, 10},
		"100 Sites at once":             {simulated{sites: 100, workers: 1, think: 10, isBurst: true}, 760, 240},
		"100 Sites, several workers":    {simulated{sites: 100, workers: 10, think: 10, isBurst: true}, 990, 10},
	} {
		t.Run(name, func(t *testing.T) {
			var all tally
			for seed := range uint64(3) {
				s := &simulation{config: test.simulated, random: rand.New(rand.NewPCG(seed, 1))}
				n := runScript(t, s.play)
				all.right, all.unknown, all.wrong = all.right+n.right, all.unknown+n.unknown, all.wrong+n.wrong
			}
			t.Logf("%+v", all)
			writes := all.right + all.unknown + all.wrong
			if all.right*1000 < test.right*writes || all.wrong*1000 > test.wrong*writes {
				t.Errorf("want %d ‰ right, at most %d ‰ wrong", test.right, test.wrong)
			}
		})
	}
}
