import { randomBytes } from 'node:crypto';
import { eventually } from '@rmm/testing-services';
import sharp from 'sharp';
import type supertest from 'supertest';
import { expectStatus, IdentityTestApp, type IdentityReplica } from '../../test/identity-test-app.js';
import { inviteAndAccept, registerPartner, roleId, type TestUser } from '../../test/users.js';
import { attachFile, createPng } from '../../test/images.js';

const MEGABYTE = 1024 * 1024;

describe('avatars', () => {
  let testApp: IdentityTestApp;
  let identity: IdentityReplica;
  let somebody: TestUser;

  beforeAll(async () => {
    testApp = await IdentityTestApp.start();
    identity = await testApp.startReplica({ RATE_LIMIT_AVATAR_UPLOAD: '1000/60' });
    somebody = await registerPartner(identity);
  }, 120_000);
  afterAll(() => testApp.stop());

  const uploadForm = (send: (request: supertest.Test) => supertest.Test, { bearer } = somebody, on = identity) =>
    on.call('post', '/users/me/avatar', undefined, { bearer, send });
  const upload = (bytes: Buffer, who = somebody, on = identity) => uploadForm(attachFile(bytes), who, on);
  const picture = (userId: string, who: { bearer: string }, headers: Record<string, string> = {}, on = identity) =>
    on.get(`/users/${userId}/avatar`, { bearer: who.bearer, headers });
  const noise = (width: number, height: number) =>
    sharp(randomBytes(width * height * 3), { raw: { width, height, channels: 3 } });

  it('are re-encoded, scaled down, turned upright and freed of everything but their pixels', async () => {
    const photo = await noise(800, 600)
      .withMetadata({ orientation: 6, exif: { IFD0: { Copyright: 'secret-place' } } })
      .jpeg()
      .toBuffer();
    expect(photo.includes('secret-place')).toBe(true);
    const polyglot = Buffer.concat([photo, Buffer.from('<script>alert(1)</script>')]);
    const { body } = expectStatus(await upload(polyglot), 200);
    expect(body).toEqual({
      avatarUrl: expect.stringMatching(`^/api/v1/users/${somebody.userId}/avatar\\?v=[0-9a-f]{12}$`),
      size: expect.any(Number),
      mime: 'image/webp',
      updatedAt: expect.stringMatching(/Z$/),
    });
    expect((await identity.get('/users/me', somebody)).body.avatarUrl).toBe(body.avatarUrl);

    const shown = expectStatus(await picture(somebody.userId, somebody), 200);
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
  }, 30_000);

  it.each([
    ['png', () => noise(20, 30).png()],
    ['jpeg', () => noise(20, 30).jpeg()],
    ['webp', () => noise(20, 30).webp()],
  ])('may be %s, and are not blown up', async (_, make) => {
    expectStatus(await upload(await make().toBuffer()), 200);
    const { width, height } = await sharp((await picture(somebody.userId, somebody)).body as Buffer).metadata();
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
  ])('are never %s: 415', async (_, bytes) => {
    expect(await upload(bytes)).toMatchObject({ status: 415, body: { code: 'unsupported_media_type' } });
  });

  it('have a size: too many bytes or pixels are 413, told by a length or not', async () => {
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
      headers: { authorization: `Bearer ${somebody.bearer}`, 'content-type': 'multipart/form-data; boundary=b' },
      body: new Blob([form]).stream(),
      duplex: 'half',
    });
    expect(unannounced.status).toBe(413);
    expectStatus(await upload(createPng(6_000, 6_000)), 200);
  }, 30_000);

  it('come alone, in a form that can be read: 400 otherwise', async () => {
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
    const json = await identity.post('/users/me/avatar', { file: 'x' }, somebody);
    expect(json).toMatchObject({ status: 415, body: { code: 'unsupported_media_type' } });
    expect((await identity.call('post', '/users/me/avatar', undefined, { send: attachFile(image) })).status).toBe(401);
  }, 30_000);

  it('are seen by whoever sees the user, on every replica, and by nobody else', async () => {
    const stranger = await registerPartner(identity);
    const viewer = await inviteAndAccept(identity, somebody.bearer, {
      roleId: await roleId(identity, somebody.bearer, 'Partner Viewer'),
    });
    expectStatus(await upload(createPng(40, 40)), 200);
    const replica = await testApp.startReplica();
    expect((await picture(somebody.userId, viewer, {}, replica)).status).toBe(200);
    const hidden = await picture(somebody.userId, stranger);
    const absent = await picture(viewer.userId, viewer);
    for (const answer of [hidden, absent, await picture('7d9f2c1e-0000-4000-8000-000000000000', viewer)]) {
      expect(answer).toMatchObject({ status: 404, body: { code: 'not_found', error: 'Avatar not found' } });
    }
    expect((await identity.get(`/users/${somebody.userId}/avatar`)).status).toBe(401);
    expect((await picture('me', somebody)).status).toBe(404);
  }, 60_000);

  it('are not sent again to whoever has them', async () => {
    expectStatus(await upload(createPng(41, 41)), 200);
    const { etag = '' } = expectStatus(await picture(somebody.userId, somebody), 200).headers;
    expect(etag).toMatch(/^"[0-9a-f]{32}"$/);
    for (const known of [etag, `W/${etag}`, `"other", ${etag}`, '*']) {
      const same = await picture(somebody.userId, somebody, { 'if-none-match': known });
      expect(same).toMatchObject({ status: 304, text: '', headers: { etag } });
    }
    expect((await picture(somebody.userId, somebody, { 'if-none-match': '"other"' })).status).toBe(200);
  }, 30_000);

  it('stay whole when several are uploaded and removed at once', async () => {
    const remove = () => identity.delete('/users/me/avatar', somebody);
    const changes = [50, 51, 52, 53].flatMap((side) => [upload(createPng(side, side)), remove()]);
    for (const answer of await Promise.all(changes)) expectStatus(answer, 200);
    const [row] = await testApp.query<{ url: string | null; etag: string | null }>(
      `select u.avatar_url as url, a.etag from user_account u left join avatar a on a.user_id = u.id where u.id = $1`,
      [somebody.userId],
    );
    expect(row?.url ?? null).toBe(
      row?.etag ? `/api/v1/users/${somebody.userId}/avatar?v=${row.etag.slice(0, 12)}` : null,
    );
  }, 30_000);

  it('are removed, twice without harm, and it is all in the audit trail', async () => {
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
        `select action from audit_entry where resource_id = $1 and action like 'user.avatar.%' order by timestamp`,
        [other.userId],
      );
      expect(rows.map(({ action }) => action)).toEqual([
        'user.avatar.upload',
        'user.avatar.delete',
        'user.avatar.delete',
      ]);
    });
  }, 30_000);

  it('cost something, so uploads are counted', async () => {
    const strict = await testApp.startReplica({ RATE_LIMIT_AVATAR_UPLOAD: '2/3600' });
    const other = await registerPartner(strict);
    const answers = await Promise.all([1, 2, 3].map((side) => upload(createPng(side, side), other, strict)));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 200, 429]);
  }, 60_000);
});

const portOf = (identity: IdentityReplica): number =>
  ((identity.app.getHttpServer() as { address(): unknown }).address() as { port: number }).port;
