package objects

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ctrlplane/ctrlplane/internal/yamltext"
)

// runDifferences are the differences of one run: of two that do the same only the
// arguments differ.
func runDifferences(uid, at, suffix, ip string, port int64, reverse bool) []Difference {
	pod := func(suffix, ip string) Difference {
		name := "web-7d4b-" + suffix
		return Difference{Change: Added, Kind: "Pod", Namespace: "shop", Name: name, After: map[string]any{
			"apiVersion": "v1", "kind": "Pod",
			"metadata": map[string]any{
				"name": name, "generateName": "web-7d4b-", "namespace": "shop", "uid": uid, "creationTimestamp": at, "generation": port,
				"ownerReferences": []any{map[string]any{"kind": "ReplicaSet", "name": "web-7d4b", "uid": uid}},
			},
			"spec":   map[string]any{"nodeName": "node-" + suffix, "volumes": []any{map[string]any{"name": "kube-api-access-" + suffix}}},
			"status": map[string]any{"podIP": ip, "podIPs": []any{map[string]any{"ip": ip}}, "phase": "Running", "startTime": at},
		}}
	}
	endpoint := func(suffix, ip string) any {
		return map[string]any{"addresses": []any{ip}, "targetRef": map[string]any{"kind": "Pod", "name": "web-7d4b-" + suffix, "uid": uid}, "zone": suffix[:1]}
	}
	endpoints := []any{endpoint("a"+suffix, ip+"1"), endpoint("b"+suffix, ip+"2")}
	list := []Difference{pod("a"+suffix, ip+"1"), pod("b"+suffix, ip+"2")}
	if reverse {
		endpoints[0], endpoints[1] = endpoints[1], endpoints[0]
		list[0], list[1] = list[1], list[0]
	}
	return append(list,
		Difference{Change: Added, Kind: "EndpointSlice.discovery.k8s.io", Namespace: "shop", Name: "web-" + suffix, After: map[string]any{
			"metadata": map[string]any{"name": "web-" + suffix, "generateName": "web-"}, "endpoints": endpoints,
		}},
		Difference{Change: Added, Kind: "IPAddress.networking.k8s.io", Name: ip},
		Difference{Change: Changed, Kind: "Node", Name: "node-1",
			Before: map[string]any{"status": map[string]any{"conditions": []any{map[string]any{"lastHeartbeatTime": "2020-01-01T00:00:00Z"}}}},
			After:  map[string]any{"status": map[string]any{"conditions": []any{map[string]any{"lastHeartbeatTime": at}}}}},
		Difference{Change: Added, Kind: "Service", Namespace: "shop", Name: "web", After: map[string]any{
			"spec": map[string]any{"clusterIP": ip, "clusterIPs": []any{ip}, "ports": []any{map[string]any{"port": int64(80), "nodePort": port}}},
		}},
		Difference{Change: Added, Kind: "Service", Namespace: "shop", Name: "headless", After: map[string]any{
			"spec": map[string]any{"clusterIP": "None", "clusterIPs": []any{"None"}},
		}},
	)
}

const wantStable = `items:
- after:
    endpoints:
    - addresses: '*'
      targetRef:
        kind: Pod
        name: web-7d4b-*
        uid: <uid>
      zone: a
    - addresses: '*'
      targetRef:
        kind: Pod
        name: web-7d4b-*
        uid: <uid>
      zone: b
    metadata:
      generateName: web-
      name: web-*
  change: added
  kind: EndpointSlice.discovery.k8s.io
  name: web-*
  namespace: shop

`

func TestStable(t *testing.T) {
	first := Stable(runDifferences("11111111-2222-3333-4444-555555555555", "2026-01-02T03:04:05Z", "xx11", "10.0.0.", 30001, false))
	second := Stable(runDifferences("aaaaaaaa-bbbb-cccc-dddd-eeeeeeeeeeee", "2027-01-02T03:04:05.6+01:00", "yy22", "10.0.9.", 30002, true))
	texts := make([]string, 2)
	for i, list := range [][]Difference{first, second} {
		text, err := yamltext.Marshal(map[string]any{"items": list})
		if err != nil {
			t.Fatal(err)
		}
		texts[i] = string(text)
	}
	if diff := cmp.Diff(texts[0], texts[1]); diff != "" {
		t.Errorf("two runs that do the same differ (-first +second):\n%s", diff)
	}
	if want := strings.TrimSuffix(wantStable, "\n"); texts[0][:len(want)] != want {
		t.Errorf("(-want +got):\n%s", cmp.Diff(want, texts[0][:len(want)]))
	}
	if len(first) != 5 {
		t.Errorf("%d differences, want 5: addresses and heartbeats are left out", len(first))
	}
	if spec := first[3].After["spec"].(map[string]any); first[3].Name != "headless" || spec["clusterIP"] != "None" {
		t.Errorf("a headless Service became %v", first[3])
	}
}

