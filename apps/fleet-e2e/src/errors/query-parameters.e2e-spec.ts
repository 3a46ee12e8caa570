import { ApiClient, connectToFleet, createOrganization, partnerWithMfa } from '@rmm/testing';
import { readApiDocument, type Operation } from '../fuzz/operations.js';
import { must } from '../steps.js';

/** Parameters that would choose other records, in names of this and of other APIs. */
const CHOOSING = ['cursor', 'sort', 'filter', 'orderBy', 'pageSize', 'offset', 'deviceGroupId', 'status', 'osType'];

describe('query parameters of lists', () => {
  const fleet = connectToFleet();
  let client: ApiClient;
  let orgId: string;
  let lists: Operation[];

  beforeAll(async () => {
    client = (await partnerWithMfa(fleet)).client;
    ({ orgId } = await createOrganization(client));
    const { operations } = await readApiDocument(fleet.baseUrl);
    lists = operations.filter(
      ({ method, path, access, parameters }) =>
        method === 'GET' &&
        !path.includes('{') &&
        ['permission', 'signed-in'].includes(access.kind) &&
        parameters.some(isNamed('limit')),
    );
  });

  const isNamed =
    (name: string) =>
    (parameter: Operation['parameters'][number]): boolean =>
      parameter.in === 'query' && parameter.name === name;

  /** Returns the lists that a partner may read, each with the query it needs. */
  const readable = async () => {
    const found = [];
    for (const { path, parameters } of lists) {
      const base = `${path.replace('/api/v1', '')}?limit=1${parameters.some(isNamed('orgId')) ? `&orgId=${orgId}` : ''}`;
      const own = new ApiClient(fleet.baseUrl, client.credentials); // an address with limits of its own
      if ((await own.get(base)).status === 200) found.push({ base, parameters, own });
    }
    return found;
  };

  it('that would filter, sort or page are 400 where they are not served, and others are ignored', async () => {
    const found = await readable();
    expect(found.length).toBeGreaterThan(10);
    for (const { base, parameters, own } of found) {
      must(await own.get(`${base}&color=blue`), 200);
      for (const name of CHOOSING.filter((candidate) => !parameters.some(isNamed(candidate)))) {
        const { status, body } = await own.get(`${base}&${name}=x`);
        const fields = Object.keys((body.details?.fieldErrors ?? {}) as object);
        expect({ base, status, fields }).toEqual({ base, status: 400, fields: [name] });
      }
    }
  });
});
