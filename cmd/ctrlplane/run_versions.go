package main

import (
	"cmp"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/ctrlplane/ctrlplane"
	"github.com/ctrlplane/ctrlplane/internal/datadir"
	"github.com/ctrlplane/ctrlplane/internal/usage"
)

// versionMatrix runs the command of "ctrlplane run" once for each of several versions
// of Kubernetes, every time in a process of its own: the version belongs to a process.
type versionMatrix struct {
	versions []string
	jobs     int
}

// versionRun is the run with one version.
type versionRun struct {
	version string
	process *commandProcess
	report  string // its folder; empty = none
	jobLog  string // see jobLogFlag; empty = none
	took    time.Duration
	code    int
	err     error // why there is no exit code
}

// perVersionFlags are set for each run; ownFlags cannot be shared by several.
var (
	perVersionFlags = []string{"kubernetes", "jobs", "report"}
	ownFlags        = []string{"name", "data-dir", "port", "log-file"}
)

// runEach runs the command with each version of Kubernetes.
func (r *runCommand) runEach(cmd *cobra.Command, args []string) (int, error) {
	if err := r.matrix.validate(cmd.Flags()); err != nil {
		return exitFailure, err
	}
	surviveClosedOutput() // until the process ends: main may print an error
	switch len(r.matrix.versions) {
	case 0:
		return r.run(cmd.Context(), args)
	case 1:
		r.up.server.Kubernetes = r.matrix.versions[0]
		return r.run(cmd.Context(), args)
	}
	if err := r.validate(cmd.Context()); err != nil {
		return exitFailure, err
	}
	if err := r.checkShareable(); err != nil {
		return exitFailure, err
	}
	runs, err := r.matrix.newRuns(cmd.Flags(), args, r.report.dir)
	if err != nil {
		return exitFailure, err
	}
	if r.report.dir != "" {
		dir, err := datadir.OpenTempFiles(datadir.JobLogPrefix)
		if err != nil {
			return exitFailure, err
		}
		defer func() {
			if err := dir.Close(); err != nil {
				printWarning(err.Error())
			}
		}()
		for _, run := range runs {
			run.writeJobLog(dir.Join(run.version))
		}
	}
	sigs := listenForSignals()
	defer sigs.stop()
	sigs.addCommandSignals()
	return runVersions(runs, r.matrix.concurrent(), sigs)
}

// jobLogFlag makes the run with one version write what it has for the log of a CI job to a file: with
// the prefix that its lines get in the log of several, these would not be commands to the service.
const jobLogFlag = "job-log"

// passOn has what the run prints prefixed. With a report the run knows which of it is its command's: then one pipe, if both
// outputs are the same, keeps the order.
func (v *versionRun) passOn(report bool) {
	out := newLinePrefixer(os.Stdout, v.version)
	if report && sameFile(os.Stdout, stderr) {
		v.process.passOn(out, out)
		return
	}
	errOut := newLinePrefixer(stderr, v.version)
	errOut.before = out
	v.process.passOn(out, errOut)
}

func (v *versionRun) writeJobLog(path string) {
	v.jobLog = path
	v.process.cmd.Args = slices.Insert(v.process.cmd.Args, 2, "--"+jobLogFlag+"="+path) // after "run"
}

// printJobLogs prints what the runs have for the log of a CI job, without prefixes.
func printJobLogs(out io.Writer, runs []*versionRun) {
	for _, run := range runs {
		if data, err := os.ReadFile(run.jobLog); err == nil { // else it was not started, or has said why
			_, _ = out.Write(data) // stderr is where the error would go
		}
	}
}

// checkShareable refuses files that only one of several runs could read.
func (r *runCommand) checkShareable() error {
	if path, what := r.up.manifests.readOnce(); path != "" {
		return usage.Errorf("-f %s: runs with several versions of Kubernetes cannot share %s: write it to a file, or name one version", path, what)
	}
	if r.up.fromStream {
		return usage.Errorf("--from %s: runs with several versions of Kubernetes cannot share a pipe or device: write it to a file, or name one version", r.up.from)
	}
	return nil
}

// validate checks the versions and the flags that cannot be used with several.
func (m *versionMatrix) validate(flags *pflag.FlagSet) error {
	if m.jobs < 0 {
		return usage.Errorf("--jobs: %d is negative: use 1 or more, or leave the flag out", m.jobs)
	}
	for i, text := range m.versions {
		version, err := ctrlplane.ParseKubernetesVersion(text)
		if err != nil {
			return err
		}
		if slices.Contains(m.versions[:i], version) {
			return usage.Errorf("--kubernetes: %s is named twice: leave one out", version)
		}
		m.versions[i] = version
	}
	if len(m.versions) < 2 {
		return nil
	}
	for _, name := range ownFlags {
		if flags.Changed(name) {
			return usage.Errorf("--%s: runs with several versions of Kubernetes cannot share it: leave it out, or name one version", name)
		}
	}
	return nil
}

func (m *versionMatrix) concurrent() int { return cmp.Or(m.jobs, max(1, runtime.NumCPU()/2)) }

