// Requests to the server of the page.

const base = "/ctrlplane/v1/";

// The session's key is kept by origin, so that it is not sent to the servers on other ports,
// as the cookie is.
const keyName = "ctrlplane-page-key";
let key = "";
try {
  key = localStorage.getItem(keyName) || "";
} catch { /* storage is off: the page can intervene until it is reloaded */ }

function keepKey(value) {
  key = value;
  try {
    localStorage.setItem(keyName, value);
  } catch { /* as above */ }
}

async function send(path, options = {}) {
  let response;
  try {
    response = await fetch(path, { ...options, headers: { ...options.headers, "Ctrlplane-Page-Key": key } });
  } catch {
    throw new Error("the page's server does not answer");
  }
  return read(response);
}

async function read(response) {
  const text = await response.text();
  let body = null;
  try {
    body = text ? JSON.parse(text) : null;
  } catch {
    throw Object.assign(new Error(`HTTP status ${response.status}`), { status: response.status });
  }
  if (!response.ok) throw Object.assign(new Error(body?.message || `HTTP status ${response.status}`), { status: response.status });
  return body;
}

export const get = (path, params = {}, signal) => send(path + "?" + new URLSearchParams(params), { signal });

const put = (path, body) => send(path, { method: "PUT", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) });
const post = (path, body) => send(path, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) });

// openSession exchanges the token in the address, if there is one, and returns what the
// page may do.
export async function openSession() {
  const token = location.hash.slice(1);
  if (token) {
    history.replaceState(null, "", "/");
    try {
      keepKey((await post("/api/session", { token })).key);
    } catch (err) {
      if (err.status !== 401) throw err;
      return get("/api/session").catch(() => { throw err; }); // an earlier session may still be valid
    }
  }
  return get("/api/session");
}

// streamRefusal returns why the server refuses the stream of the page, which an EventSource does not tell; "" if it does
// not.
export async function streamRefusal() {
  const end = new AbortController();
  try {
    const response = await fetch("/api/stream", { signal: end.signal });
    if (!response.ok) await read(response);
    return "";
  } catch (err) {
    return err.message;
  } finally {
    end.abort();
  }
}

// intervene calls a verb of the interventions in controllers or clients.
export const intervene = (who, verb, body) => post(base + who + "/" + verb, body);
export const endInterventions = () => send(base + "interventions", { method: "DELETE" });
export const heldWrites = (who, name) => get(base + who + "/held", { name, limit: 20 });
export const setSpeed = (speed) => put(base + "speed", { speed });
export const changePlayback = (what) => post("/api/playback", what);
export const stepKey = () => post(base + "speed/step", {});
export const explain = (name, signal) => get("/api/explain", { name }, signal);

const objectParams = (o) => Object.fromEntries(["group", "resource", "kind", "namespace", "name", "uid"].filter((f) => o[f]).map((f) => [f, o[f]]));
export const trace = (o, signal) => get("/api/trace", objectParams(o), signal);
export const why = (o, what, signal) => get("/api/why", { ...objectParams(o), ...(what ? { what } : {}) }, signal);
export const inspect = (o, signal) => get("/api/object", objectParams(o), signal);
