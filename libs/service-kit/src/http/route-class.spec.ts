import { routeClassOf } from './route-class.js';

describe('routeClassOf', () => {
  it.each([
    ['GET', '/api/v1/devices/:id', false, 'read'],
    ['HEAD', '/api/v1/devices', false, 'read'],
    ['PATCH', '/api/v1/devices/:id', false, 'write'],
    ['POST', '/api/v1/auth/login', false, 'sign_in'],
    ['GET', '/api/v1/sso/callback', false, 'sign_in'],
    ['POST', '/api/v1/agents/:id/heartbeat', false, 'agent'],
    ['GET', '/api/v1/partner-api/devices', false, 'partner'],
    ['POST', '/api/v1/mcp', false, 'partner'],
    ['POST', '/api/v1/orgs/import', true, 'bulk'],
    ['GET', '/api/v1/authors', false, 'read'],
    ['GET', undefined, true, 'none'],
  ])('returns the class of %s %s (bulk %s): %s', (method, route, isBulk, expected) => {
    expect(routeClassOf(method, route, isBulk)).toBe(expected);
  });
});
