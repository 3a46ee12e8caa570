import 'reflect-metadata';
import { bootstrap } from '@rmm/service-kit';
import { AppModule } from './app.module.js';
import { serviceOptions } from './service-options.js';

await bootstrap(AppModule, serviceOptions);
