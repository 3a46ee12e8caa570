// The service of `bench revoke`: the built credentials.
import 'reflect-metadata';
import { announce } from '../support/bench-server.mjs';
import { built, lib } from '../support/built-code.mjs';

const { startService } = await lib('service-kit');
const { readCredentialsConfig } = await built('credentials', 'config.js');
const { serviceOptions } = await built('credentials', 'service-options.js');
const app = await startService(serviceOptions(readCredentialsConfig(process.env)));
announce(app.getHttpServer().address().port);
