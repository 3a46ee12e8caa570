import { isTimeZone } from './time-zone.js';

describe('isTimeZone', () => {
  it.each(['Europe/Berlin', 'UTC', 'America/Argentina/Buenos_Aires', 'Etc/GMT+5'])('accepts %s', (name) => {
    expect(isTimeZone(name)).toBe(true);
  });

  it.each(['+01:00', 'GMT+25', '../etc', 'Europe', '', `A${'b'.repeat(64)}`])('refuses %j', (name) => {
    expect(isTimeZone(name)).toBe(false);
  });
});
