// Package podhttp lets simulated Pods answer HTTP requests from a table that their
// annotation ctrlplane.local/http contains. It answers whoever asks inside the process:
// probes, port forwarding, the proxies of the API server and the shells of other Pods.
// It opens no socket.
package podhttp
