import type { OpenApiOperation } from '@rmm/service-kit';
import { Idempotent } from '../idempotency/idempotent.decorator.js';
import { describeRouteAccess } from './describe-route-access.js';
import {
  AcceptsApiKey,
  AgentToken,
  AllowScopes,
  FullPartnerAccess,
  KeysOnly,
  PartnerKey,
  Public,
  RequireMfa,
  RequirePermission,
  ScimToken,
  SignedIn,
} from './route-access.decorator.js';

class ThingsController {
  @RequirePermission('devices:write')
  @RequireMfa()
  change() {
    return 'permission';
  }
  @SignedIn()
  @AllowScopes('partner', 'system')
  @FullPartnerAccess()
  show() {
    return 'signed-in';
  }
  @Public()
  open() {
    return 'public';
  }
  @Public({ optionalBearer: true })
  either() {
    return 'optional bearer';
  }
  @AcceptsApiKey('devices:read')
  @Idempotent()
  read() {
    return 'API key';
  }
  @AcceptsApiKey('devices:read')
  @KeysOnly()
  machine() {
    return 'API key only';
  }
  @PartnerKey('sites:read')
  exportSites() {
    return 'partner key';
  }
  @AgentToken()
  report() {
    return 'agent';
  }
  @ScimToken()
  provision() {
    return 'SCIM';
  }
}

function described(name: keyof ThingsController, description?: string): OpenApiOperation {
  const operation = { description, responses: { 200: { description: '' } } } as unknown as OpenApiOperation;
  const { value } = Object.getOwnPropertyDescriptor(ThingsController.prototype, name) as { value: () => string };
  describeRouteAccess(operation, { controller: ThingsController, handler: value });
  return operation;
}

const headersOf = (operation: OpenApiOperation) =>
  Object.keys((operation.responses[200] as { headers?: object }).headers ?? {}).sort();

describe('describeRouteAccess', () => {
  it.each([
    ['change', 'Requires a session with the permission `devices:write`, and a second factor in the session.'],
    [
      'show',
      'Requires a session, and a session of the scope `partner` or `system`, and access to all organizations of the partner.',
    ],
    ['open', 'Needs no credential.'],
    ['either', 'Works without a credential, and with a session.'],
    ['read', 'Requires an API key with the scope `devices:read`, or a session with the permission of that name.'],
    ['machine', 'Requires an API key with the scope `devices:read`.'],
    ['exportSites', 'Requires a partner key with the scope `sites:read`.'],
    ['report', 'Requires the token of an agent.'],
    ['provision', 'Requires the token of a SCIM client.'],
  ] as const)('says what %s requires', (name, sentence) => {
    expect(described(name).description).toBe(sentence);
    expect(described(name, 'Longer text.').description).toBe(`Longer text.\n\n${sentence}`);
  });

  it.each([
    ['open', []],
    ['either', [{}, { bearer: [] }]],
    ['read', [{ apiKey: [] }, { bearer: [] }]],
    ['machine', [{ apiKey: [] }]],
    ['report', [{ bearer: [] }]],
  ] as const)('lists the credentials of %s', (name, security) => {
    expect(described(name).security).toEqual(security);
  });

  it('declares the rate headers of keys', () => {
    const headers = ['X-RateLimit-Limit', 'X-RateLimit-Remaining', 'X-RateLimit-Reset'];
    expect(headersOf(described('exportSites'))).toEqual(headers);
    expect(headersOf(described('machine'))).toEqual(headers);
    expect(headersOf(described('change'))).toEqual([]);
  });

  it('declares the idempotency key of routes that support one', () => {
    const read = described('read');
    expect(read.parameters).toMatchObject([{ name: 'Idempotency-Key', in: 'header', required: false }]);
    expect(headersOf(read)).toContain('Idempotency-Replayed');
    expect(described('machine').parameters).toBeUndefined();
  });
});
