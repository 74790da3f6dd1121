package browser_test

import "testing"

// modelTimes are the times of the page's clock after snapshots and records of these times, in s since the first one.
const modelTimes = `(async () => {
	const { Model } = await import("/js/model.js");
	const m = new Model(), began = Date.parse("2026-03-01T12:00:00Z");
	const at = (s) => new Date(began + s * 1000).toISOString();
	const now = () => Math.round((m.time() - began) / 1000);
	const times = [];
	const snapshot = (s) => { m.setSnapshot({ process: {}, queues: [], time: at(s) }); times.push(now()); };
	let seq = 0;
	const record = (s) => { m.add({ seq: ++seq, kind: "synced", time: at(s) }); times.push(now()); };
	snapshot(0);
	record(-600); // one of the past, read late
	record(2);
	snapshot(1); // a delayed one
	snapshot(-3600); // the clock was set back
	record(-3599);
	snapshot(60);
	return times.join(" ");
})()`

// TestWebPageClockSetBack: the ages on the page do not stand still until the clock has caught up.
func TestWebPageClockSetBack(t *testing.T) {
	t.Parallel()
	p := openClass(t, 1280, 720, nil)
	if got, want := evaluate[string](p.browser, modelTimes), "0 0 2 2 -3600 -3599 60"; got != want {
		t.Errorf("times %s, want %s", got, want)
	}
}
