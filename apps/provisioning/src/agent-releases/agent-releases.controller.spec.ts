import { execFile } from 'node:child_process';
import { createHash, randomUUID } from 'node:crypto';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { hashKey } from '@rmm/secrets';
import { ProvisioningTestApp } from '../../test/provisioning-test-app.js';

const CONTENT = '#!/bin/sh\necho agent\n';
const CHECKSUM = createHash('sha256').update(CONTENT).digest('hex');
const ARCH = process.arch === 'x64' ? 'amd64' : 'arm64';
const OS = process.platform === 'darwin' ? 'darwin' : 'linux';

describe('agent releases', () => {
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'releases-'));
  let testApp: ProvisioningTestApp;

  beforeAll(async () => {
    fs.writeFileSync(path.join(dir, 'rmm-agent-linux-amd64'), CONTENT);
    fs.writeFileSync(path.join(dir, `rmm-agent-${OS}-${ARCH}`), CONTENT);
    testApp = await ProvisioningTestApp.start({ AGENT_RELEASE_DIR: dir });
  });
  afterAll(async () => {
    await testApp?.stop();
    fs.rmSync(dir, { recursive: true });
  });

  const get = (url: string, headers: Record<string, string> = {}) =>
    fetch(testApp.url + url, { headers, redirect: 'manual' });

  describe('GET /agents/download/:os/:arch', () => {
    const URL = '/agents/download/linux/amd64';

    it('returns the file with its checksum', async () => {
      const response = await get(URL);
      expect([response.status, await response.text()]).toEqual([200, CONTENT]);
      expect(Object.fromEntries(response.headers)).toMatchObject({
        'content-type': 'application/octet-stream',
        'content-disposition': 'attachment; filename="rmm-agent-linux-amd64"',
        'accept-ranges': 'bytes',
        'x-checksum-sha256': CHECKSUM,
        etag: `"${CHECKSUM}"`,
      });
    });

    it('returns a range, the rest of an interrupted download, and 416 for a range outside of the file', async () => {
      const part = await get(URL, { range: 'bytes=2-4', 'if-range': `"${CHECKSUM}"` });
      expect([part.status, await part.text()]).toEqual([206, CONTENT.slice(2, 5)]);
      expect(part.headers.get('content-range')).toBe(`bytes 2-4/${CONTENT.length}`);
      const changed = await get(URL, { range: 'bytes=2-4', 'if-range': '"another"' });
      expect([changed.status, await changed.text()]).toEqual([200, CONTENT]);
      const outside = await get(URL, { range: 'bytes=1000-' });
      expect([outside.status, ((await outside.json()) as { code: string }).code]).toEqual([
        416,
        'range_not_satisfiable',
      ]);
      expect(outside.headers.get('content-range')).toBe(`bytes */${CONTENT.length}`);
      expect([outside.headers.get('etag'), outside.headers.get('content-disposition')]).toEqual([null, null]);
    });

    it('returns 304 to a client that has the file', async () => {
      const response = await testApp.client().get(URL).set('If-None-Match', `"${CHECKSUM}"`);
      expect([response.status, response.text]).toEqual([304, '']);
    });

    it.each([
      '/linux/386',
      '/plan9/amd64',
      '/windows/arm64',
      '/linux/..%2F..%2Fetc%2Fpasswd',
      '/linux',
      '/..%2Flinux/amd64',
    ])('returns 404 for %s', async (pair) => {
      const response = await get(`/agents/download${pair}`);
      expect([response.status, ((await response.json()) as { code: string }).code]).toEqual([404, 'not_found']);
    });

    it('returns the line of sha256sum', async () => {
      const response = await get(`${URL}/sha256`);
      expect([response.status, await response.text()]).toEqual([200, `${CHECKSUM}  rmm-agent-linux-amd64\n`]);
      expect((await get('/agents/download/windows/arm64/sha256')).status).toBe(404);
    });

    it('redirects to the release server when one is configured', async () => {
      const elsewhere = await ProvisioningTestApp.start({ AGENT_RELEASE_URL: 'http://releases.example/v1/' });
      try {
        const locationOf = async (url: string) => {
          const response = await fetch(elsewhere.url + url, { redirect: 'manual' });
          return [response.status, response.headers.get('location')];
        };
        expect(await locationOf('/agents/download/windows/amd64')).toEqual([
          302,
          'http://releases.example/v1/rmm-agent-windows-amd64.exe',
        ]);
        expect(await locationOf(`${URL}/sha256`)).toEqual([
          302,
          'http://releases.example/v1/rmm-agent-linux-amd64.sha256',
        ]);
        expect(await locationOf('/agents/download/linux/386')).toEqual([404, null]);
      } finally {
        await elsewhere.stop();
      }
    });
  });

  it('returns the scripts with the configured address, whatever host the request names', async () => {
    for (const [name, type] of [
      ['install.sh', 'text/x-shellscript'],
      ['install.ps1', 'text/plain'],
    ]) {
      const response = await get(`/agents/${name}`, { host: 'evil.example', 'x-forwarded-host': 'evil.example' });
      const text = await response.text();
      expect([response.status, response.headers.get('content-type')]).toEqual([200, `${type}; charset=utf-8`]);
      expect(text).toContain('http://localhost:8080/api/v1');
      expect(text).not.toContain('evil.example');
    }
  });

  describe('install.sh', () => {
    const prefix = fs.mkdtempSync(path.join(os.tmpdir(), 'install-'));
    afterAll(() => fs.rmSync(prefix, { recursive: true }));
    const config = path.join(prefix, 'etc/rmm-agent/agent.json');
    const binary = path.join(prefix, 'usr/local/bin/rmm-agent');

    const install = async (...args: string[]): Promise<{ code: number; output: string }> => {
      const script = (await (await get('/agents/install.sh')).text()).replaceAll(
        'http://localhost:8080/api/v1',
        testApp.url,
      );
      return new Promise((resolve) => {
        const all = ['-s', '--', '--prefix', prefix, '--no-service', ...args];
        const child = execFile('sh', all, { timeout: 30_000 }, (error, stdout, stderr) =>
          resolve({ code: (error?.code as number | undefined) ?? 0, output: stdout + stderr }),
        );
        child.stdin?.end(script);
      });
    };
    const deviceCount = async (orgId: string) =>
      (await testApp.admin.query('SELECT count(*)::int AS n FROM device WHERE org_id = $1', [orgId])).rows[0]
        .n as number;

    it('installs and enrolls, and changes nothing when it runs again', async () => {
      const partnerId = await testApp.createPartner();
      const users = await testApp.clientFor({ partnerId });
      const orgId = (await users.post('/orgs/organizations', { name: 'Acme' })).body.id as string;
      const secret = `it's "quoted" \\ $(id)`;
      const enrollmentSecretHash = hashKey(secret).toString('hex');
      const enrollmentKey = testApp.credentials.mint({ orgId, partnerId, enrollmentSecretHash });
      const args = ['--key', enrollmentKey, '--secret', secret];

      const refused = await install('--key', enrollmentKey, '--secret', 'wrong');
      expect(refused).toMatchObject({ code: 1, output: expect.stringContaining('refused with status 403') });
      expect(await install('--key', 'no;key')).toMatchObject({ code: 1 });
      expect(await install('--key')).toMatchObject({ code: 1, output: expect.stringContaining('--key needs a value') });
      expect(await install('--unknown')).toMatchObject({ code: 1 });
      expect(fs.existsSync(config)).toBe(false);

      const first = await install(...args);
      expect(first).toMatchObject({ code: 0 });
      expect(fs.readFileSync(binary, 'utf8')).toBe(CONTENT);
      expect(fs.statSync(binary).mode & 0o777).toBe(0o755);
      expect(fs.statSync(config).mode & 0o777).toBe(0o600);
      const stored = JSON.parse(fs.readFileSync(config, 'utf8')) as Record<string, string>;
      expect(stored).toMatchObject({ orgId, serverUrl: testApp.url, deviceId: expect.any(String) });
      const agent = testApp.client(stored['authToken']);
      expect((await agent.post(`/agents/${stored['agentId']}/heartbeat`)).status).toBe(200);

      const again = await install(...args);
      expect(again).toMatchObject({ code: 0, output: expect.stringContaining('up to date') });
      expect(JSON.parse(fs.readFileSync(config, 'utf8'))).toEqual(stored);
      expect(await deviceCount(orgId)).toBe(1);

      const forced = await install(...args, '--force');
      expect(forced).toMatchObject({ code: 0 });
      const renewed = JSON.parse(fs.readFileSync(config, 'utf8')) as Record<string, string>;
      expect(renewed['deviceId']).toBe(stored['deviceId']);
      expect(renewed['authToken']).not.toBe(stored['authToken']);
      expect(await deviceCount(orgId)).toBe(1);
    });

    it('replaces nothing with a download that does not have its checksum', async () => {
      fs.writeFileSync(binary, 'the agent in use');
      const file = path.join(dir, `rmm-agent-${OS}-${ARCH}`);
      const lie = 'f'.repeat(64);
      const script = (await (await get('/agents/install.sh')).text()).replaceAll(
        'http://localhost:8080/api/v1',
        testApp.url,
      );
      const lying = script.replace(/expected=\$\(curl[^)]*\)/, `expected=$(echo ${lie})`);
      expect(lying).not.toBe(script);
      const code = await new Promise((resolve) => {
        const child = execFile('sh', ['-s', '--', '--prefix', prefix, '--no-service', '--key', randomUUID()], (error) =>
          resolve(error?.code),
        );
        child.stdin?.end(lying);
      });
      expect(code).toBe(1);
      expect(fs.readFileSync(binary, 'utf8')).toBe('the agent in use');
      expect(fs.existsSync(file)).toBe(true);
    });
  });
});
