import { findWithheld } from './withheld-record.js';

const record = { id: 'i', orgId: 'o' };
const SCRIPTS = { name: 'scripts', maxCharacters: { content: 12_288 } };

describe('findWithheld', () => {
  it('returns null for a record that may leave', () => {
    expect(findWithheld(SCRIPTS, { ...record, content: 'x'.repeat(12_288) } as typeof record)).toBeNull();
    expect(findWithheld(SCRIPTS, { ...record, content: null } as never)).toBeNull();
  });

  it('returns content_too_large for a field that is longer than its resource allows', () => {
    const long = { ...record, content: 'x'.repeat(12_289), note: 'x'.repeat(50_000) };
    expect(findWithheld(SCRIPTS, long)).toEqual({
      resource: 'scripts',
      id: 'i',
      orgId: 'o',
      reason: 'content_too_large',
      fieldPaths: ['content'],
    });
    expect(findWithheld({ name: 'sites' }, long)).toBeNull();
  });

  it('returns secret_detected with the paths of the fields', () => {
    expect(findWithheld(SCRIPTS, { ...record, parameters: [{ apiKey: 'abc' }] } as typeof record)).toEqual({
      resource: 'scripts',
      id: 'i',
      orgId: 'o',
      reason: 'secret_detected',
      fieldPaths: ['parameters.0.apiKey'],
    });
  });
});
