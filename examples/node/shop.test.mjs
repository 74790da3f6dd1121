// Tests on a control plane of their own: node --test.

import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
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
  const stop = () => { child.stdin.end(); return exited; };
  return { ready, run, stop };
}

let plane;
before(async () => { plane = await start('--nodes', '1'); });
after(() => plane.stop());
beforeEach(() => plane.run('reset'));

test('a rollout', async () => {
  await plane.run('kubectl', 'create', 'deployment', 'web', '--image=web', '--replicas=2');
  await plane.run('wait', 'deployment/web');
  const { items } = JSON.parse(await plane.run('kubectl', 'get', 'pods', '-o', 'json'));
  assert.deepEqual(items.map((pod) => pod.status.phase), ['Running', 'Running']);
});

test('begins without the objects of other tests', async () => {
  assert.equal(await plane.run('kubectl', 'get', 'deployments', '-o', 'name'), '');
});
