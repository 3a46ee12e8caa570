import { isTimeZone } from '@rmm/validation';
import { toTimeZone } from './time-zone-names.js';
import { WINDOWS_ZONES } from './windows-zones.constants.js';

describe('toTimeZone', () => {
  it.each([
    ['W. Europe Standard Time', 'Europe/Berlin'],
    ['eastern standard time', 'America/New_York'],
    ['(UTC-08:00) Pacific Standard Time', 'America/Los_Angeles'],
    ['(GMT+1:00) Europe/Vienna', 'Europe/Vienna'],
    ['Europe/Vienna', 'Europe/Vienna'],
    ['UTC', 'Etc/UTC'],
    ['Qyzylorda Standard Time', 'Asia/Qyzylorda'],
    ['South Sudan Standard Time', 'Africa/Juba'],
    [' Tokyo Standard Time ', 'Asia/Tokyo'],
  ])('maps %j to %s', (label, zone) => {
    expect(toTimeZone(label)).toBe(zone);
  });

  it.each(['', 'Mars', '+01:00', 'GMT+1/CET: Central', 'EST', '../etc/passwd', '('.repeat(10_000)])(
    'knows no zone for %j',
    (label) => {
      expect(toTimeZone(label)).toBeNull();
    },
  );

  it('maps every name of Windows to a zone that exists', () => {
    expect([...WINDOWS_ZONES].filter(([, zone]) => !isTimeZone(zone))).toEqual([]);
    expect(WINDOWS_ZONES.size).toBeGreaterThan(130);
  });
});
