import { containsMask, isMaskedForm, MASK, maskHeaderValue, maskUrl } from './webhook-masking.policy.js';

const AT = 'https://hooks.example.com';

describe('maskUrl', () => {
  it.each([
    [AT, AT],
    [`${AT}/a?b=1`, `${AT}/a?b=1`],
    ['https://user:pass@hooks.example.com/a', `${AT}/a`],
    ['https://user@hooks.example.com/a', `${AT}/a`],
    ['https://:pass@hooks.example.com/a', `${AT}/a`],
    ['https://us%40er:p%3Ass@hooks.example.com/a', `${AT}/a`],
    [`${AT}/a?token=1&b=2`, `${AT}/a?b=2`],
    [`${AT}/a?X-Amz-Signature=1&b=2`, `${AT}/a?b=2`],
    [`${AT}/a?apiKey=1&api_key=2&AUTH=3&sig=4`, `${AT}/a`],
    [`${AT}/a?client_credentials=1&code=2&b=3#c`, `${AT}/a?b=3#c`],
    ['no url', MASK],
  ])('shows %s as %s', (url, shown) => expect(maskUrl(url)).toBe(shown));

  it.each([
    ['a name in another case', '?TOKEN=1&b=2', '?b=2'],
    ['a word inside a longer name', '?monkeyBusiness=1&b=2', '?b=2'],
    ['an encoded name', '?%74oken=1&b=2', '?b=2'],
    ['a name given more than once', '?token=1&b=2&token=3&Token=4', '?b=2'],
    ['a name in brackets', '?user[password]=1&b=2', '?b=2'],
    ['a name without value', '?token&b=2', '?b=2'],
    ['an empty value', '?token=&b=2', '?b=2'],
    ['a value with = in it', '?token=a=b&b=2', '?b=2'],
    ['pairs parted by semicolons', '?b=1;token=2&c=3', '?c=3'],
    ['a broken escape next to it', '?b=%zz&token=1', '?b=%zz'],
    ['a fragment', '?b=2#access_token=1', '?b=2'],
  ])('takes out %s', (_, query, shown) => expect(maskUrl(`${AT}/a${query}`)).toBe(`${AT}/a${shown}`));

  it.each(['?b=token', '?b=a%20c&d=x+y', '?=token', '#top', '?b=1&b=2', '?'])(
    'leaves %s as it was written',
    (query) => {
      expect(maskUrl(`${AT}/a${query}`)).toBe(`${AT}/a${query}`);
      if (!query.startsWith('#')) expect(maskUrl(`https://u@hooks.example.com/a${query}`)).toContain(query.slice(1));
    },
  );

  it('keeps the rest as it was written when it takes something out', () => {
    expect(maskUrl(`${AT}/a?q=a%20b+c&token=1&z=%C3%A9`)).toBe(`${AT}/a?q=a%20b+c&z=%C3%A9`);
  });

  it('changes nothing in what it has masked', () => {
    const masked = maskUrl('https://u:p@hooks.example.com/a?token=1&b=2');
    expect(maskUrl(masked)).toBe(masked);
  });
});

describe('isMaskedForm', () => {
  const stored = 'https://u:p@hooks.example.com?token=t';

  it.each([stored, maskUrl(stored), AT, `${AT}/`, 'HTTPS://HOOKS.EXAMPLE.COM', `${AT}:443/`])('knows %s again', (url) =>
    expect(isMaskedForm(stored, url)).toBe(true),
  );

  it.each([
    `${AT}/b`,
    `${AT}?b=1`,
    `${AT}?token=other`,
    'https://u@hooks.example.com',
    'http://hooks.example.com',
    MASK,
  ])('takes %s for another', (url) => expect(isMaskedForm(stored, url)).toBe(false));
});

describe('containsMask', () => {
  it.each([
    MASK,
    `${AT}?token=${MASK}`,
    `https://u:${MASK}@hooks.example.com`,
    `${AT}/%2A%2A%2A%2A%2A%2A%2A%2A`,
    `${AT}/%zz?a=${MASK}`,
  ])('sees it in %s', (url) => expect(containsMask(url)).toBe(true));
  it.each([AT, `${AT}/*?a=***`, `${AT}/%zz`])('sees none in %s', (url) => expect(containsMask(url)).toBe(false));
});

describe('maskHeaderValue', () => {
  it.each(['Authorization', 'cookie', 'X-Api-Key', 'X-Auth-Token', 'my-SECRET', 'X-Signature', 'X-Monkey'])(
    'hides %s',
    (name) => expect(maskHeaderValue(name, 'v')).toBe(MASK),
  );
  it.each(['X-Environment', 'Accept', 'X-Tenant'])('shows %s', (name) => expect(maskHeaderValue(name, 'v')).toBe('v'));
});
