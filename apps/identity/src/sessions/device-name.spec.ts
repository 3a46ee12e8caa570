import { deviceName } from './device-name.js';

const WEBKIT = 'AppleWebKit/537.36 (KHTML, like Gecko)';

describe('deviceName', () => {
  it.each([
    ['Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:128.0) Gecko/20100101 Firefox/128.0', 'Firefox on Windows'],
    [`Mozilla/5.0 (Windows NT 10.0; Win64; x64) ${WEBKIT} Chrome/126.0.0.0 Safari/537.36`, 'Chrome on Windows'],
    [`Mozilla/5.0 (Windows NT 10.0; Win64; x64) ${WEBKIT} Chrome/126.0 Safari/537.36 Edg/126.0`, 'Edge on Windows'],
    [`Mozilla/5.0 (X11; Linux x86_64) ${WEBKIT} Chrome/126.0 Safari/537.36 OPR/112.0`, 'Opera on Linux'],
    [
      `Mozilla/5.0 (Linux; Android 14; SM-S921B) ${WEBKIT} SamsungBrowser/25.0 Chrome/121.0 Mobile Safari/537.36`,
      'Samsung Internet on Android',
    ],
    [`Mozilla/5.0 (X11; CrOS x86_64 14541.0.0) ${WEBKIT} Chrome/126.0 Safari/537.36`, 'Chrome on ChromeOS'],
    [
      'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.5 Safari/605.1.15',
      'Safari on macOS',
    ],
    [
      'Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) CriOS/126.0 Mobile/15E148 Safari/604.1',
      'Chrome on iPhone',
    ],
    ['curl/8.5.0', 'curl'],
    ['node', 'node'],
    ['PostmanRuntime/7.39.0', 'PostmanRuntime'],
    ['Mozilla/5.0', 'Unknown device'],
    ['evil.test/1.0', 'Unknown device'],
    ['<script>alert(1)</script>', 'Unknown device'],
    ['', 'Unknown device'],
    [undefined, 'Unknown device'],
    [null, 'Unknown device'],
  ])('recognizes %s', (userAgent, name) => {
    expect(deviceName(userAgent)).toBe(name);
  });
});
