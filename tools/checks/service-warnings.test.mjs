import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, describe, it } from 'node:test';
import { summarizeWarnings } from '../dist/commands/service-warnings.js';

describe('the warnings of services after a failed run', () => {
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'rmm-warnings-'));
  after(() => fs.rmSync(dir, { recursive: true }));

  const line = (second, level, msg, more) =>
    JSON.stringify({ level, time: `2026-01-02T03:04:0${second}.000Z`, service: 'provisioning', msg, ...more });

  it('have a line for each kind, with its count and times, in the order of the last', () => {
    const err = { type: 'UnavailableError', message: 'not shown', logDetails: { rpc: 'identity.partners.get' } };
    const [first, second] = [
      [line(1, 'warn', 'A chunk failed', { err }), line(2, 'info', 'started'), line(5, 'error', 'lost'), 'not JSON'],
      [line(3, 'warn', 'A chunk failed', { err }), line(4, 'warn', 'slow', { err: { message: 'no reply' } }), '{'],
    ];
    fs.writeFileSync(path.join(dir, 'provisioning.log'), first.join('\n'));
    fs.writeFileSync(path.join(dir, 'provisioning-2.log'), second.join('\n'));
    assert.deepEqual(summarizeWarnings(dir), [
      '2 × 03:04:01 to 03:04:03  provisioning: A chunk failed (UnavailableError {"rpc":"identity.partners.get"})',
      '1 × 03:04:04 to 03:04:04  provisioning: slow (Error no reply)',
      '1 × 03:04:05 to 03:04:05  provisioning: lost',
    ]);
  });

  it('are none without log files', () => assert.deepEqual(summarizeWarnings(path.join(dir, 'absent')), []));
});
