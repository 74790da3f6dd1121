package shell

import (
	"slices"
	"strconv"
	"strings"
)

func builtinWait(sh *shell, args []string) flow {
	name, args := args[0], args[1:]
	first := len(args) > 0 && args[0] == "-n"
	if first {
		args = args[1:]
	}
	if len(args) > 0 && strings.HasPrefix(args[0], "-") {
		sh.errorf("%s: illegal option %s", name, args[0])
		sh.status = 2
		return next
	}
	switch {
	case first:
		sh.waitFirst(args)
	case len(args) == 0:
		sh.waitAll()
	default:
		return sh.waitEach(name, args)
	}
	return next
}

// waitFirst waits for the job that ends first, of those with the IDs if there are some. Each
// job counts once.
func (sh *shell) waitFirst(ids []string) {
	candidates := sh.jobs
	if len(ids) > 0 {
		candidates = nil
	}
	for _, id := range ids {
		if j := sh.job(id); j != nil {
			candidates = append(candidates, j)
		}
	}
	candidates = slices.DeleteFunc(slices.Clone(candidates), func(j *job) bool { return j.waited })
	if len(candidates) == 0 {
		sh.status = 127
		return
	}
	sh.status, _ = sh.awaitFirst(candidates)
}

func (sh *shell) waitAll() {
	sh.status = 0
	for _, j := range sh.jobs {
		if status, interrupted := sh.await(j); interrupted {
			sh.status = status
			return
		}
	}
	sh.jobs = nil
}

func (sh *shell) waitEach(builtin string, ids []string) flow {
	for _, id := range ids {
		j := sh.job(id)
		if j == nil {
			sh.status = 127
			if builtin == "fg" {
				return sh.fail("fg: %s: no such job", id)
			}
			continue
		}
		sh.status, _ = sh.await(j)
	}
	return next
}

// job finds a job by %N or process ID.
func (sh *shell) job(name string) *job { return findJob(sh.jobs, name) }

func findJob(jobs []*job, name string) *job {
	if s, ok := strings.CutPrefix(name, "%"); ok {
		if n, err := strconv.Atoi(s); err == nil && n > 0 && n <= len(jobs) {
			return jobs[n-1]
		}
		if (s == "" || s == "%" || s == "+") && len(jobs) > 0 {
			return jobs[len(jobs)-1]
		}
		return nil
	}
	for _, j := range jobs {
		if strconv.Itoa(j.pid) == name {
			return j
		}
	}
	return nil
}

// builtinJobs lists jobs: all, or those that are named.
func builtinJobs(sh *shell, args []string) flow {
	sh.status = 0
	onlyIDs := false
	for args = args[1:]; len(args) > 0 && len(args[0]) > 1 && args[0][0] == '-'; args = args[1:] {
		switch args[0] {
		case "-p":
			onlyIDs = true
		case "-l":
		default:
			return sh.fail("jobs: illegal option %s", args[0])
		}
	}
	list := sh.jobs
	if len(list) == 0 {
		list = sh.outerJobs
	}
	named := make([]*job, 0, len(args))
	for _, arg := range args {
		j := findJob(list, arg)
		if j == nil {
			return sh.fail("jobs: %s: no such job", arg)
		}
		named = append(named, j)
	}
	for i, j := range list {
		if len(named) == 0 || slices.Contains(named, j) {
			sh.printJob(i+1, j, onlyIDs)
		}
	}
	return next
}

// printJob prints a job. By their IDs, only those are listed that a signal can reach.
func (sh *shell) printJob(n int, j *job, onlyID bool) {
	switch running := j.running(); {
	case onlyID && running:
		sh.p.printf("%d\n", j.pid)
	case onlyID:
	case running:
		sh.p.printf("[%d]  %d Running\n", n, j.pid)
	default:
		sh.p.printf("[%d]  %d Done\n", n, j.pid)
	}
}

func builtinKill(sh *shell, args []string) flow {
	args = slices.Clone(args)
	for i, arg := range args {
		if strings.HasPrefix(arg, "%") {
			if j := sh.job(arg); j != nil {
				args[i] = strconv.Itoa(j.pid)
			}
		}
	}
	sh.status = kill(sh.p, args)
	return next
}
