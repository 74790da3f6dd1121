package clients

import "strings"

// Scripts of an operator that waits in a sync for something outside of the cluster, such as a cloud.

// marked is an object that is marked as deleted.
func marked(object string) string {
	return strings.Replace(object, `"metadata":{`, `"metadata":{"deletionTimestamp":"2026-01-01T00:00:00Z",`, 1)
}

func configOfShop(version string) string { return object("ConfigMap", "of-shop", "c9", version, "u1") }

// It writes a finalizer, creates something outside, and writes the status.
func playFinalizerAndStatus(s *script) {
	send := s.watch(sites + "?watch=1")
	ms(5000)
	send("ADDED", site(7))
	ms(4)
	s.write(siteAdded, "PATCH", sites+"/shop", site(8))
	send("MODIFIED", site(8))
	ms(3000)
	s.write(siteAdded+"|Site ns/shop updated 8", "PATCH", sites+"/shop/status", site(9))
	send("MODIFIED", site(9))
	ms(5000)
	s.write("", "PATCH", sites+"/shop/status", site(10)) // by a timer
}

// The status says that the object is being deleted, and the finalizer is removed when what is outside is gone.
func playDeletedOutside(s *script) {
	send := s.watch(sites + "?watch=1")
	ms(5000)
	send("MODIFIED", marked(site(7)))
	ms(4)
	s.write("Site ns/shop updated 7", "PATCH", sites+"/shop/status", marked(site(8)))
	send("MODIFIED", marked(site(8)))
	ms(3000)
	s.write("Site ns/shop updated 7|Site ns/shop updated 8", "PATCH", sites+"/shop", marked(site(9)))
	send("DELETED", marked(site(9)))
}

// What it has created for the object is deleted when that has been changed, after the status.
func playDeleteAfterStatus(s *script) {
	send, sendConfig := s.watch(sites+"?watch=1"), s.watch(settings+"?watch=1")
	send("ADDED", site(7))
	ms(4)
	s.write(siteAdded, "POST", settings, configOfShop("8"))
	sendConfig("ADDED", configOfShop("8"))
	ms(20_000)
	send("MODIFIED", site(11))
	ms(4)
	s.write("Site ns/shop updated 11", "PATCH", sites+"/shop/status", site(12))
	send("MODIFIED", site(12))
	ms(1500)
	s.write("Site ns/shop updated 11|Site ns/shop updated 12", "DELETE", settings+"/of-shop", configOfShop("13"))
}

// The status is written twice, with a pause: a timer might do the same.
func playStatusTwice(s *script) {
	send := s.watch(sites + "?watch=1")
	ms(5000)
	send("MODIFIED", site(7))
	ms(4)
	s.write("Site ns/shop updated 7", "PATCH", sites+"/shop/status", site(8))
	send("MODIFIED", site(8))
	ms(1500)
	s.write("Site ns/shop updated 7", "PATCH", sites+"/shop/status", site(9))
}
