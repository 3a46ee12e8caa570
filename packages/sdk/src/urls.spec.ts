import { createUrl } from './urls.js';

describe('createUrl', () => {
  it('encodes path parameters', () => {
    expect(
      createUrl('https://api.fleet.example/', '/scripts/{id}/versions/{version}', { id: 'a/b?', version: 2 }),
    ).toBe('https://api.fleet.example/api/v1/scripts/a%2Fb%3F/versions/2');
  });

  it.each([{}, { id: undefined }, { id: null }, { id: '' }])('refuses a path parameter without a value: %j', (path) => {
    expect(() => createUrl('https://api.fleet.example', '/devices/{id}', path)).toThrow('no value for id');
  });

  it('writes lists with commas, times in UTC and booleans as words, and leaves absent ones out', () => {
    const query = { orgIds: ['a', 'b'], since: new Date(0), expired: false, page: 2, cursor: null, search: undefined };
    const { searchParams } = new URL(createUrl('https://api.fleet.example', '/devices', {}, query));
    expect(Object.fromEntries(searchParams)).toEqual({
      orgIds: 'a,b',
      since: '1970-01-01T00:00:00.000Z',
      expired: 'false',
      page: '2',
    });
  });
});
