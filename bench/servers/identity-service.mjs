// The service of `bench login` and `bench users`: the built identity. In addition to CPU it
// reports the statements it has sent to PostgreSQL, and the delay of its event loop since the last request.
import { createRequire } from 'node:module';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { announce } from '../support/bench-server.mjs';
import { built, lib } from '../support/built-code.mjs';

const pg = createRequire(import.meta.url)('pg');
let statements = 0;
const { query } = pg.Client.prototype;
pg.Client.prototype.query = function counted(...args) {
  statements += 1;
  return query.apply(this, args);
};

const { startFromEnvironment } = await lib('service-kit');
const { AppModule } = await built('identity', 'app.module.js');
const { serviceOptions } = await built('identity', 'service-options.js');
const app = await startFromEnvironment(AppModule, serviceOptions, process.env);

const delay = monitorEventLoopDelay({ resolution: 5 });
delay.enable();
announce(
  app.getHttpServer().address().port,
  {},
  {
    statements: () => ({ statements }),
    /** The resolution of the measurement is part of every value; it is taken off. */
    delay: () => {
      const p99Ms = Math.max(0, delay.percentile(99) / 1e6 - 5);
      const maxMs = Math.max(0, delay.max / 1e6 - 5);
      delay.reset();
      return { p99Ms, maxMs };
    },
  },
);
