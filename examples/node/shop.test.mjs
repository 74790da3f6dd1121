// Tests on a control plane of their own: node --test.

import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import https from 'node:https';
import { createInterface } from 'node:readline';
import { json } from 'node:stream/consumers';
import { after, before, beforeEach, test } from 'node:test';
import { promisify } from 'node:util';

const program = process.env.CTRLPLANE ?? 'ctrlplane';

// start starts a control plane, which runs until stop, or until this process ends.
async function start(...flags) {
  const child = spawn(program, ['child', ...flags], { stdio: ['pipe', 'pipe', 'inherit'] });
  const exited = once(child, 'exit');
  const line = await Promise.race([
    once(createInterface({ input: child.stdout }), 'line').then(([text]) => text),
    exited.then(([code]) => { throw new Error(`ctrlplane has exited with ${code}`); }), // stderr says why
  ]);
  const ready = JSON.parse(line);
  const run = async (...args) => (await promisify(execFile)(program, ['--data-dir', ready.dataDir, ...args])).stdout;
  const agent = new https.Agent({ ca: readFileSync(ready.caFile), cert: readFileSync(ready.certFile), key: readFileSync(ready.keyFile) });
  // call sends a request of docs/http.md: fetch cannot send a certificate.
  const call = async (method, path, body) => {
    const request = https.request(`${ready.url}/ctrlplane/v1${path}`, { method, agent });
    request.end(body && JSON.stringify(body));
    const [answer] = await once(request, 'response');
    const result = await json(answer);
    if (answer.statusCode !== 200) throw new Error(`${path}: ${result.message}`);
    return result;
  };
  const stop = () => { child.stdin.end(); return exited; };
  return { ready, run, call, stop };
}

let plane;
before(async () => { plane = await start('--nodes', '1'); });
after(() => plane.stop());
beforeEach(async () => {
  await plane.call('POST', '/reset');
  await plane.call('DELETE', '/interventions');
});

test('a rollout', async () => {
  await plane.run('kubectl', 'create', 'deployment', 'web', '--image=web', '--replicas=2');
  await plane.run('wait', 'deployment/web');
  const { items } = JSON.parse(await plane.run('kubectl', 'get', 'pods', '-o', 'json'));
  assert.deepEqual(items.map((pod) => pod.status.phase), ['Running', 'Running']);
});

test('Pods wait for a paused controller', async () => {
  await plane.call('POST', '/controllers/pause', { names: ['replicaset'] });
  await plane.run('kubectl', 'create', 'deployment', 'web', '--image=web');
  const write = await plane.call('POST', '/controllers/step', { names: ['replicaset'] });
  assert.deepEqual([write.verb, write.object.kind, write.status], ['create', 'Pod', 201]);
  await plane.call('POST', '/controllers/resume', { names: ['replicaset'] });
  const { settled, remaining } = await plane.call('GET', '/settled?timeout=60s');
  assert.ok(settled, JSON.stringify(remaining));
});

test('begins without the objects of other tests', async () => {
  assert.equal(await plane.run('kubectl', 'get', 'deployments', '-o', 'name'), '');
});
