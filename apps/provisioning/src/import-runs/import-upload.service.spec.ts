import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { Readable } from 'node:stream';
import { PartnerAccessDenied } from '@rmm/access';
import { PayloadTooLargeError, ValidationError } from '@rmm/service-kit';
import { partnerCaller } from '../../test/provisioning-test-database.js';
import { FILE_LIMITS } from './files/file.limits.js';
import type { ImportFilesRepository } from './files/import-files.repository.js';
import { ImportUploadService } from './import-upload.service.js';

describe('ImportUploadService', () => {
  const partnerId = randomUUID();
  const caller = partnerCaller(partnerId);
  let stored: { key: object; part: number; bytes: Buffer }[];
  let insertPart: () => Promise<void>;
  let uploads: ImportUploadService;

  beforeEach(() => {
    stored = [];
    insertPart = () => Promise.resolve();
    const files = {
      insertPart: (_: unknown, key: object, part: number, bytes: Buffer) => {
        stored.push({ key, part, bytes });
        return insertPart();
      },
    } as unknown as ImportFilesRepository;
    uploads = new ImportUploadService(files);
  });

  const fileOf = (content: Buffer | string) => new Blob([new Uint8Array(Buffer.from(content))]);
  const formOf = (content: Buffer | string, fields: Record<string, string> = {}, name = 'customers.csv') => {
    const form = new FormData();
    for (const [field, value] of Object.entries(fields)) form.set(field, value);
    form.set('file', fileOf(content), name);
    return form;
  };
  /** A request that arrives in pieces of 64 KiB. */
  async function requestOf(form: FormData, change = (text: Buffer): Buffer => text) {
    const sent = new Request('http://localhost', { method: 'POST', body: form });
    const body = change(Buffer.from(await sent.arrayBuffer()));
    const pieces = Array.from({ length: Math.ceil(body.length / 65_536) }, (_, at) =>
      body.subarray(at * 65_536, (at + 1) * 65_536),
    );
    const headers = { 'content-type': sent.headers.get('content-type'), 'content-length': String(body.length) };
    return Object.assign(Readable.from(pieces), { headers, caller }) as unknown as Parameters<
      ImportUploadService['receive']
    >[0];
  }
  const receive = async (form: FormData) => uploads.receive(await requestOf(form), {});

  it('stores a file in numbered parts of bounded size and leaves the fields in the body', async () => {
    const content = Buffer.from(Array.from({ length: 700_000 }, (_, at) => at % 251));
    const request = await requestOf(formOf(content, { kind: 'contacts', partnerId }));
    const upload = await uploads.receive(request, {});
    expect(upload).toMatchObject({ runId: expect.any(String), partnerId, fileName: 'customers.csv', bytes: 700_000 });
    expect(request.body).toMatchObject({ kind: 'contacts' });
    expect(stored.map(({ part }) => part)).toEqual([0, 1, 2]);
    expect(Buffer.concat(stored.map(({ bytes }) => bytes)).equals(content)).toBe(true);
    for (const { key, bytes } of stored) {
      expect(key).toEqual({ runId: upload.runId, partnerId });
      expect(bytes.length).toBeLessThanOrEqual(256 * 1024 + 65_536);
    }
  });

  it.each([
    ['C:\\Users\\Ann\\customers.csv', 'customers.csv'],
    ['../../etc/passwd', 'passwd'],
    ['Kunden\r Müller.csv', 'Kunden Müller.csv'],
    ['\r\n', 'import'],
    [`${'a'.repeat(300)}.csv`, 'a'.repeat(255)],
  ])('keeps the name of %j without folders and control characters', async (given, fileName) => {
    expect(await receive(formOf('a\nb', {}, given))).toMatchObject({ fileName });
  });

  it('refuses a file above the limit and accepts one of the limit', async () => {
    const accepted = await receive(formOf(Buffer.alloc(FILE_LIMITS.bytes, 97)));
    expect(accepted.bytes).toBe(FILE_LIMITS.bytes);
    const refused = receive(formOf(Buffer.alloc(FILE_LIMITS.bytes + 1, 97)));
    await expect(refused).rejects.toBeInstanceOf(PayloadTooLargeError);
  });

  it('refuses a form without a file, with an empty one, with two or with unknown fields', async () => {
    const none = new FormData();
    none.set('kind', 'contacts');
    const two = formOf('a\nb');
    two.append('file', fileOf('c'), 'other.csv');
    const many = formOf('a\nb', { kind: 'contacts', mapping: '{}', partnerId, other: 'x' });
    for (const form of [none, formOf(''), two, many]) {
      await expect(receive(form)).rejects.toBeInstanceOf(ValidationError);
    }
  });

  it.each<[string, (body: Buffer) => Buffer]>([
    ['ends early', (body) => body.subarray(0, body.length - 30)],
    ['has a control character in a header', (body) => Buffer.from(body.toString().replace('name="', 'name="\u0007'))],
    ['has no parts', () => Buffer.from('organization')],
  ])('refuses a form that %s', async (_, change) => {
    const request = await requestOf(formOf('a\nb'), change);
    await expect(uploads.receive(request, {})).rejects.toBeInstanceOf(ValidationError);
  });

  it('stores nothing for another partner', async () => {
    await expect(receive(formOf('a\nb', { partnerId: randomUUID() }))).rejects.toBeInstanceOf(PartnerAccessDenied);
    expect(stored).toEqual([]);
  });

  it('rejects with the error of the store', async () => {
    const failure = new Error('connection lost');
    insertPart = () => Promise.reject(failure);
    await expect(receive(formOf('a\nb'))).rejects.toBe(failure);
  });

  it('refuses a request whose client went before its form is read', async () => {
    const request = await requestOf(formOf('a\nb'));
    const closed = once(request as unknown as Readable, 'close');
    (request as unknown as Readable).destroy();
    await closed;
    await expect(uploads.receive(request, {})).rejects.toBeInstanceOf(ValidationError);
  });

  it('refuses a request without a caller', async () => {
    const request = await requestOf(formOf('a\nb'));
    delete (request as { caller?: unknown }).caller;
    await expect(uploads.receive(request, {})).rejects.toThrow('uploads need a caller');
  });
});
