package shell

import (
	"io/fs"
	"maps"
	"path"
	"slices"
	"sync"
)

// modeProgram marks the files of the image that are programs of the engine;
// their target is the name.
const modeProgram = 0o755

// image is the root file system that all containers share: what users of a
// small image such as busybox find. It never changes.
var image = sync.OnceValue(func() *node {
	top := newImageDir(0o755)
	for _, dir := range []string{"bin", "dev", "etc", "home", "opt", "proc", "proc/self", "proc/self/fd", "proc/1", "proc/1/fd", "root", "run", "sbin", "srv", "sys", "tmp", "usr", "usr/bin", "usr/local", "usr/local/bin", "usr/sbin", "var", "var/log", "var/run", "var/lib", "var/tmp"} {
		mode := fs.FileMode(0o755)
		switch dir {
		case "tmp", "var/tmp":
			mode = 0o777 | fs.ModeSticky
		case "root":
			mode = 0o700
		}
		imageDir(top, path.Dir(dir)).children[path.Base(dir)] = newImageDir(mode)
	}
	imageDir(top, "dev").children["shm"] = newImageDir(0o777 | fs.ModeSticky)
	bin := imageDir(top, "bin")
	for _, name := range programNames() {
		bin.children[name] = &node{mode: modeProgram, links: 1, target: name}
	}
	for _, name := range []string{"env", "bash"} {
		imageDir(top, "usr/bin").children[name] = &node{mode: modeProgram, links: 1, target: name}
	}
	dev := imageDir(top, "dev")
	for _, name := range []string{"null", "zero", "urandom", "random", "full", "tty", "stdin", "stdout", "stderr"} {
		dev.children[name] = &node{mode: fs.ModeDevice | fs.ModeCharDevice | 0o666, links: 1, target: name}
	}
	fds := imageDir(top, "proc/self/fd")
	for name, device := range map[string]string{"0": "stdin", "1": "stdout", "2": "stderr"} {
		fds.children[name] = &node{mode: fs.ModeDevice | fs.ModeCharDevice | 0o666, links: 1, target: device}
	}
	for name, device := range map[string]string{"1": "init-stdout", "2": "init-stderr"} {
		imageDir(top, "proc/1/fd").children[name] = &node{mode: fs.ModeDevice | fs.ModeCharDevice | 0o666, links: 1, target: device}
	}
	dev.children["fd"] = &node{mode: fs.ModeSymlink | 0o777, links: 1, target: "/proc/self/fd"}
	etc := imageDir(top, "etc")
	for name, text := range imageFiles {
		etc.children[name] = &node{mode: 0o644, links: 1, data: []byte(text)}
	}
	return top
})

var imageFiles = map[string]string{
	"passwd": `root:x:0:0:root:/root:/bin/sh
daemon:x:1:1:daemon:/usr/sbin:/bin/false
bin:x:2:2:bin:/bin:/bin/false
nobody:x:65534:65534:nobody:/home:/bin/false
`,
	"group":         "root:x:0:\ndaemon:x:1:\nbin:x:2:\nnobody:x:65534:\n",
	"nsswitch.conf": "passwd: files\ngroup: files\nhosts: files dns\n",
	"os-release":    "ID=ctrlplane-simulated\nNAME=\"ctrlplane simulated container\"\nPRETTY_NAME=\"ctrlplane simulated container\"\n",
	"hosts":         "127.0.0.1\tlocalhost\n::1\tlocalhost ip6-localhost ip6-loopback\n",
	"hostname":      "localhost\n",
}

func newImageDir(mode fs.FileMode) *node {
	return &node{mode: fs.ModeDir | mode, links: 1, children: map[string]*node{}}
}

func imageDir(top *node, name string) *node {
	for _, elem := range split(name) {
		if elem != "." {
			top = top.children[elem]
		}
	}
	return top
}

// programNames returns the names of all programs, sorted.
func programNames() []string { return slices.Sorted(maps.Keys(programTable)) }
