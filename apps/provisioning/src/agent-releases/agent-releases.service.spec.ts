import { createHash } from 'node:crypto';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { NotFoundError } from '@rmm/service-kit';
import { AgentReleasesService } from './agent-releases.service.js';

describe('AgentReleasesService', () => {
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'releases-'));
  afterAll(() => fs.rmSync(dir, { recursive: true }));
  const inFolder = new AgentReleasesService({ agentReleases: { dir, url: null } });
  const elsewhere = new AgentReleasesService({ agentReleases: { dir: null, url: 'https://releases.example/v1' } });
  const sha256 = (text: string) => createHash('sha256').update(text).digest('hex');
  const write = (name: string, text: string) => fs.writeFileSync(path.join(dir, name), text);

  it('finds a file of the folder with its checksum, and a replaced one with its new checksum', async () => {
    write('rmm-agent-linux-amd64', 'first');
    const first = { dir, name: 'rmm-agent-linux-amd64', checksum: sha256('first') };
    expect(await Promise.all([inFolder.find('linux', 'amd64'), inFolder.find('linux', 'amd64')])).toEqual([
      first,
      first,
    ]);
    write('rmm-agent-linux-amd64', 'the second');
    expect(await inFolder.find('linux', 'amd64')).toEqual({ ...first, checksum: sha256('the second') });
  });

  it('returns the line of sha256sum', async () => {
    write('rmm-agent-windows-arm64.exe', 'program');
    expect(await inFolder.findChecksum('windows', 'arm64')).toEqual({
      line: `${sha256('program')}  rmm-agent-windows-arm64.exe\n`,
    });
  });

  it('returns the addresses of the release server', async () => {
    expect(await elsewhere.find('darwin', 'arm64')).toEqual({
      url: 'https://releases.example/v1/rmm-agent-darwin-arm64',
    });
    expect(await elsewhere.findChecksum('windows', 'amd64')).toEqual({
      url: 'https://releases.example/v1/rmm-agent-windows-amd64.exe.sha256',
    });
  });

  it.each([
    ['plan9', 'amd64'],
    ['linux', '386'],
    ['../linux', 'amd64'],
    ['linux', 'amd64/../../secret'],
    ['__proto__', 'constructor'],
  ])('throws NotFoundError for %s %s', async (name, arch) => {
    for (const releases of [inFolder, elsewhere]) {
      await expect(releases.find(name, arch)).rejects.toThrow(NotFoundError);
      await expect(releases.findChecksum(name, arch)).rejects.toThrow(NotFoundError);
    }
  });

  it('throws NotFoundError without a binary, for a folder in its place, and when nothing is configured', async () => {
    await expect(inFolder.find('darwin', 'amd64')).rejects.toThrow(NotFoundError);
    fs.mkdirSync(path.join(dir, 'rmm-agent-darwin-amd64'));
    await expect(inFolder.find('darwin', 'amd64')).rejects.toThrow(NotFoundError);
    const nothing = new AgentReleasesService({ agentReleases: { dir: null, url: null } });
    await expect(nothing.find('linux', 'amd64')).rejects.toThrow(NotFoundError);
  });
});
