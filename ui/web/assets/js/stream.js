// The stream of the server. It is closed while the page is not visible: a browser opens
// few connections to a host, and tabs in the background need none.

export class Stream {
  constructor({ lines, status, playback, jumped, live, open, lost }) {
    Object.assign(this, { lines, status, playback, jumped, live, opened: open, lost });
    document.addEventListener("visibilitychange", () => (document.hidden ? this.close() : this.connect()));
    addEventListener("pagehide", () => this.close());
    addEventListener("pageshow", () => this.connect());
  }

  connect() {
    if (this.source || document.hidden) return;
    const source = new EventSource("/api/stream");
    this.source = source;
    source.onopen = () => this.opened();
    source.onmessage = (e) => this.lines(e.data.split("\n").map((line) => JSON.parse(line)));
    source.addEventListener("status", (e) => this.status(JSON.parse(e.data)));
    source.addEventListener("playback", (e) => this.playback(JSON.parse(e.data)));
    source.addEventListener("jumped", () => this.jumped());
    source.addEventListener("live", () => this.live());
    source.onerror = () => {
      const refused = source.readyState === EventSource.CLOSED; // the server answers, but not with a stream
      this.lost(refused);
      if (refused) {
        this.close();
        this.retry = setTimeout(() => this.connect(), 2000);
      }
    };
  }

  close() {
    clearTimeout(this.retry);
    this.source?.close();
    this.source = null;
  }
}
