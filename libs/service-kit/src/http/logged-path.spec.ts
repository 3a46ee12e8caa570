import { loggedPath } from './logged-path.js';

describe('loggedPath', () => {
  it.each([
    ['/api/v1/things/crash', '/api/v1/things/crash'],
    ['/', '/'],
    ['/api/v1/partner-api/svc_0123456789abcdef', '/api/v1/partner-api/*'],
    ['/svc_AbCdEf/wp-login.php', '/*/*'],
    ['/api/v1/users/7b4b1c1e-0000-4000-8000-000000000000/sessions', '/api/v1/users/*/sessions'],
    ['/api/v1/secret%20word', '/api/v1/*'],
    [`/${'a'.repeat(33)}`, '/*'],
    ['/a'.repeat(50), `${'/a'.repeat(7)}/...`],
  ])('shows %s as %s', (path, shown) => {
    expect(loggedPath(path)).toBe(shown);
  });
});
