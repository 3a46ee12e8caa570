import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import ts from 'typescript';
import { connectToFleet, createOrganization, partnerWithMfa } from '@rmm/testing';
import { enrollDevice, createApiKey } from '../credentials/machines.js';

const GUIDE = resolve(import.meta.dirname, '../../../../docs/guides/api-keys.md');
const run = promisify(execFile);

describe('the client of the guide to API keys', () => {
  const fleet = connectToFleet();
  const dir = mkdtempSync(join(tmpdir(), 'api-keys-guide-'));
  afterAll(() => rmSync(dir, { recursive: true, force: true }));

  const [, source = ''] = /```ts run\n([\s\S]*?)```/.exec(readFileSync(GUIDE, 'utf8')) ?? [];

  /** Transpiles the client and runs it with Node, as a reader would. */
  function client(apiKey: string, deviceId: string) {
    const options = { target: ts.ScriptTarget.ES2022, module: ts.ModuleKind.ES2022, strict: true };
    const { outputText, diagnostics } = ts.transpileModule(source, {
      compilerOptions: options,
      reportDiagnostics: true,
    });
    expect(diagnostics).toEqual([]);
    const file = join(dir, 'client.mjs');
    writeFileSync(file, outputText);
    const env = { ...process.env, FLEET_BASE_URL: fleet.baseUrl, API_KEY: apiKey, DEVICE_ID: deviceId };
    return run(process.execPath, [file], { env, timeout: 30_000 });
  }

  it('writes a custom field', async () => {
    const { client: admin } = await partnerWithMfa(fleet);
    const { orgId } = await createOrganization(admin);
    const { key } = await createApiKey(admin, orgId);
    const { stdout } = await client(key, await enrollDevice(fleet, admin, orgId));
    expect(stdout).toBe('A-18\n');
  });

  it('reports why it was rejected', async () => {
    await expect(client(`svc_${'0'.repeat(32)}`, 'none')).rejects.toMatchObject({
      stderr: expect.stringContaining('invalid_api_key: Invalid API key'),
    });
  });
});