// newRuns returns a run of this program for each version.
func (m *versionMatrix) newRuns(flags *pflag.FlagSet, args []string, reportDir string) ([]*versionRun, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("--kubernetes: %w", explainNoExecutable(err, "name one version"))
	}
	var runs []*versionRun
	for _, version := range m.versions {
		run := &versionRun{version: version}
		line := append([]string{self, "run", "--kubernetes=" + version}, flagArgs(flags, perVersionFlags)...)
		if reportDir != "" {
			run.report = filepath.Join(reportDir, version)
			line = append(line, "--report="+run.report)
		}
		line = append(append(line, "--"), args...)
		run.process = newProcess(&exec.Cmd{Path: self, Args: line, Env: os.Environ()})
		run.passOn(reportDir != "")
		runs = append(runs, run)
	}
	return runs, nil
}

// flagArgs returns the flags that were given, but for some, as arguments.
func flagArgs(flags *pflag.FlagSet, without []string) []string {
	var args []string
	flags.Visit(func(f *pflag.Flag) {
		if slices.Contains(without, f.Name) {
			return
		}
		values := []string{f.Value.String()}
		if list, ok := f.Value.(pflag.SliceValue); ok {
			values = list.GetSlice()
		}
		for _, value := range values {
			if f.Value.Type() == "stringSlice" { // read as CSV
				value = quoteCSV(value)
			}
			args = append(args, "--"+f.Name+"="+value)
		}
	})
	return args
}

func quoteCSV(value string) string {
	var out strings.Builder
	w := csv.NewWriter(&out)
	_ = w.Write([]string{value}) // a strings.Builder does not fail
	w.Flush()
	return strings.TrimSuffix(out.String(), "\n")
}

// runVersions runs all, a number of them at a time, prints how each ended, and returns
// the exit code of the first that failed. Signals go to all that run, and keep those
// that wait from starting.
func runVersions(runs []*versionRun, jobs int, sigs signalChannel) (int, error) {
	var mu sync.Mutex // guards interrupted and the start of a process
	var interrupted os.Signal
	slots := make(chan struct{}, jobs)
	var all sync.WaitGroup
	for _, run := range runs {
		all.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			run.wait(func() error {
				mu.Lock()
				defer mu.Unlock()
				if interrupted != nil {
					return errors.New("not started: interrupted")
				}
				run.process.cmd.Path = runningProgram(run.process.cmd.Path)
				return run.process.startProcess()
			})
		})
	}
	ended := make(chan struct{})
	go func() {
		all.Wait()
		close(ended)
	}()
	for {
		select {
		case sig := <-sigs.ch:
			mu.Lock()
			interrupted = sig
			for _, run := range runs {
				run.process.interrupt(sig)
			}
			mu.Unlock()
		case sig := <-sigs.forCommand:
			mu.Lock()
			for _, run := range runs {
				run.process.forwardSignal(sig)
			}
			mu.Unlock()
		case <-ended:
			mu.Lock()
			defer mu.Unlock()
			sigs.stop() // stderr may be stuck
			printVersionRuns(stderr, runs)
			printJobLogs(stderr, runs)
			return exitCodeOf(runs, interrupted)
		}
	}
}

// wait starts the run, and returns when it has ended.
func (v *versionRun) wait(start func() error) {
	began := time.Now()
	if v.err = start(); v.err == nil {
		<-v.process.exited
		v.code, v.err = v.process.exitCode()
	}
	v.took = time.Since(began)
}

// exitCodeOf returns the exit code for several runs.
func exitCodeOf(runs []*versionRun, interrupted os.Signal) (int, error) {
	var failed []string
	code := 0
	for _, run := range runs {
		if run.code == 0 && run.err == nil {
			continue
		}
		failed = append(failed, run.version)
		if code == 0 {
			code = cmp.Or(run.code, exitFailure)
		}
	}
	switch {
	case interrupted != nil:
		return signalExitCode(interrupted), errors.New("interrupted by " + signalName(interrupted))
	case code != 0:
		return code, fmt.Errorf("failed with Kubernetes %s", strings.Join(failed, ", "))
	}
	return 0, nil
}

func printVersionRuns(out io.Writer, runs []*versionRun) {
	w := tabwriter.NewWriter(out, 0, 0, 3, ' ', 0)
	fmt.Fprintln(w, "KUBERNETES\tRESULT\tTOOK\tREPORT")
	for _, run := range runs {
		result := "passed"
		switch {
		case run.err != nil:
			result = run.err.Error()
		case run.code != 0:
			result = fmt.Sprintf("exit code %d", run.code)
		}
		report := "-"
		if run.report != "" {
			report = run.report
		}
		fmt.Fprintf(w, "%s\t%s\t%.1fs\t%s\n", run.version, result, run.took.Seconds(), report)
	}
	_ = w.Flush() // stderr is where the error would go
}

// outputs guards all outputs of the runs, so that their lines do not mix.
var outputs sync.Mutex
