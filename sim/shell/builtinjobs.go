package shell

import (
	"slices"
	"strconv"
	"strings"
)

func builtinWait(sh *shell, args []string) flow {
	sh.status = 0
	if len(args) == 1 || args[1] == "-n" {
		for _, j := range sh.jobs {
			status, interrupted := sh.await(j)
			if len(args) > 1 {
				sh.status = status
				break
			}
			if interrupted {
				sh.status = status
				return next
			}
		}
		if len(args) == 1 {
			sh.jobs = nil
		}
		return next
	}
	for _, arg := range args[1:] {
		j := sh.job(arg)
		if j == nil {
			sh.status = 127
			if args[0] == "fg" {
				return sh.fail("fg: %s: no such job", arg)
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
