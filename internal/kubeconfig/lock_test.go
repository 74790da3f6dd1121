package kubeconfig

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/ctrlplane/ctrlplane/internal/testutil"
)

// helperEnv makes the test binary merge contexts whose names begin with its value, and
// unmerge every second one.
const (
	helperEnv   = "KUBECONFIG_TEST_HELPER"
	helperTimes = 10
)

func TestMain(m *testing.M) {
	prefix := os.Getenv(helperEnv)
	if prefix == "" {
		os.Exit(m.Run())
	}
	if err := mergeRepeatedly(prefix); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
}

func mergeRepeatedly(prefix string) error {
	for i := range helperTimes {
		name := prefix + strconv.Itoa(i)
		if _, err := Merge(name, sampleConfig(name)); err != nil {
			return err
		}
		if i%2 == 0 {
			continue
		}
		if err := Unmerge(name, sampleConfig(name)); err != nil {
			return err
		}
	}
	return nil
}

func TestConcurrentMerges(t *testing.T) {
	dir := setKubeconfigFiles(t, []string{"config"}, map[string]string{"config": usersKubeconfig})
	path := filepath.Join(dir, "config")
	want := map[string]bool{"work": true, "play": true}
	expect := func(prefix string) {
		for i := 0; i < helperTimes; i += 2 {
			want[prefix+strconv.Itoa(i)] = true
		}
	}
	type child struct {
		cmd *exec.Cmd
		out strings.Builder
	}
	children := make([]child, 3)
	for i := range children {
		c := &children[i]
		prefix := fmt.Sprintf("process%d-", i)
		expect(prefix)
		c.cmd = exec.Command(os.Args[0])
		c.cmd.Env = append(os.Environ(), helperEnv+"="+prefix)
		c.cmd.Stdout, c.cmd.Stderr = &c.out, &c.out
		if err := c.cmd.Start(); err != nil {
			t.Fatal(err)
		}
	}
	var merging sync.WaitGroup
	for i := range 3 {
		prefix := fmt.Sprintf("goroutine%d-", i)
		expect(prefix)
		merging.Go(func() {
			if err := mergeRepeatedly(prefix); err != nil {
				t.Error(err)
			}
		})
	}
	// Every read finds a complete file.
	done := make(chan struct{})
	var reading sync.WaitGroup
	reading.Go(func() {
		again := time.NewTicker(time.Millisecond)
		defer again.Stop()
		for {
			select {
			case <-done:
				return
			case <-again.C:
			}
			if cfg, _, err := loadFile(path); err != nil || cfg.Contexts["work"] == nil {
				t.Errorf("read %+v, %v", cfg, err)
				return
			}
		}
	})
	merging.Wait()
	for i := range children {
		if err := children[i].cmd.Wait(); err != nil {
			t.Errorf("%v: %s", err, &children[i].out)
		}
	}
	close(done)
	reading.Wait()

	got := map[string]bool{}
	for name := range mustLoad(t, path).Contexts {
		got[name] = true
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("contexts (-want +got):\n%s", diff)
	}
	if got := testutil.ReadFiles(t, dir); len(got) != 1 {
		t.Errorf("left behind: %v", got)
	}
}

func TestMergeWaitsForLock(t *testing.T) {
	dir := setKubeconfigFiles(t, []string{"config"}, map[string]string{"config": usersKubeconfig, "config.lock": ""})
	path := filepath.Join(dir, "config")
	synctest.Test(t, func(t *testing.T) {
		merged := make(chan error, 1)
		go func() {
			_, err := Merge("a", sampleConfig("a"))
			merged <- err
		}()
		synctest.Wait() // until it waits for the lock
		if got := testutil.ReadFiles(t, dir)["config"]; got != usersKubeconfig {
			t.Errorf("it changed a locked file: %s", got)
		}
		if err := os.Remove(path + ".lock"); err != nil {
			t.Fatal(err)
		}
		if err := <-merged; err != nil {
			t.Error(err)
		}
	})
	if got := mustLoad(t, path); got.CurrentContext != "a" {
		t.Errorf("got %+v", got)
	}
}

func TestMergeReportsStaleLock(t *testing.T) {
	dir := setKubeconfigFiles(t, []string{"config"}, map[string]string{"config": usersKubeconfig, "config.lock": ""})
	path := filepath.Join(dir, "config")
	since := time.Date(2026, 1, 2, 3, 4, 5, 0, time.Local)
	if err := os.Chtimes(path+".lock", since, since); err != nil {
		t.Fatal(err)
	}
	want := fmt.Sprintf("kubeconfig %s is locked since 2026-01-02 03:04:05: wait until the program that changes it has ended, or remove %s.lock if there is none", path, path)
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		_, err := Merge("a", sampleConfig("a"))
		wantError(t, err, want)
		wantError(t, Unmerge("a", sampleConfig("a")), want)
		if took := time.Since(began); took != 2*staleLockTimeout {
			t.Errorf("the error came after %v, want %v each", took, staleLockTimeout)
		}
	})
	if diff := cmp.Diff(map[string]string{"config": usersKubeconfig, "config.lock": ""}, testutil.ReadFiles(t, dir)); diff != "" {
		t.Errorf("changed (-want +got):\n%s", diff)
	}
}

// TestLockExcludesClientGo changes a file with client-go's functions while it is locked.
func TestLockExcludesClientGo(t *testing.T) {
	dir := setKubeconfigFiles(t, []string{"config"}, map[string]string{"config": usersKubeconfig})
	path := filepath.Join(dir, "config")
	access := clientcmd.NewDefaultPathOptions()
	modify := func() error {
		cfg, err := access.GetStartingConfig()
		if err != nil {
			return err
		}
		cfg.CurrentContext = "play"
		return clientcmd.ModifyConfig(access, *cfg, false)
	}
	unlock, err := lockFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := modify(); !errors.Is(err, fs.ErrExist) {
		t.Errorf("client-go returned %v while the file was locked", err)
	}
	if err := unlock(); err != nil {
		t.Fatal(err)
	}
	if err := modify(); err != nil {
		t.Error(err)
	}
}
