import { createHash, randomUUID } from 'node:crypto';
import { Readable } from 'node:stream';
import { NotFoundError, PayloadTooLargeError, ValidationError } from '@rmm/service-kit';
import { partnerCaller } from '../../test/provisioning-test-database.js';
import type { DevicesService } from '../devices/devices.service.js';
import type { DevPushFilesRepository } from './dev-push-files.repository.js';
import { DevPushUploadService } from './dev-push-upload.service.js';
import { DevPushDisabled, DevPushStorageFull } from './dev-push.errors.js';
import { MAX_BUILD_BYTES } from './dto/dev-push-form.dto.js';

const MB = 1024 * 1024;

describe('DevPushUploadService', () => {
  const caller = partnerCaller(randomUUID());
  const agentId = randomUUID();
  let parts: { id: string; part: number; bytes: Buffer }[];
  let reserved: number[];
  let deleted: string[];
  let insertPart: () => Promise<void>;
  let isFull: boolean;

  beforeEach(() => {
    [parts, reserved, deleted, isFull] = [[], [], [], false];
    insertPart = () => Promise.resolve();
  });

  const files = {
    reserve: (_: string, bytes: number) => Promise.resolve((reserved.push(bytes), !isFull)),
    insertPart: (id: string, part: number, bytes: Buffer) => {
      parts.push({ id, part, bytes });
      return insertPart();
    },
    delete: (id: string) => Promise.resolve(void deleted.push(id)),
  } as unknown as DevPushFilesRepository;
  const devices = {
    getActiveByAgent: (_: unknown, id: string) =>
      id === agentId ? Promise.resolve({}) : Promise.reject(new NotFoundError('Device')),
  } as unknown as DevicesService;
  const uploads = (enabled = true) =>
    new DevPushUploadService({ devPush: { enabled, maxStoredBytes: 1_000 * MB } }, files, devices);

  const formOf = (content: Buffer | string | null, fields: Record<string, string> = { agentId }) => {
    const form = new FormData();
    for (const [name, value] of Object.entries(fields)) form.set(name, value);
    if (content !== null) form.set('binary', new Blob([new Uint8Array(Buffer.from(content))]), 'agent');
    return form;
  };
  const misnamed = () => {
    const form = formOf(null);
    form.set('file', new Blob(['x']), 'agent');
    return form;
  };
  /** A request that arrives in pieces of 64 KiB. */
  async function requestOf(form: FormData, change = (body: Buffer): Buffer => body) {
    const sent = new Request('http://localhost', { method: 'POST', body: form });
    const body = change(Buffer.from(await sent.arrayBuffer()));
    const pieces = Array.from({ length: Math.ceil(body.length / 65_536) }, (_, at) =>
      body.subarray(at * 65_536, (at + 1) * 65_536),
    );
    const headers = { 'content-type': sent.headers.get('content-type'), 'content-length': String(body.length) };
    return Object.assign(Readable.from(pieces), { headers, caller }) as unknown as Parameters<
      DevPushUploadService['receive']
    >[0];
  }
  const receive = async (form: FormData) => uploads().receive(await requestOf(form), {});

  it('stores a build in numbered parts of bounded size, with its checksum, and leaves the fields in the body', async () => {
    const content = Buffer.from(Array.from({ length: 700_000 }, (_, at) => at % 251));
    const request = await requestOf(formOf(content, { agentId, version: '2.0' }));
    const build = await uploads().receive(request, {});
    const checksum = createHash('sha256').update(content).digest('hex');
    expect(build).toMatchObject({ id: expect.any(String), bytes: 700_000, checksum });
    expect(request.body).toMatchObject({ agentId, version: '2.0' });
    expect(parts.map(({ id, part }) => [id, part])).toEqual([0, 1, 2].map((part) => [build.id, part]));
    expect(Buffer.concat(parts.map(({ bytes }) => bytes)).equals(content)).toBe(true);
    for (const { bytes } of parts) expect(bytes.length).toBeLessThanOrEqual(256 * 1024 + 65_536);
    expect(reserved).toEqual([MB]);
    expect(deleted).toEqual([]);
  });

  it('refuses a build above 100 MB, deletes its parts, and accepts one of 100 MB', async () => {
    const accepted = await receive(formOf(Buffer.alloc(MAX_BUILD_BYTES)));
    expect(accepted.bytes).toBe(MAX_BUILD_BYTES);
    parts = [];
    await expect(receive(formOf(Buffer.alloc(MAX_BUILD_BYTES + 1)))).rejects.toThrow(PayloadTooLargeError);
    expect(deleted).toEqual([parts[0]?.id]);
    expect(reserved).toEqual([MAX_BUILD_BYTES, MAX_BUILD_BYTES]);
  });

  it('reads no form while pushing is disabled', async () => {
    const request = await requestOf(formOf('x'));
    await expect(uploads(false).receive(request, {})).rejects.toThrow(DevPushDisabled);
    expect(request.readableDidRead).toBe(false);
  });

  it('stores nothing when the space is full', async () => {
    isFull = true;
    await expect(receive(formOf('x'))).rejects.toThrow(DevPushStorageFull);
    expect(parts).toEqual([]);
  });

  it('stores nothing for an unknown agent that is named before the file', async () => {
    await expect(receive(formOf('x', { agentId: randomUUID() }))).rejects.toThrow(NotFoundError);
    expect([reserved, parts]).toEqual([[], []]);
  });

  it.each<[string, FormData, string[]]>([
    ['no file', formOf(null), ['binary']],
    ['an empty file', formOf(''), ['binary']],
    ['neither file nor agent', formOf(null, { version: '1' }), ['agentId', 'binary']],
    ['a file of another name', misnamed(), ['binary']],
  ])('names what is missing in a form with %s', async (_, form, fields) => {
    const error = await receive(form).catch((caught: unknown) => caught);
    expect(error).toBeInstanceOf(ValidationError);
    expect(Object.keys((error as ValidationError).fieldErrors ?? {})).toEqual(fields);
  });

  it('deletes the parts of a form that ends early', async () => {
    const content = Buffer.alloc(MB);
    const request = await requestOf(formOf(content), (body) => body.subarray(0, 600_000));
    await expect(uploads().receive(request, {})).rejects.toThrow(ValidationError);
    expect(parts.length).toBeGreaterThan(0);
    expect(deleted).toEqual([parts[0]?.id]);
  });

  it('rejects with the error of the store and deletes the parts', async () => {
    const failure = new Error('connection lost');
    insertPart = () => Promise.reject(failure);
    await expect(receive(formOf('x'))).rejects.toBe(failure);
    expect(deleted).toHaveLength(1);
  });
});
