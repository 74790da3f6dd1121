package snapshot

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func sampleState() State {
	return State{Revision: 42, TTLs: []time.Duration{time.Minute, time.Hour}, Entries: []Entry{
		{Key: "/configmaps/default/a", Value: []byte("k8s\x00one")},
		{Key: "/events/default/a", Value: []byte(strings.Repeat("two", 1000)), TTL: 2},
		{Key: "/events/default/b", Value: []byte{}, TTL: 1},
	}}
}

func mustEncode(t *testing.T, h Header, s State) []byte {
	t.Helper()
	file, err := Encode(h, s)
	if err != nil {
		t.Fatal(err)
	}
	return file
}

func TestRoundTrip(t *testing.T) {
	head := Header{Kubernetes: "v1.37.1", Program: "v0", Created: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), ControlPlane: "p", Origin: "o"}
	for name, s := range map[string]State{"some": sampleState(), "empty": {Revision: 7}} {
		file := mustEncode(t, head, s)
		h, got, err := Decode(file)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if diff := cmp.Diff(s, got); diff != "" {
			t.Errorf("%s: -want +got:\n%s", name, diff)
		}
		if h.Objects != len(s.Entries) || h.Revision != s.Revision || h.ControlPlane != "p" || !h.Created.Equal(head.Created) {
			t.Errorf("%s: header %+v", name, h)
		}
		if again, err := DecodeHeader(file); err != nil || !cmp.Equal(again, h) {
			t.Errorf("%s: header alone: %+v, %v", name, again, err)
		}
	}
}

// TestDecodeRefusesDamagedFiles flips each bit of a file, and truncates it.
func TestDecodeRefusesDamagedFiles(t *testing.T) {
	file := mustEncode(t, Header{Kubernetes: "v1.37.1"}, sampleState())
	for i := range file {
		for bit := range 8 {
			bad := bytes.Clone(file)
			bad[i] ^= 1 << bit
			if _, _, err := Decode(bad); err == nil {
				t.Fatalf("bit %d of byte %d of %d is flipped, and the file is accepted", bit, i, len(file))
			}
		}
		if _, _, err := Decode(file[:i]); err == nil {
			t.Fatalf("%d of %d bytes are enough", i, len(file))
		}
	}
	if _, _, err := Decode(append(bytes.Clone(file), 0)); err == nil {
		t.Error("a byte too many is taken")
	}
}

// TestDecodeRefusesMalformedFiles decodes files with a valid checksum that Encode has not
// written.
func TestDecodeRefusesMalformedFiles(t *testing.T) {
	signed := func(text string) []byte {
		sum := sha256.Sum256([]byte(text))
		return append([]byte(text), sum[:]...)
	}
	unsorted := sampleState()
	unsorted.Entries[0], unsorted.Entries[1] = unsorted.Entries[1], unsorted.Entries[0]
	outside := sampleState()
	outside.Entries[0].Key = "-of-another-control-plane/configmaps/a"
	nowhere := sampleState()
	nowhere.Entries[0].TTL = 3
	for name, file := range map[string][]byte{
		"no header":            signed("ctrlplane snapshot 1\n"),
		"header is not JSON":   signed("ctrlplane snapshot 1\nx\n"),
		"no entries":           signed("ctrlplane snapshot 1\n{\"objects\":1}\n"),
		"format 0":             signed("ctrlplane snapshot 0\n{}\n"),
		"format not a number":  signed("ctrlplane snapshot 1x\n{}\n"),
		"unsorted":             mustEncode(t, Header{}, unsorted),
		"not below the prefix": mustEncode(t, Header{}, outside),
		"unknown TTL":          mustEncode(t, Header{}, nowhere),
	} {
		if _, _, err := Decode(file); err == nil || !strings.Contains(err.Error(), "damaged") {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, text := range []string{"", "\n", "x", "ctrlplane snapshot", "ctrlplane snapshot 1", "ctrlplane snapshot 99999999999999999999\n"} {
		if _, _, err := Decode([]byte(text)); err == nil || !strings.Contains(err.Error(), "not a snapshot") {
			t.Errorf("%q: %v", text, err)
		}
	}
	_, _, err := Decode([]byte(fmt.Sprintf("ctrlplane snapshot %d\nwhatever comes", formatVersion+1)))
	if err == nil || !strings.Contains(err.Error(), "it has format 2, this program reads up to 1") {
		t.Errorf("newer format: %v", err)
	}
}

func TestCheckKubernetesVersion(t *testing.T) {
	for theirs, ok := range map[string]bool{
		"v1.37.1": true, "v1.37.0": true, "v1.37.9": true, "v1.36.0": true, "v1.37.1-rc.0": true,
		"v1.35.9": false, "v1.38.0": false, "v0.37.1": false, "v2.37.1": false, "": false, "x": false,
	} {
		if err := CheckKubernetesVersion(theirs, "v1.37.1"); (err == nil) != ok {
			t.Errorf("%q: %v", theirs, err)
		}
	}
}

func FuzzDecode(f *testing.F) {
	file, err := Encode(Header{Kubernetes: "v1.37.1"}, sampleState())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(file)
	f.Add(file[:len(file)-sha256.Size])
	f.Fuzz(func(t *testing.T, data []byte) {
		sum := sha256.Sum256(data)
		for _, file := range [][]byte{data, append(bytes.Clone(data), sum[:]...)} {
			h, s, err := Decode(file)
			if err == nil && h.Objects != len(s.Entries) {
				t.Errorf("%d of %d objects", len(s.Entries), h.Objects)
			}
		}
	})
}

// TestDecodeBoundsExpansion refuses files that hold more than their header says, or more
// than is allowed.
func TestDecodeBoundsExpansion(t *testing.T) {
	entry := func(key string, valueLen int) []byte {
		b := binary.AppendUvarint(nil, uint64(len(key)))
		b = binary.AppendUvarint(b, uint64(valueLen))
		b = binary.AppendUvarint(b, 0)
		return append(append(b, key...), make([]byte, valueLen)...)
	}
	const allowed, keys = 1000, 100
	for name, test := range map[string]struct {
		declared int64
		values   []int
		ok       bool
	}{
		"what it says":                  {1000, []int{400, 600}, true},
		"more than it says":             {100, []int{100, 100, 100}, false},
		"one value more than all":       {100, []int{maxEntryBytes - 1}, false},
		"it says more than is allowed":  {allowed + 1, []int{1}, false},
		"it says that it holds nothing": {-1 << 40, []int{1}, false},
	} {
		t.Run(name, func(t *testing.T) {
			head, err := json.Marshal(Header{Objects: len(test.values), Bytes: test.declared})
			if err != nil {
				t.Fatal(err)
			}
			file := fmt.Appendf(nil, "%s%d\n%s\n", fileMagic, formatVersion, head)
			var body bytes.Buffer
			zip := gzip.NewWriter(&body)
			for i, n := range test.values {
				if _, err := zip.Write(entry(fmt.Sprintf("/a/%d", i), n)); err != nil {
					t.Fatal(err)
				}
			}
			if err := zip.Close(); err != nil {
				t.Fatal(err)
			}
			file = append(file, body.Bytes()...)
			sum := sha256.Sum256(file)
			_, s, err := decodeWithin(append(file, sum[:]...), allowed, keys)
			if (err == nil) != test.ok {
				t.Errorf("%d entries, %v", len(s.Entries), err)
			}
		})
	}
}
