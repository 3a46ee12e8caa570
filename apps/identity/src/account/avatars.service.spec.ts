import { randomBytes } from 'node:crypto';
import sharp from 'sharp';
import type supertest from 'supertest';
import { eventually } from '@rmm/testing-services';
import { expectStatus, IdentityTestApp, type IdentityReplica } from '../../test/identity-test-app.js';
import { attachFile, createPng } from '../../test/images.js';
import { inviteAndAccept, registerPartner, roleId, type TestUser } from '../../test/users.js';

const MEGABYTE = 1024 * 1024;

describe('avatars', () => {
  let testApp: IdentityTestApp;
  let identity: IdentityReplica;
  let member: TestUser;

  beforeAll(async () => {
    testApp = await IdentityTestApp.start();
    identity = await testApp.startReplica({ RATE_LIMIT_AVATAR_UPLOAD: '1000/60' });
    member = await registerPartner(identity);
  }, 120_000);
  afterAll(() => testApp.stop());

  const uploadForm = (send: (request: supertest.Test) => supertest.Test, { bearer } = member, on = identity) =>
    on.call('post', '/users/me/avatar', undefined, { bearer, send });
  const upload = (bytes: Buffer, who = member, on = identity) => uploadForm(attachFile(bytes), who, on);
  const picture = (userId: string, who: { bearer: string }, headers: Record<string, string> = {}, on = identity) =>
    on.get(`/users/${userId}/avatar`, { bearer: who.bearer, headers });
  const noise = (width: number, height: number) =>
    sharp(randomBytes(width * height * 3), { raw: { width, height, channels: 3 } });

  it('converts an upload: scaled down, upright, without metadata', async () => {
    const photo = await noise(800, 600)
      .withMetadata({ orientation: 6, exif: { IFD0: { Copyright: 'secret-place' } } })
      .jpeg()
      .toBuffer();
    expect(photo.includes('secret-place')).toBe(true);
    const polyglot = Buffer.concat([photo, Buffer.from('<script>alert(1)</script>')]);
    const { body } = expectStatus(await upload(polyglot), 200);
    expect(body).toEqual({
      avatarUrl: expect.stringMatching(`^/api/v1/users/${member.userId}/avatar\\?v=[0-9a-f]{12}$`),
      size: expect.any(Number),
      mime: 'image/webp',
      updatedAt: expect.stringMatching(/Z$/),
    });
    expect((await identity.get('/users/me', member)).body.avatarUrl).toBe(body.avatarUrl);

    const shown = expectStatus(await picture(member.userId, member), 200);
    const bytes = shown.body as Buffer;
    expect(shown.headers).toMatchObject({
      'content-type': 'image/webp',
      'content-length': String(body.size),
      'content-disposition': 'inline',
      'x-content-type-options': 'nosniff',
      'cache-control': 'private, max-age=300',
    });
    for (const trace of ['secret-place', '<script>', 'Exif']) expect(bytes.includes(trace)).toBe(false);
    const { format, width, height, exif, orientation } = await sharp(bytes).metadata();
    expect({ format, width, height, exif, orientation }).toEqual({
      format: 'webp',
      width: 384,
      height: 512,
      exif: undefined,
      orientation: undefined,
    });
  });

  it.each([
    ['png', () => noise(20, 30).png()],
    ['jpeg', () => noise(20, 30).jpeg()],
    ['webp', () => noise(20, 30).webp()],
  ])('accept %s and are not enlarged', async (_, create) => {
    expectStatus(await upload(await create().toBuffer()), 200);
    const { width, height } = await sharp((await picture(member.userId, member)).body as Buffer).metadata();
    expect({ width, height }).toEqual({ width: 20, height: 30 });
  });

  it.each([
    ['an SVG with a script', Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>')],
    ['HTML named picture.png', Buffer.from('<!doctype html><script>alert(1)</script>')],
    ['a GIF', Buffer.from('R0lGODlhAQABAAAAACwAAAAAAQABAAACAkQBADs=', 'base64')],
    ['a GIF that is a script', Buffer.from('GIF89a=1;alert(1)//')],
    ['HTML behind the first bytes of a PNG', Buffer.concat([createPng(1, 1).subarray(0, 8), Buffer.from('<script>')])],
    ['half a PNG', createPng(64, 64).subarray(0, 60)],
    ['an executable', Buffer.from('MZ\u0090\u0000')],
  ])('returns 415 for %s', async (_, bytes) => {
    expect(await upload(bytes)).toMatchObject({ status: 415, body: { code: 'unsupported_media_type' } });
  });

  it('returns 413 for too many bytes or pixels, with or without a Content-Length', async () => {
    const tooLarge = { status: 413, body: { code: 'payload_too_large' } };
    expect(await upload(Buffer.alloc(5 * MEGABYTE + 1))).toMatchObject(tooLarge);
    expect(await upload(Buffer.alloc(6 * MEGABYTE))).toMatchObject(tooLarge);
    expect(await upload(createPng(20_000, 20_000))).toMatchObject(tooLarge);
    const form = Buffer.concat([
      Buffer.from('--b\r\nContent-Disposition: form-data; name="file"; filename="a.png"\r\n\r\n'),
      Buffer.alloc(5 * MEGABYTE + 1),
      Buffer.from('\r\n--b--\r\n'),
    ]);
    const unannounced = await fetch(`http://127.0.0.1:${portOf(identity)}/api/v1/users/me/avatar`, {
      method: 'POST',
      headers: { authorization: `Bearer ${member.bearer}`, 'content-type': 'multipart/form-data; boundary=b' },
      body: new Blob([form]).stream(),
      duplex: 'half',
    });
    expect(unannounced.status).toBe(413);
    expectStatus(await upload(createPng(6_000, 6_000)), 200);
  });

  it('returns 400 for any form but one with a single file', async () => {
    const image = createPng(8, 8);
    const raw = (text: string, type: string) => (request: supertest.Test) =>
      request.set('Content-Type', type).send(text);
    const forms: ((request: supertest.Test) => supertest.Test)[] = [
      (request) => request,
      attachFile(Buffer.alloc(0)),
      attachFile(image, 'picture'),
      (request) => attachFile(image)(attachFile(image)(request)),
      (request) => attachFile(image)(request.field('name', 'x')),
      (request) => request.field('file', 'x'),
      raw('--b\r\nno form at all', 'multipart/form-data; boundary=b'),
      raw('--b\r\n', 'multipart/form-data'),
    ];
    for (const form of forms) {
      const refused = await uploadForm(form);
      expect(refused).toMatchObject({ status: 400, body: { code: 'validation_failed' } });
      expect(Object.keys(refused.body.details.fieldErrors as object)).toEqual(['file']);
    }
    const json = await identity.post('/users/me/avatar', { file: 'x' }, member);
    expect(json).toMatchObject({ status: 415, body: { code: 'unsupported_media_type' } });
    expect((await identity.call('post', '/users/me/avatar', undefined, { send: attachFile(image) })).status).toBe(401);
  });

  it('shows an avatar on every replica to callers who can see the user, and to no other', async () => {
    const stranger = await registerPartner(identity);
    const viewer = await inviteAndAccept(identity, member.bearer, {
      roleId: await roleId(identity, member.bearer, 'Partner Viewer'),
    });
    expectStatus(await upload(createPng(40, 40)), 200);
    const replica = await testApp.startReplica();
    expect((await picture(member.userId, viewer, {}, replica)).status).toBe(200);
    const hidden = await picture(member.userId, stranger);
    const absent = await picture(viewer.userId, viewer);
    for (const response of [hidden, absent, await picture('7d9f2c1e-0000-4000-8000-000000000000', viewer)]) {
      expect(response).toMatchObject({ status: 404, body: { code: 'not_found', error: 'Avatar not found' } });
    }
    expect((await identity.get(`/users/${member.userId}/avatar`)).status).toBe(401);
    expect((await picture('me', member)).status).toBe(404);
  });

  it('returns 304 when the client has the current ETag', async () => {
    expectStatus(await upload(createPng(41, 41)), 200);
    const { etag = '' } = expectStatus(await picture(member.userId, member), 200).headers;
    expect(etag).toMatch(/^"[0-9a-f]{32}"$/);
    for (const known of [etag, `W/${etag}`, `"other", ${etag}`, '*']) {
      const same = await picture(member.userId, member, { 'if-none-match': known });
      expect(same).toMatchObject({ status: 304, text: '', headers: { etag } });
    }
    expect((await picture(member.userId, member, { 'if-none-match': '"other"' })).status).toBe(200);
  });

  it('keeps picture and URL consistent under concurrent uploads and removals', async () => {
    const remove = () => identity.delete('/users/me/avatar', member);
    const changes = [50, 51, 52, 53].flatMap((side) => [upload(createPng(side, side)), remove()]);
    for (const response of await Promise.all(changes)) expectStatus(response, 200);
    const [row] = await testApp.query<{ url: string | null; etag: string | null }>(
      `select u.avatar_url as url, a.etag from user_account u left join avatar a on a.user_id = u.id where u.id = $1`,
      [member.userId],
    );
    expect(row?.url ?? null).toBe(
      row?.etag ? `/api/v1/users/${member.userId}/avatar?v=${row.etag.slice(0, 12)}` : null,
    );
  });

  it('removes an avatar, repeatedly if asked, and records each change in the audit trail', async () => {
    const other = await registerPartner(identity);
    expectStatus(await upload(createPng(9, 9), other), 200);
    for (let time = 1; time <= 2; time++) {
      expect(expectStatus(await identity.delete('/users/me/avatar', other), 200).body).toEqual({ avatarUrl: null });
    }
    expect((await identity.get('/users/me', other)).body.avatarUrl).toBeNull();
    expect((await picture(other.userId, other)).status).toBe(404);
    expect((await identity.delete('/users/me/avatar')).status).toBe(401);
    await eventually(async () => {
      const rows = await testApp.query<{ action: string }>(
        `select action from audit_entry where resource_id = $1 and action like 'user.avatar.%' order by timestamp, sequence`,
        [other.userId],
      );
      expect(rows.map(({ action }) => action)).toEqual([
        'user.avatar.upload',
        'user.avatar.delete',
        'user.avatar.delete',
      ]);
    });
  });

  it('limits the rate of uploads', async () => {
    const strict = await testApp.startReplica({ RATE_LIMIT_AVATAR_UPLOAD: '2/3600' });
    const other = await registerPartner(strict);
    const responses = await Promise.all([1, 2, 3].map((side) => upload(createPng(side, side), other, strict)));
    expect(responses.map(({ status }) => status).sort()).toEqual([200, 200, 429]);
  });
});

const portOf = (identity: IdentityReplica): number =>
  ((identity.app.getHttpServer() as { address(): unknown }).address() as { port: number }).port;
