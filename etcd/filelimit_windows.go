package etcd

// fileSizeLimit returns how large a file of this process may become: any size.
func fileSizeLimit() (bytes int64, limited bool) { return 0, false }
