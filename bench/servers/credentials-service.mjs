// The service of `bench revoke`: credentials as it is built and shipped.
import 'reflect-metadata';
import { built, lib } from '../support/built-code.mjs';
import { announce } from '../support/bench-server.mjs';

const { startService } = await lib('service-kit');
const { readCredentialsConfig } = await built('credentials', 'config.js');
const { serviceOptions } = await built('credentials', 'service-options.js');
const app = await startService(serviceOptions(readCredentialsConfig(process.env)));
announce(app.getHttpServer().address().port);
