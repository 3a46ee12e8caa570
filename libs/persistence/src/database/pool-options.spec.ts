import { DEFAULT_TIMEOUTS, poolOptions, sessionOptions } from './pool-options.js';

describe('poolOptions', () => {
  const pool = { url: 'postgres://a@127.0.0.1/b', schema: 'identity', max: 8, applicationName: 'identity' };

  it('limits statements to 10 s by default, and waits a little longer for the response', () => {
    expect(DEFAULT_TIMEOUTS.statementMs).toBe(10_000);
    expect(poolOptions(pool)).toMatchObject({ statement_timeout: 10_000, query_timeout: 12_000, lock_timeout: 5_000 });
    expect(poolOptions({ ...pool, timeouts: { statementMs: 50 } })).toMatchObject({
      statement_timeout: 50,
      lock_timeout: 5_000,
    });
  });

  it('sets the schema, the time zone and no compilation of statements for each session', () => {
    expect(poolOptions({ ...pool, settings: { work_mem: '8MB' } }).options).toBe(
      '-c work_mem=8MB -c search_path=identity -c timezone=UTC -c jit=off',
    );
  });

  it('escapes separators in values of the connection options', () => {
    expect(sessionOptions({ a: 'x y\\z', b: '1' })).toBe('-c a=x\\ y\\\\z -c b=1');
  });
});
