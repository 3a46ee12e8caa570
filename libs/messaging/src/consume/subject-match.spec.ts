import { subjectMatches, withoutOverlaps } from './subject-match.js';

describe('subjectMatches', () => {
  it.each([
    ['rmm.events.*.device.enrolled', 'rmm.events.o1.device.enrolled', true],
    ['rmm.events.>', 'rmm.events.o1.device.enrolled', true],
    ['rmm.events.>', 'rmm.events', false],
    ['rmm.events.*', 'rmm.events.o1.device', false],
    ['rmm.events.*.device', 'rmm.events.o1', false],
    ['rmm.audit.*', 'rmm.audit.identity', true],
  ])('%s against %s is %s', (pattern, subject, expected) => {
    expect(subjectMatches(pattern, subject)).toBe(expected);
  });

  it('removes patterns that another one covers', () => {
    expect(withoutOverlaps(['a.b', 'a.*', 'a.b', 'c.>', 'c.d.e'])).toEqual(['a.*', 'c.>']);
  });
});
