package clients

import "slices"

// fullConn is the number of watches on a connection over HTTP/2 beside which it may be full: it takes 100 requests at once.
const fullConn = 50

// watchesOf returns the watches whose events a write may follow: those of its process. isKnown is false if there are only
// those of another process, as far as is known.
//
// Most processes have one connection over HTTP/2, and others only if one is full; they do not select the same. What its clients with
// other user agents watch counts, too. Over HTTP/1.1 each watch has a connection, and over HTTP/2 each request may have one: then
// the process counts. Over HTTP/1.1, if neither that of the write nor those of the watches are known, all are meant, and for some events
// those of another process: see isOfWorker. Not so those of kubectl: each run is a process of its own.
func (cl *client) watchesOf(r *request, wr *write) (list []*watch, isKnown bool) {
	others := r.conn.watchesOfOthers(cl, wr)
	cl.mu.Lock()
	defer cl.mu.Unlock()
	all, conn := cl.watchesFor(wr), r.req.RemoteAddr
	same := onConn(all, conn)
	own := slices.DeleteFunc(slices.Clone(all), func(w *watch) bool { return w.process.ID() != wr.process.ID() })
	switch isHTTP1 := r.req.ProtoMajor < 2; {
	case programName(r.req.UserAgent()) == "kubectl":
		return same, true
	case !isHTTP1 && hasFullConn(cl.watches):
		others = append(others, slices.DeleteFunc(all, func(w *watch) bool { return w.conn == conn })...)
	case !isHTTP1 && len(same)+len(others) > 0:
	case len(own) > 0:
		return own, true
	default:
		wr.isWorkers = isHTTP1 && cl.isOfWorker(wr, all)
		isOfRunBefore := func(w *watch) bool { return !w.ended.IsZero() && !w.process.MayBe(wr.process) }
		return slices.DeleteFunc(all, isOfRunBefore), isHTTP1 && len(all) == 0 || wr.isWorkers
	}
	selected := map[selection]bool{}
	for _, w := range onConn(cl.watches, conn) {
		selected[w.selection()] = true
	}
	return append(same, slices.DeleteFunc(others, func(w *watch) bool { return selected[w.selection()] })...), true
}

// isOfWorker reports whether the process of a write may work for another one of the program, as those of a pool do: only that
// one watches, and the writing one has not listed anything. The caller holds the lock.
func (cl *client) isOfWorker(wr *write, watches []*watch) bool {
	id := wr.process.ID()
	if id == "" || len(watches) == 0 {
		return false
	}
	watching := watches[0].process.ID()
	return watching != "" && !slices.ContainsFunc(watches, func(w *watch) bool { return w.process.ID() != watching }) &&
		!slices.ContainsFunc(cl.lists, func(l list) bool { return l.process.ID() == id })
}

func onConn(watches []*watch, conn string) (list []*watch) {
	for _, w := range watches {
		if w.conn == conn {
			list = append(list, w)
		}
	}
	return list
}

func hasFullConn(watches []*watch) bool {
	n := map[string]int{}
	for _, w := range watches {
		if n[w.conn]++; n[w.conn] >= fullConn {
			return true
		}
	}
	return false
}
