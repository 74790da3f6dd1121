package clients

import (
	"runtime"
	"strings"
	"testing"
)

// A record keeps what a message says first, not the comparison of objects below it, nor
// the rest of the address.
func TestRefusalDoesNotKeepTheMessage(t *testing.T) {
	f := newFixture(t)
	const writes, size = 64, 200 << 10
	message := `"reason":"Invalid","message":"spec: Forbidden: may not change\n  Site{` + strings.Repeat("x", size) + `"`
	query := "?fieldManager=m&pretty=" + strings.Repeat("x", size)
	before := heapInUse()
	for range writes {
		f.refuse(refused{"PUT", sites + "/web" + query, "", 422, message})
	}
	kept := heapInUse() - before
	if kept > writes*size/4 {
		t.Errorf("%d records of writes that were refused keep %d bytes", writes, kept)
	}
	calls, _ := f.records()
	if len(calls) != writes || calls[0].Error != "spec: Forbidden: may not change" || calls[0].Object.Name != "web" {
		t.Errorf("%d records, the first is %+v", len(calls), calls[0])
	}
}

// heapInUse returns the size of what is reachable.
func heapInUse() int {
	var m runtime.MemStats
	for range 2 { // the first one moves what is pooled, the second one frees it
		runtime.GC()
	}
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}
