import { MASK, maskHeaderValue, maskUrl } from './webhook-masking.js';

describe('maskUrl', () => {
  it.each([
    ['https://hooks.example.com', 'https://hooks.example.com'],
    ['https://hooks.example.com/a?b=1', 'https://hooks.example.com/a?b=1'],
    ['https://user:pass@hooks.example.com/a', 'https://hooks.example.com/a'],
    ['https://user@hooks.example.com/a', 'https://hooks.example.com/a'],
    ['https://hooks.example.com/a?token=1&b=2', 'https://hooks.example.com/a?b=2'],
    ['https://hooks.example.com/a?X-Amz-Signature=1&b=2', 'https://hooks.example.com/a?b=2'],
    ['https://hooks.example.com/a?apiKey=1&api_key=2&AUTH=3&sig=4', 'https://hooks.example.com/a'],
    ['https://hooks.example.com/a?client_credentials=1&code=2&b=3#c', 'https://hooks.example.com/a?b=3#c'],
    ['https://hooks.example.com/a?%74oken=1', 'https://hooks.example.com/a'],
    ['no url', MASK],
  ])('shows %s as %s', (url, shown) => expect(maskUrl(url)).toBe(shown));

  it('changes nothing in what it has masked', () => {
    const masked = maskUrl('https://u:p@hooks.example.com/a?token=1&b=2');
    expect(maskUrl(masked)).toBe(masked);
  });
});

describe('maskHeaderValue', () => {
  it.each(['Authorization', 'cookie', 'X-Api-Key', 'X-Auth-Token', 'my-SECRET', 'X-Signature'])('hides %s', (name) =>
    expect(maskHeaderValue(name, 'v')).toBe(MASK),
  );
  it.each(['X-Environment', 'Accept', 'X-Tenant'])('shows %s', (name) => expect(maskHeaderValue(name, 'v')).toBe('v'));
});
