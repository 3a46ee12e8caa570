// A service of `bench partner-export`, named by the argument: the built service, with the statements it has sent to PostgreSQL,
// and those of them that it ran as a tenant.
import 'reflect-metadata';
import { createRequire } from 'node:module';
import { announce } from '../support/bench-server.mjs';
import { built, lib } from '../support/built-code.mjs';

const pg = createRequire(import.meta.url)('pg');
const statements = { all: 0, ofCallers: 0 };
const { query } = pg.Client.prototype;
pg.Client.prototype.query = function counted(...args) {
  const [given] = args;
  const text = typeof given === 'string' ? given : (given.text ?? '');
  statements.all += 1;
  if (text.includes(`set_config('rmm.scope'`)) statements.ofCallers += 1;
  return query.apply(this, args);
};

const [name] = process.argv.slice(2);
const { startFromEnvironment } = await lib('service-kit');
const { AppModule } = await built(name, 'app.module.js');
const { serviceOptions } = await built(name, 'service-options.js');
const app = await startFromEnvironment(AppModule, serviceOptions, process.env);
announce(app.getHttpServer().address().port, {}, { statements: () => statements });
