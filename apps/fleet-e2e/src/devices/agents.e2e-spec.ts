import { execFile } from 'node:child_process';
import { createHash, randomBytes, randomUUID } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { ApiClient, buildEnrollment, connectToFleet, createOrganization, partnerWithMfa } from '@rmm/testing';
import { createApiKey } from '../credentials/machines.js';
import { enrollmentKey, must } from '../steps.js';

const run = promisify(execFile);
const OS = process.platform === 'darwin' ? 'darwin' : 'linux';
const ARCH = process.arch === 'x64' ? 'amd64' : 'arm64';

interface Command {
  id: string;
  type: string;
  payload: { downloadUrl: string; checksum: string };
}

describe('agents', () => {
  const fleet = connectToFleet();
  const api = `${fleet.baseUrl}/api/v1`;
  /** The address that the fleet calls itself. */
  const publicApi = api.replace('//127.0.0.1:', '//localhost:');
  const dir = mkdtempSync(join(tmpdir(), 'agents-'));
  afterAll(() => rmSync(dir, { recursive: true, force: true }));

  const tenant = async () => {
    const { client } = await partnerWithMfa(fleet);
    const { orgId } = await createOrganization(client);
    return { client, orgId };
  };
  const enroll = async (client: ApiClient, orgId: string) => {
    const enrollment = buildEnrollment(await enrollmentKey(client, orgId));
    const body = must(await new ApiClient(fleet.baseUrl).post('/agents/enroll', enrollment), 201);
    const { agentId, deviceId, authToken } = body as Record<'agentId' | 'deviceId' | 'authToken', string>;
    const agent = new ApiClient(fleet.baseUrl).as({ bearer: authToken });
    const takeCommands = async () =>
      must(await agent.post(`/agents/${agentId}/heartbeat`, {}), 200).commands as Command[];
    const download = (url: string) => fetch(url, { headers: { authorization: `Bearer ${authToken}` } });
    return { agentId, deviceId, takeCommands, download };
  };
  const push = async (apiKey: string, agentId: string, content: Uint8Array<ArrayBuffer>) => {
    const form = new FormData();
    form.set('agentId', agentId);
    form.set('binary', new Blob([content]), 'agent');
    const response = await fetch(`${api}/dev/push`, { method: 'POST', headers: { 'x-api-key': apiKey }, body: form });
    return { status: response.status, body: (await response.json()) as Record<string, string> };
  };

  it('are downloaded with their checksum, in parts too', async () => {
    const url = `${api}/agents/download/${OS}/${ARCH}`;
    const response = await fetch(url);
    const content = Buffer.from(await response.arrayBuffer());
    const checksum = createHash('sha256').update(content).digest('hex');
    expect([response.status, response.headers.get('x-checksum-sha256')]).toEqual([200, checksum]);
    const part = await fetch(url, { headers: { range: 'bytes=2-5' } });
    expect([part.status, await part.text()]).toEqual([206, content.subarray(2, 6).toString()]);
    expect(await (await fetch(`${url}/sha256`)).text()).toBe(`${checksum}  rmm-agent-${OS}-${ARCH}\n`);
    expect((await fetch(`${api}/agents/download/plan9/${ARCH}`)).status).toBe(404);
  });

  it('are installed and enrolled by the script, once', async () => {
    const { client, orgId } = await tenant();
    const script = await (await fetch(`${api}/agents/install.sh`)).text();
    const install = () =>
      run('sh', ['-c', script, 'install.sh', '--prefix', dir, '--no-service'], {
        env: { ...process.env, RMM_ENROLLMENT_KEY: key },
      });
    const key = await enrollmentKey(client, orgId, { maxUsage: 1 });
    const first = await install();
    expect(first.stdout).toContain('Enrolled as device');
    const config = readFileSync(join(dir, 'etc/rmm-agent/agent.json'), 'utf8');
    const { agentId, authToken, deviceId, serverUrl } = JSON.parse(config) as Record<string, string>;
    expect(serverUrl).toBe(publicApi);
    const agent = new ApiClient(fleet.baseUrl).as({ bearer: authToken });
    must(await agent.post(`/agents/${agentId}/heartbeat`, {}), 200);
    const again = await install();
    expect(again.stdout).toContain('This device is enrolled');
    expect(readFileSync(join(dir, 'etc/rmm-agent/agent.json'), 'utf8')).toBe(config);
    const devices = must(await client.get(`/devices?orgId=${orgId}`), 200).data as { id: string; status: string }[];
    expect(devices).toMatchObject([{ id: deviceId, status: 'online' }]);
  });

  it('get a pushed build: a command in one heartbeat and one download', async () => {
    const { client, orgId } = await tenant();
    const [agent, other] = [await enroll(client, orgId), await enroll(client, orgId)];
    const { key } = await createApiKey(client, orgId, { scopes: ['devices:execute'] });
    const content = new Uint8Array(randomBytes(20 * 1024 * 1024));
    const pushed = await push(key, agent.agentId, content);
    const checksum = createHash('sha256').update(content).digest('hex');
    expect(pushed).toMatchObject({ status: 200, body: { checksum, deviceId: agent.deviceId, component: 'agent' } });

    expect(await other.takeCommands()).toEqual([]);
    const [command, ...more] = await agent.takeCommands();
    expect(command).toMatchObject({ id: pushed.body['commandId'], type: 'dev_push', payload: { checksum } });
    expect([more, await agent.takeCommands()]).toEqual([[], []]);

    const url = command?.payload.downloadUrl ?? '';
    expect(url).toBe(`${publicApi}/dev/push/download/${pushed.body['downloadToken']}`);
    expect((await other.download(url)).status).toBe(404);
    expect((await fetch(url)).status).toBe(401);
    const downloaded = await agent.download(url);
    const received = createHash('sha256').update(Buffer.from(await downloaded.arrayBuffer()));
    expect([downloaded.status, received.digest('hex')]).toEqual([200, checksum]);
    expect((await agent.download(url)).status).toBe(404);
  });

  it('get no build from outside of their organization, and none that is too large', async () => {
    const [own, foreign] = [await tenant(), await tenant()];
    const agent = await enroll(own.client, own.orgId);
    const key = async ({ client, orgId }: typeof own, scopes = ['devices:execute']) =>
      (await createApiKey(client, orgId, { scopes })).key;
    const statusOf = async (apiKey: string, agentId = agent.agentId, content = new Uint8Array([1])) => {
      const { status, body } = await push(apiKey, agentId, content);
      return [status, body['code']];
    };
    const ownKey = await key(own);
    expect(await statusOf(await key(foreign))).toEqual([404, 'not_found']);
    expect(await statusOf(ownKey, randomUUID())).toEqual([404, 'not_found']);
    expect(await statusOf(await key(own, ['devices:write']))).toEqual([403, 'api_key_scope_required']);
    expect(await statusOf(ownKey, agent.agentId, new Uint8Array(0))).toEqual([400, 'validation_failed']);
    const tooLarge = new Uint8Array(100 * 1024 * 1024 + 1);
    expect(await statusOf(ownKey, agent.agentId, tooLarge)).toEqual([413, 'payload_too_large']);
    expect(await agent.takeCommands()).toEqual([]);
  });

  it('are simulated by ./fleet agents', async () => {
    const { client, orgId } = await tenant();
    const key = await enrollmentKey(client, orgId, { maxUsage: 5 });
    const args = ['--count', '5', '--seconds', '3', '--interval', '1', '--key', key];
    const { stdout } = await run(process.execPath, [resolve('tools/fleet.mjs'), 'agents', ...args]);
    expect(stdout).toContain('5 of 5 agents enrolled');
    expect(stdout).toContain('no failures');
    const { data } = must(await client.get(`/devices?orgId=${orgId}&include=metrics`), 200) as {
      data: { status: string; metrics: object | null }[];
    };
    expect(data).toHaveLength(5);
    for (const { status, metrics } of data) expect([status, metrics]).toEqual(['online', expect.any(Object)]);
  });
});