// Stable does not hide what a user has written.
func TestStableKeepsWhatDiffers(t *testing.T) {
	change := func(replicas int64) []Difference {
		return Stable([]Difference{{Change: Changed, Kind: "Deployment.apps", Name: "web",
			Before: map[string]any{"spec": map[string]any{"replicas": int64(1)}}, After: map[string]any{"spec": map[string]any{"replicas": replicas}}}})
	}
	if got := change(2); len(got) != 1 || got[0].After["spec"].(map[string]any)["replicas"] != int64(2) {
		t.Errorf("got %v", got)
	}
	if got := change(1); len(got) != 0 {
		t.Errorf("no difference became %v", got)
	}
}

// A rollout restart puts its time into the template, whose hash is part of names.
func TestHashesOfTemplatesWithTimes(t *testing.T) {
	rollout := func(at, hash string) []Difference {
		revision := "db-" + hash
		template := map[string]any{"metadata": map[string]any{"annotations": map[string]any{"kubectl.kubernetes.io/restartedAt": at}}}
		return []Difference{
			{Change: Added, Kind: "ReplicaSet.apps", Namespace: "shop", Name: "web-" + hash, After: map[string]any{
				"metadata": map[string]any{"name": "web-" + hash, "labels": map[string]any{"pod-template-hash": hash}},
				"spec":     map[string]any{"template": template},
			}},
			{Change: Added, Kind: "Pod", Namespace: "shop", Name: "web-" + hash + "-" + hash[:5], After: map[string]any{
				"metadata": map[string]any{"name": "web-" + hash + "-" + hash[:5], "generateName": "web-" + hash + "-", "labels": map[string]any{"pod-template-hash": hash}},
			}},
			{Change: Added, Kind: "ControllerRevision.apps", Namespace: "shop", Name: revision, After: map[string]any{
				"metadata": map[string]any{"name": revision, "labels": map[string]any{"controller.kubernetes.io/hash": hash}},
				"data":     map[string]any{"spec": map[string]any{"template": template}},
			}},
			{Change: Added, Kind: "StatefulSet.apps", Namespace: "shop", Name: "db", After: map[string]any{
				"status": map[string]any{"updateRevision": revision},
			}},
		}
	}
	first := Stable(rollout("2026-01-02T03:04:05+01:00", "5fc9f4bf66"))
	second := Stable(rollout("2026-01-03T03:04:05+01:00", "79c8d5d5b8"))
	if diff := cmp.Diff(first, second); diff != "" {
		t.Errorf("two runs (-first +second):\n%s", diff)
	}
	kept := Stable(rollout("", "5fc9f4bf66"))
	if kept[2].Name != "web-5fc9f4bf66" {
		t.Errorf("the hash of a template without a time: got %s, want it kept", kept[2].Name)
	}
}

// Keys of a map that only differ in what differs from run to run are all kept, in the order of
// their values.
func TestStableKeysThatBecomeTheSame(t *testing.T) {
	const first, second = "11111111-2222-3333-4444-555555555555", "aaaaaaaa-bbbb-cccc-dddd-eeeeeeeeeeee"
	run := func(one, other string) map[string]any {
		list := Stable([]Difference{{Change: Added, Kind: "ConfigMap", Name: "c", After: map[string]any{
			"data": map[string]any{one: "1", other: "2", "plain": "3"},
		}}})
		return list[0].After
	}
	want := map[string]any{"data": map[string]any{"<uid>": "1", "<uid>#2": "2", "plain": "3"}}
	for range 20 { // maps have no order
		for _, got := range []map[string]any{run(first, second), run(second, first)} {
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("-want +got:\n%s", diff)
			}
		}
	}
}
