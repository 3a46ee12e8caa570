import { jest } from '@jest/globals';
import { FakeFetch } from '../test/fake-fetch.js';
import { type DeprecationNotice, deprecationNoticeOf } from './deprecation.js';
import { FleetClient } from './fleet-client.js';

const HEADERS = { deprecation: '@1795392000', sunset: 'Tue, 01 Jun 2027 00:00:00 GMT' };
const REGISTER = { body: { email: 'a@example.com', password: 'correct horse battery' } };

const clientOf = (fake: FakeFetch, onDeprecation?: (notice: DeprecationNotice) => void) =>
  new FleetClient({
    baseUrl: 'https://api.fleet.example',
    fetch: fake.fetch,
    wait: () => Promise.resolve(),
    ...(onDeprecation && { onDeprecation }),
  });

describe('deprecationNoticeOf', () => {
  it('reads both dates', () => {
    expect(deprecationNoticeOf('GET /things', new Headers(HEADERS))).toEqual({
      operation: 'GET /things',
      since: new Date('2026-11-23T00:00:00Z'),
      sunset: new Date('2027-06-01T00:00:00Z'),
      message: 'GET /things is deprecated since 2026-11-23 and may be gone from 2027-06-01',
    });
  });

  it('gives a notice without dates for values that it cannot read, and none without the header', () => {
    const draft = new Headers({ deprecation: 'true', sunset: 'soon' });
    expect(deprecationNoticeOf('GET /things', draft)).toEqual({
      operation: 'GET /things',
      since: undefined,
      sunset: undefined,
      message: 'GET /things is deprecated',
    });
    expect(deprecationNoticeOf('GET /things', new Headers())).toBeUndefined();
  });
});

describe('FleetClient and deprecated operations', () => {
  it('notices each operation once, also with other credentials and when the call is refused', async () => {
    const replies = [
      { headers: HEADERS },
      { headers: HEADERS },
      { headers: HEADERS },
      { headers: HEADERS, status: 400 },
      {},
    ];
    const notices: DeprecationNotice[] = [];
    const client = clientOf(new FakeFetch(replies), (notice) => notices.push(notice));
    await client.post('/auth/register', REGISTER);
    await client.post('/auth/register', REGISTER);
    await client.as({ apiKey: 'svc_key' }).post('/auth/register', REGISTER);
    await expect(client.get('/devices')).rejects.toMatchObject({ status: 400 });
    await client.get('/orgs/organizations');
    expect(notices.map(({ operation }) => operation)).toEqual(['POST /auth/register', 'GET /devices']);
  });

  it('warns through the process by default', async () => {
    const emit = jest.spyOn(process, 'emitWarning').mockReturnValue(undefined);
    await clientOf(new FakeFetch([{ headers: HEADERS }])).post('/auth/register', REGISTER);
    expect(emit.mock.calls).toEqual([
      [
        'POST /auth/register is deprecated since 2026-11-23 and may be gone from 2027-06-01',
        { type: 'DeprecationWarning', code: 'RMM_DEPRECATED' },
      ],
    ]);
    emit.mockRestore();
  });
});
