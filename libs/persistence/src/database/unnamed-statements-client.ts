import pg, { type QueryConfig } from 'pg';

type AnyQuery = (...query: unknown[]) => unknown;

/** Sends every statement without its name: a pooler may run the next one in a session that has not prepared it. */
export class UnnamedStatementsClient extends pg.Client {
  override query: pg.Client['query'] = (...[statement, ...more]: unknown[]) => {
    const send = super.query.bind(this) as AnyQuery;
    return send(isNamed(statement) ? { ...statement, name: undefined } : statement, ...more) as never;
  };
}

const isNamed = (statement: unknown): statement is QueryConfig =>
  typeof statement === 'object' && statement !== null && 'name' in statement && !('submit' in statement);
