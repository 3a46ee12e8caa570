import { rememberNames } from './remembered-names.js';

describe('rememberNames', () => {
  let checked: string[];
  let isLong: (name: string) => boolean;

  beforeEach(() => {
    checked = [];
    isLong = rememberNames((name) => {
      checked.push(name);
      return name.length > 3;
    });
  });

  it('checks a name once and returns its result each time', () => {
    expect(['name', 'id', 'name', 'id'].map(isLong)).toEqual([true, false, true, false]);
    expect(checked).toEqual(['name', 'id']);
  });

  it('does not remember long names', () => {
    const name = 'x'.repeat(65);
    expect([isLong(name), isLong(name)]).toEqual([true, true]);
    expect(checked).toHaveLength(2);
  });

  it('forgets names beyond 10,000', () => {
    for (let n = 0; n <= 10_000; n++) isLong(`${n}`);
    isLong('0');
    expect(checked.filter((name) => name === '0')).toHaveLength(2);
  });
});
