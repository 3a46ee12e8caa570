// The baselines of `bench http`, each in a process of its own: node http | express | nest.
import 'reflect-metadata';
import { announce } from '../support/bench-server.mjs';

const BODY = {
  data: [{ id: '5b1f6a1e-6a55-4f5b-9d2a-3a0f0f3f3a11', name: 'Blue Bakery', status: 'active' }],
  page: 1,
  limit: 50,
};
const listening = (server) => announce(server.address().port);

const FLOORS = {
  async node() {
    const { createServer } = await import('node:http');
    const server = createServer((request, response) => {
      const body = JSON.stringify(BODY);
      response
        .writeHead(200, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) })
        .end(body);
    });
    server.listen(0, '127.0.0.1', () => listening(server));
  },

  async express() {
    const { default: express } = await import('express');
    const app = express().disable('x-powered-by').disable('etag');
    app.get('/bench', (request, response) => response.json(BODY));
    const server = app.listen(0, '127.0.0.1', () => listening(server));
  },

  async nest() {
    const { Controller, Get, Module } = await import('@nestjs/common');
    const { NestFactory } = await import('@nestjs/core');
    class BenchController {
      list() {
        return BODY;
      }
    }
    Get()(BenchController.prototype, 'list', Object.getOwnPropertyDescriptor(BenchController.prototype, 'list'));
    Controller('bench')(BenchController);
    class BenchModule {}
    Module({ controllers: [BenchController] })(BenchModule);
    const app = await NestFactory.create(BenchModule, { logger: false });
    app.getHttpAdapter().getInstance().disable('x-powered-by').disable('etag');
    await app.listen(0, '127.0.0.1');
    listening(app.getHttpServer());
  },
};

await FLOORS[process.argv[2]]();
