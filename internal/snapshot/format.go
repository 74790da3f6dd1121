package snapshot

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
)

// formatVersion is the version of the format that this program writes, and the highest
// that it reads.
const formatVersion = 1

const fileMagic = "ctrlplane snapshot "

// maxEntryBytes bounds the lengths in a file; etcd accepts values of up to 1.5 MiB.
const maxEntryBytes = 64 << 20

// maxStateBytes and maxKeyBytes bound all values and all keys of a snapshot, so that
// a small file cannot expand to all of the memory.
const (
	maxStateBytes int64 = 1 << 30
	maxKeyBytes   int64 = 256 << 20
)

// Header describes the content of a file.
type Header struct {
	// Kubernetes and Program are the versions of the program that has written the file.
	Kubernetes string    `json:"kubernetes"`
	Program    string    `json:"program,omitempty"`
	Created    time.Time `json:"created"`
	// ControlPlane is the name of the control plane, Origin stands for the key that
	// signs its service account tokens.
	ControlPlane string `json:"plane,omitempty"`
	Origin       string `json:"origin,omitempty"`
	// Revision is the store's.
	Revision int64 `json:"revision"`
	// Objects is the number of entries, Bytes the total length of their values.
	Objects int   `json:"objects"`
	Bytes   int64 `json:"bytes"`
	// TTLs are those of the State, in seconds.
	TTLs []int64 `json:"ttls,omitempty"`
}

// errDamaged is why a file is rejected.
var errDamaged = errors.New("it is damaged: use another file, or save it again")

// Encode returns a state as a file. It sets the fields of h that describe the state.
func Encode(h Header, s State) ([]byte, error) {
	h.Revision, h.Objects, h.Bytes, h.TTLs = s.Revision, len(s.Entries), 0, nil
	for _, e := range s.Entries {
		h.Bytes += int64(len(e.Value))
	}
	for _, ttl := range s.TTLs {
		h.TTLs = append(h.TTLs, int64(ttl/time.Second))
	}
	if h.Bytes > maxStateBytes {
		return nil, fmt.Errorf("snapshot: the state has %d MiB of values, more than the %d MiB that a snapshot can hold: delete what is not needed and save again", h.Bytes>>20, maxStateBytes>>20)
	}
	head, err := json.Marshal(h)
	if err != nil {
		return nil, fmt.Errorf("snapshot: header: %w", err)
	}
	var out bytes.Buffer
	fmt.Fprintf(&out, "%s%d\n%s\n", fileMagic, formatVersion, head)
	zip, err := gzip.NewWriterLevel(&out, gzip.BestSpeed)
	if err != nil {
		return nil, fmt.Errorf("snapshot: %w", err)
	}
	var lengths []byte
	for _, e := range s.Entries {
		lengths = binary.AppendUvarint(lengths[:0], uint64(len(e.Key)))
		lengths = binary.AppendUvarint(lengths, uint64(len(e.Value)))
		lengths = binary.AppendUvarint(lengths, uint64(e.TTL))
		for _, part := range [][]byte{lengths, []byte(e.Key), e.Value} {
			if _, err := zip.Write(part); err != nil {
				return nil, fmt.Errorf("snapshot: %w", err)
			}
		}
	}
	if err := zip.Close(); err != nil {
		return nil, fmt.Errorf("snapshot: %w", err)
	}
	sum := sha256.Sum256(out.Bytes())
	return append(out.Bytes(), sum[:]...), nil
}

// DecodeHeader checks a whole file and returns its header.
func DecodeHeader(data []byte) (Header, error) {
	h, _, err := checkFile(data)
	return h, err
}

// checkFile checks the format and the checksum, and returns the header and the
// compressed entries.
func checkFile(data []byte) (h Header, body []byte, err error) {
	first, rest, ok := bytes.Cut(data, []byte("\n"))
	text, ours := strings.CutPrefix(string(first), fileMagic)
	if !ok || !ours || len(text) > 9 {
		return h, nil, errors.New("it is not a snapshot: use a file that \"ctrlplane snapshot save\" has written")
	}
	var format int
	if _, err := fmt.Sscanf(text, "%d", &format); err != nil || fmt.Sprint(format) != text || format < 1 {
		return h, nil, errDamaged
	}
	if format > formatVersion {
		return h, nil, fmt.Errorf("it has format %d, this program reads up to %d: use the version of ctrlplane that wrote it, or a newer one", format, formatVersion)
	}
	if len(rest) < sha256.Size {
		return h, nil, errDamaged
	}
	end := len(data) - sha256.Size
	if sum := sha256.Sum256(data[:end]); !bytes.Equal(sum[:], data[end:]) {
		return h, nil, errDamaged
	}
	head, body, ok := bytes.Cut(rest[:len(rest)-sha256.Size], []byte("\n"))
	if !ok || json.Unmarshal(head, &h) != nil {
		return h, nil, errDamaged
	}
	return h, body, nil
}

// Decode reads a file that Encode has written, or says why it cannot be used.
func Decode(data []byte) (Header, State, error) {
	return decodeWithin(data, maxStateBytes, maxKeyBytes)
}

func decodeWithin(data []byte, maxState, maxKeys int64) (Header, State, error) {
	h, body, err := checkFile(data)
	if err != nil {
		return h, State{}, err
	}
	s := State{Revision: h.Revision}
	for _, seconds := range h.TTLs {
		s.TTLs = append(s.TTLs, time.Duration(seconds)*time.Second)
	}
	zip, err := gzip.NewReader(bytes.NewReader(body))
	if err != nil {
		return h, State{}, errDamaged
	}
	r := bufio.NewReader(zip)
	if h.Bytes > maxState {
		return h, State{}, fmt.Errorf("it holds %d bytes, more than the %d that a snapshot can hold: use a smaller one", h.Bytes, maxState)
	}
	remaining := h.Bytes + maxKeys
	for range h.Objects {
		e, err := readEntry(r, remaining)
		if err != nil || e.TTL > len(s.TTLs) {
			return h, State{}, errDamaged
		}
		remaining -= int64(len(e.Key) + len(e.Value))
		if !strings.HasPrefix(e.Key, "/") { // it would not lie below the API server's prefix
			return h, State{}, errDamaged
		}
		if n := len(s.Entries); n > 0 && s.Entries[n-1].Key >= e.Key {
			return h, State{}, errDamaged
		}
		s.Entries = append(s.Entries, e)
	}
	if _, err := r.ReadByte(); err != io.EOF {
		return h, State{}, errDamaged
	}
	if nested := s.NestedPrefix(); nested != "" {
		return h, State{}, fmt.Errorf("it contains the state of another control plane, below %s", nested)
	}
	return h, s, nil
}

// readEntry reads an entry whose key and value have no more than limit bytes.
func readEntry(r *bufio.Reader, limit int64) (e Entry, err error) {
	var lengths [3]uint64
	for i := range lengths {
		if lengths[i], err = binary.ReadUvarint(r); err != nil {
			return e, err
		}
		if lengths[i] > maxEntryBytes {
			return e, errDamaged
		}
	}
	if int64(lengths[0]+lengths[1]) > limit {
		return e, errDamaged
	}
	key := make([]byte, lengths[0])
	e.Value, e.TTL = make([]byte, lengths[1]), int(lengths[2])
	if _, err := io.ReadFull(r, key); err != nil {
		return e, err
	}
	_, err = io.ReadFull(r, e.Value)
	e.Key = string(key)
	return e, err
}
