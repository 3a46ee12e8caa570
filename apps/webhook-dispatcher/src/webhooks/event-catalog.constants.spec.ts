import { EVENT_TYPES } from '@rmm/contracts';
import { coveredTypes, unsupportedEvents } from './event-catalog.constants.js';

describe('coveredTypes', () => {
  it.each([
    [['device.enrolled'], ['device.enrolled']],
    [['remote.session.*'], ['remote.session.started', 'remote.session.ended']],
    [['remote.*'], ['remote.session.started', 'remote.session.ended']],
    [
      ['user.*', 'user.login'],
      ['user.login', 'user.logout', 'user.invited'],
    ],
    [['api_key.*'], ['api_key.created', 'api_key.updated', 'api_key.rotated', 'api_key.revoked']],
    [['webhook.test', 'dev*', 'device'], []],
  ])('%j covers %j', (patterns, types) => expect([...coveredTypes(patterns)].sort()).toEqual([...types].sort()));

  it('covers everything with *', () => expect(coveredTypes(['*']).size).toBe(EVENT_TYPES.length));
});

describe('unsupportedEvents', () => {
  it('returns the patterns that cannot be subscribed to', () => {
    expect(unsupportedEvents(['device.*', '*', 'webhook.test', 'device.unknown', '', 'session.*'])).toEqual([
      'webhook.test',
      'device.unknown',
      '',
    ]);
  });
});
