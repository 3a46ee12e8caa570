// The service of `bench revoke`: the built credentials.
import 'reflect-metadata';
import { built, lib } from '../support/built-code.mjs';
import { announce } from '../support/bench-server.mjs';

const { startFromEnvironment } = await lib('service-kit');
const { AppModule } = await built('credentials', 'app.module.js');
const { serviceOptions } = await built('credentials', 'service-options.js');
const app = await startFromEnvironment(AppModule, serviceOptions, process.env);
announce(app.getHttpServer().address().port);
